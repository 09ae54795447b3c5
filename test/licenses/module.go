package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// platforms are those that bin/saranga is built for; what is linked differs a little.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/arm64"}

// A module is a module of which at least one package is linked.
type module struct {
	path, version string
	dir           string
	replaced      bool     // not the module as its authors published it
	packages      []string // folders of the linked packages
}

// A text is a licence or notice of a module.
type text struct {
	name     string // path in the module
	text     string
	licences []string // nil for a notice
}

func (t text) licenceList() string {
	if t.licences == nil {
		return ""
	}
	return " (" + strings.Join(t.licences, ", ") + ")"
}

// linkedModules returns Go itself and the modules linked into a program, by path.
func linkedModules(program string) ([]*module, error) {
	root, err := output(exec.Command("go", "env", "GOROOT"))
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}
	goroot := &module{path: "Go (standard library and runtime)", dir: strings.TrimSpace(root)}
	byPath := map[string]*module{}
	for _, platform := range platforms {
		goos, goarch, _ := strings.Cut(platform, "/")
		list := exec.Command("go", "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{if .Replace}}replaced{{end}}\t{{$.Dir}}{{end}}{{end}}", program)
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
		out, err := output(list)
		if err != nil {
			return nil, fmt.Errorf("list what is linked on %s: %w", platform, err)
		}
		for line := range strings.Lines(out) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if len(f) != 5 {
				continue // the standard library, and this module
			}
			m := byPath[f[0]]
			if m == nil {
				m = &module{path: f[0], version: f[1], dir: f[2], replaced: f[3] != ""}
				byPath[f[0]] = m
			}
			m.packages = append(m.packages, f[4])
		}
	}
	linked := []*module{goroot}
	for _, m := range byPath {
		linked = append(linked, m)
	}
	slices.SortFunc(linked[1:], func(a, b *module) int { return strings.Compare(a.path, b.path) })
	return linked, nil
}

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying)([._-].*)?$`)
	noticeFile  = regexp.MustCompile(`(?i)^(notice|patents)(\..*)?$`)
)

// texts returns the licences and notices that hold for the linked packages: those in the module's folder and in the
// folders on the way to a package.
func (m *module) texts() ([]text, error) {
	var texts []text
	for _, dir := range m.folders() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.path, err)
		}
		for _, e := range entries {
			isLicence := licenceFile.MatchString(e.Name())
			if e.IsDir() || filepath.Ext(e.Name()) == ".go" || !isLicence && !noticeFile.MatchString(e.Name()) {
				continue
			}
			path := filepath.Join(dir, e.Name())
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.path, err)
			}
			name, err := filepath.Rel(m.dir, path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.path, err)
			}
			t := text{name: name, text: string(content)}
			if isLicence {
				if t.licences, err = Recognise(t.text); err != nil {
					return nil, fmt.Errorf("%s: %s: %w", m.path, name, err)
				}
				if m.replaced && slices.Contains(t.licences, "MPL-2.0") {
					return nil, fmt.Errorf("%s: a module under MPL-2.0 may only be used as published", m.path)
				}
			}
			texts = append(texts, t)
		}
	}
	if !slices.ContainsFunc(texts, func(t text) bool { return t.licences != nil }) {
		return nil, fmt.Errorf("%s: no licence found in %s", m.path, m.dir)
	}
	return texts, nil
}

// folders are the module's own and those between it and each linked package, sorted.
func (m *module) folders() []string {
	folders := []string{m.dir}
	for _, dir := range m.packages {
		for ; len(dir) > len(m.dir); dir = filepath.Dir(dir) {
			folders = append(folders, dir)
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

func output(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", errors.Join(err, errors.New(strings.TrimSpace(stderr.String())))
	}
	return string(out), nil
}
