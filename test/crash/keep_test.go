package crash

import ("os/exec";"os")

func (b *bench) keep() {
	if d := os.Getenv("KEEP"); d != "" {
		exec.Command("rm","-rf",d).Run()
		exec.Command("cp","-r",b.instance.Dir,d).Run()
	}
}
