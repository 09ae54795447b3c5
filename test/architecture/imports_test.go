package architecture

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root       = "../.."
	modulePath = "github.com/saranga-mq/saranga"
)

// An edge is an import of one package of the module by another.
type edge struct {
	from, to string
	file     string
	test     bool // from a test file
}

// TestImports compares every import between packages of this module with the table. All files count, whatever their
// build constraints.
func TestImports(t *testing.T) {
	edges, packages := scan(t)
	for _, p := range packages {
		if _, ok := parts[p]; !ok {
			t.Errorf("package %s is not in the table of parts", p)
		}
		if slices.Contains(emptyNames, path.Base(p)) {
			t.Errorf("package %s: the name says nothing about what it holds", p)
		}
	}
	for _, e := range edges {
		if fault := e.fault(); fault != "" {
			t.Errorf("%s imports %s: %s", e.file, e.to, fault)
		}
	}
}

// TestNoStaleParts keeps the table free of packages that are gone.
func TestNoStaleParts(t *testing.T) {
	for _, p := range slices.Sorted(maps.Keys(parts)) {
		if _, err := os.Stat(filepath.Join(root, p)); err != nil {
			t.Errorf("the table names %s, which does not exist", p)
		}
	}
}

// TestFault shows that the table is enforced.
func TestFault(t *testing.T) {
	for _, c := range []struct {
		e  edge
		ok bool
	}{
		{edge{from: "wire/core/server", to: "broker"}, true},
		{edge{from: "wire/core", to: "broker"}, false},
		{edge{from: "broker", to: "journal"}, false},
		{edge{from: "broker", to: "wire/core"}, false},
		{edge{from: "journal", to: "broker/brokertest"}, false},
		{edge{from: "journal", to: "broker/brokertest", test: true}, true},
		{edge{from: "broker/filter", to: "journal", test: true}, false},
		{edge{from: "broker", to: "test/peers", test: true}, false},
		{edge{from: "test/crash", to: "test/peers", test: true}, true},
		{edge{from: "test/crash", to: "cmd/saranga"}, false},
	} {
		if got := c.e.fault(); (got == "") != c.ok {
			t.Errorf("%+v: fault %q", c.e, got)
		}
	}
}

// fault says why the import is not allowed, "" when it is.
func (e edge) fault() string {
	for _, p := range programs {
		if within(e.to, p) && !within(e.from, "test") {
			return "nothing but the suites imports " + p
		}
	}
	if within(e.to, "cmd") {
		return "a main program cannot be imported"
	}
	may := parts[e.from]
	if slices.Contains(may, everything) || slices.Contains(may, e.to) {
		return ""
	}
	if e.test && (slices.Contains(forTests, e.to) || slices.Contains(partsInTests[e.from], e.to)) {
		return ""
	}
	return "the table of parts does not allow it"
}

func within(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }

// scan returns the imports and the packages of the module. A package's own external tests count as it.
func scan(t *testing.T) (edges []edge, packages []string) {
	walk(t, func(file string) {
		if path.Ext(file) != ".go" {
			return
		}
		p := path.Dir(file)
		if !slices.Contains(packages, p) {
			packages = append(packages, p)
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			return
		}
		for _, i := range f.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if to, ok := strings.CutPrefix(imported, modulePath+"/"); ok && to != p {
				edges = append(edges, edge{from: p, to: to, file: file, test: strings.HasSuffix(file, "_test.go")})
			}
		}
	})
	if len(packages) == 0 || len(edges) == 0 {
		t.Fatal("nothing was scanned")
	}
	return edges, packages
}

// walk calls f for every file of the project, with its path from the root.
func walk(t *testing.T, f func(file string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && slices.Contains([]string{".git", "bin", "var"}, filepath.ToSlash(name)):
			return filepath.SkipDir
		case d.Type().IsRegular():
			f(filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
