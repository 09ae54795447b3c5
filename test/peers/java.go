package peers

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program is a compiled Java program that runs on the jars of the distribution.
type Program struct {
	artemis Artemis
	classes string
}

// Compile compiles all Java sources in the folder src into the folder classes.
func (a Artemis) Compile(ctx context.Context, src, classes string) (Program, error) {
	sources, err := filepath.Glob(filepath.Join(src, "*.java"))
	if err != nil {
		return Program{}, fmt.Errorf("compile %s: %w", src, err)
	}
	args := []string{"--release", "17", "-Xlint:all,-serial,-try,-processing,-classfile", "-Werror", "-cp", a.Classpath(), "-d", classes}
	if _, err := output(exec.CommandContext(ctx, "javac", append(args, sources...)...)); err != nil {
		return Program{}, fmt.Errorf("compile %s: %w", src, err)
	}
	return Program{artemis: a, classes: classes}, nil
}

// Command is a run of one of the program's main classes.
func (p Program) Command(ctx context.Context, class string, args ...string) *exec.Cmd {
	java := []string{"-Xmx256M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.util.logging.config.file=",
		"-Dlog4j2.level=OFF", "-cp", strings.Join([]string{p.classes, p.artemis.Classpath()}, ":"), class}
	return exec.CommandContext(ctx, "java", append(java, args...)...)
}
