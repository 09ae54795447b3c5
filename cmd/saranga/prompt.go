package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// prompter asks for what the command line does not say. A silent one answers itself.
type prompter struct {
	in     *bufio.Reader
	file   *os.File // standard input, when it is a terminal
	out    io.Writer
	silent bool
}

func newPrompter(cmd *cobra.Command, silent bool) *prompter {
	p := &prompter{in: bufio.NewReader(cmd.InOrStdin()), out: cmd.OutOrStdout(), silent: silent}
	if f, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.file = f
	}
	return p
}

// text asks for the value of an option. A silent prompter gives the default, and an error if that is empty.
func (p *prompter) text(option, question, silently string) (string, error) {
	if p.silent {
		if silently == "" {
			return "", usageError(fmt.Sprintf("%s is needed (%s)", option, question))
		}
		return silently, nil
	}
	p.question(option, question)
	return p.line()
}

// secret is text whose answer is not shown.
func (p *prompter) secret(option, question, silently string) (string, error) {
	if p.silent || p.file == nil {
		return p.text(option, question, silently)
	}
	p.question(option, question)
	answer, err := term.ReadPassword(int(p.file.Fd()))
	fmt.Fprintln(p.out)
	if err == io.EOF {
		return "", errNoLine
	}
	if err != nil {
		return "", fmt.Errorf("read the answer to %s: %w", option, err)
	}
	return string(answer), nil
}

// yes asks a question until it is answered with yes or no.
func (p *prompter) yes(option, question string, silently bool) (bool, error) {
	if p.silent {
		return silently, nil
	}
	for {
		answer, err := p.text(option, question+", valid values are Y, N, True, False", "")
		if err != nil {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes", "true":
			return true, nil
		case "n", "no", "false":
			return false, nil
		}
	}
}

// errNoLine is the end of standard input where an answer should be.
const errNoLine = usageError("No line found")

func (p *prompter) question(option, question string) {
	fmt.Fprintf(p.out, "\n%s:\n%s\n", option, question)
}

func (p *prompter) line() (string, error) {
	line, err := p.in.ReadString('\n')
	if err != nil && line == "" {
		return "", errNoLine
	}
	return strings.TrimRight(line, "\r\n"), nil
}
