package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A table prints rows as Artemis' command line does: cells between bars, no border; a cell that is wider than the
// widest column allowed goes on below, indented by two.
type table struct {
	width   int // of a column, in characters; 0 and below: no bound
	columns []column
	rows    [][]string
}

// column has its title in lines. All but the left-aligned columns are centred, if the title has more than one.
type column struct {
	title []string
	left  bool
}

// continuation is what further lines of a cell start with.
const continuation = "  "

// split cuts a cell into lines.
func (t *table) split(cell string) []string {
	if t.width <= 0 || utf8.RuneCountInString(cell) <= t.width {
		return []string{cell}
	}
	rest := []rune(cell)
	lines := []string{string(rest[:t.width])}
	rest = rest[t.width:]
	// A column too narrow for the indent takes at least one character a line.
	step := max(t.width-len(continuation), 1)
	for len(rest) > 0 {
		n := min(step, len(rest))
		lines = append(lines, continuation+string(rest[:n]))
		rest = rest[n:]
	}
	return lines
}

func (t *table) print(out io.Writer) {
	header := make([][]string, len(t.columns))
	widths := make([]int, len(t.columns))
	fit := func(i int, lines []string) {
		for _, line := range lines {
			widths[i] = max(widths[i], utf8.RuneCountInString(line))
		}
	}
	for i, c := range t.columns {
		header[i] = c.title
		fit(i, c.title)
	}
	rows := make([][][]string, len(t.rows))
	for r, row := range t.rows {
		rows[r] = make([][]string, len(row))
		for i, cell := range row {
			rows[r][i] = t.split(cell)
			fit(i, rows[r][i])
		}
	}
	t.printRow(out, header, widths)
	for _, row := range rows {
		t.printRow(out, row, widths)
	}
}

func (t *table) printRow(out io.Writer, cells [][]string, widths []int) {
	height := 0
	for _, c := range cells {
		height = max(height, len(c))
	}
	for line := range height {
		var b strings.Builder
		for i, c := range cells {
			text := ""
			if line < len(c) {
				text = c[line]
			}
			pad := widths[i] - utf8.RuneCountInString(text)
			before := 0
			if !t.columns[i].left && len(t.columns[i].title) > 1 {
				before = pad / 2
			}
			b.WriteString("|" + strings.Repeat(" ", before) + text + strings.Repeat(" ", pad-before))
		}
		fmt.Fprintln(out, b.String()+"|")
	}
}
