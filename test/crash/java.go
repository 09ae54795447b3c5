package crash

type javaLoad struct{}

func (*javaLoad) start(any) {}
func (*javaLoad) stop(any)  {}
