package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// includer resolves xi:include. A relative href is looked for in the working
// directory, as Artemis does, and then beside the file that includes it.
type includer struct {
	workDir string
	nodes   int
	files   int
}

// resolve replaces every include below n. Errors are *Error.
func (inc *includer) resolve(n *node, depth int) error {
	if inc.nodes++; inc.nodes > maxXMLNodes {
		return &Error{n.at.file, n.at.line, n.name, "the file and what it includes have too many elements", "include less"}
	}
	for i := 0; i < len(n.children); i++ {
		c := n.children[i]
		if c.space != xincludeNS || c.name != "include" {
			if err := inc.resolve(c, depth); err != nil {
				return err
			}
			continue
		}
		with, text, err := inc.include(c, depth)
		if err != nil {
			return err
		}
		n.text += text
		n.children = append(n.children[:i], append(with, n.children[i+1:]...)...)
		i += len(with) - 1
	}
	return nil
}

func (inc *includer) include(c *node, depth int) (with []*node, text string, err error) {
	href, _ := c.attr("href")
	fail := func(problem, remedy string) error {
		return &Error{c.at.file, c.at.line, "xi:include", problem, remedy}
	}
	if inc.files++; depth >= maxIncludeDepth || inc.files > maxIncludes {
		return nil, "", fail("there are too many includes, or they are nested too deep", "include fewer levels, and no file in itself")
	}
	if p, ok := c.attr("xpointer"); ok {
		return nil, "", fail(fmt.Sprintf("xpointer %q is not supported", p), "include a whole file")
	}
	mode, _ := c.attr("parse")
	if mode != "" && mode != "xml" && mode != "text" {
		return nil, "", fail(fmt.Sprintf("parse=%q is not xml or text", mode), "correct it")
	}
	file, content, err := inc.read(href, c.at.file)
	if errors.Is(err, fs.ErrNotExist) {
		fallback := c.child("fallback")
		if fallback == nil {
			return nil, "", fail(fmt.Sprintf("there is no file %q and no fallback", href), "give an absolute path, ${artemis.instance.etc}/… or a fallback")
		}
		if err := inc.resolve(fallback, depth+1); err != nil {
			return nil, "", err
		}
		return fallback.children, fallback.text, nil
	}
	if err != nil {
		return nil, "", fail(err.Error(), "make the file readable")
	}
	if mode == "text" {
		return nil, content, nil
	}
	root, err := parseXML(file, content)
	if err != nil {
		return nil, "", err
	}
	if err := inc.resolve(root, depth+1); err != nil {
		return nil, "", err
	}
	return []*node{root}, "", nil
}

func (inc *includer) read(href, from string) (file, content string, err error) {
	path, err := uriPath(href)
	if err != nil {
		return "", "", err
	}
	if path == "" {
		return "", "", errors.New("href is missing")
	}
	candidates := []string{path}
	if !filepath.IsAbs(path) {
		candidates = []string{filepath.Join(inc.workDir, path), filepath.Join(filepath.Dir(from), path)}
	}
	for _, file = range candidates {
		if content, err = readText(file); !errors.Is(err, fs.ErrNotExist) {
			return file, content, err
		}
	}
	return "", "", err
}

// uriPath returns the path of a file: URI or plain path.
func uriPath(uri string) (string, error) {
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || strings.Contains(scheme, "/") {
		return uri, nil
	}
	if scheme != "file" && scheme != "xml" {
		return "", fmt.Errorf("%q is not a file", uri)
	}
	if strings.HasPrefix(rest, "//") {
		host, path, _ := strings.Cut(rest[2:], "/")
		if host != "" && host != "localhost" {
			return "", fmt.Errorf("%q is on another host", uri)
		}
		rest = "/" + path
	}
	if path, err := url.PathUnescape(rest); err == nil {
		rest = path
	}
	return filepath.Clean(rest), nil
}

// readText reads a text file of at most maxFileSize. Opening anything but a
// regular file could block.
func readText(file string) (string, error) {
	if info, err := os.Stat(file); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxFileSize {
		return "", fmt.Errorf("%s is longer than %d bytes", file, maxFileSize)
	}
	return decodeText(data)
}
