package peers

import (
	"context"
	"path/filepath"
	"testing"
)

// RealArtemis is the installed distribution; the test fails when it cannot be had.
func RealArtemis(t testing.TB) Artemis {
	t.Helper()
	a, err := InstallArtemis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// UnderTest is the saranga binary that the suite tests; the test fails when it does not build.
func UnderTest(t testing.TB) Saranga {
	t.Helper()
	s, err := BuildSaranga(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// NewInstance creates an instance in a folder that goes with the test.
func NewInstance(t testing.TB, b Broker, o CreateOptions) Instance {
	t.Helper()
	i, err := b.Create(t.Context(), filepath.Join(t.TempDir(), "instance"), o)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// Run starts the broker on the instance. At the end of the test it is stopped, if it still runs, and the end of its
// output is printed if the test failed.
func Run(t testing.TB, b Broker, i Instance) *Process {
	t.Helper()
	p, err := Start(t.Context(), b, i, filepath.Join(t.TempDir(), b.Name()+".log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("output of %s:\n%s", b.Name(), p.Tail())
		}
	})
	return p
}

// CompileJava compiles the Java sources in the folder src (relative to the test's package) for the time of the test.
func CompileJava(t testing.TB, a Artemis, src string) Program {
	t.Helper()
	p, err := a.Compile(context.WithoutCancel(t.Context()), src, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return p
}
