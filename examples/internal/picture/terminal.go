package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// The size of the largest terminal, and the number of rows for a command without a limit.
const (
	maxColumns, maxRows = 400, 2000
	usualRows           = 50
)

// show runs a command on a terminal and returns its output.
func show(ctx context.Context, s settings, command []string) (string, error) {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir = s.dir
	c.Env = append(c.Environ(), "TERM=xterm-256color", "NUON_THEME="+s.theme, "NO_COLOR=", "NUON_OUTPUT=", "NUON_DEBUG=")
	rows := s.rows
	if rows == 0 {
		rows = usualRows
	}
	screen, err := pty.StartWithSize(c, &pty.Winsize{Cols: uint16(s.columns), Rows: uint16(rows)}) //nolint:gosec // bounded by maxColumns and maxRows
	if err != nil {
		return "", fmt.Errorf("run %s: %w", command[0], err)
	}
	defer screen.Close() //nolint:errcheck // nothing is kept in it
	var all strings.Builder
	_, _ = io.Copy(&all, screen) // reading ends with an error when the program has ended
	err = c.Wait()
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) && exited.ExitCode() == s.exit {
		err = nil
	} else if err == nil && s.exit != 0 {
		err = fmt.Errorf("it ended with 0, not with %d", s.exit)
	}
	if err != nil {
		return "", fmt.Errorf("run %s: %w; it showed\n%s", command[0], err, all.String())
	}
	return all.String(), nil
}

// steadied replaces each text that matches a pattern with its first character and a number of its
// own, so that the columns are preserved.
func steadied(shown, pattern string) (string, error) {
	if pattern == "" {
		return shown, nil
	}
	find, err := regexp.Compile(pattern)
	if err != nil {
		return "", fmt.Errorf("-steady: %w", err)
	}
	digits := map[string]string{}
	return find.ReplaceAllStringFunc(shown, func(found string) string {
		if digits[found] == "" {
			digits[found] = strconv.Itoa((len(digits) + 1) % 10)
		}
		return found[:1] + strings.Repeat(digits[found], len(found)-1)
	}), nil
}

// cell is one character of a screen.
type cell struct {
	char   rune
	ink    ink
	paper  ink
	strong bool
}

// ink is a color: one of the sixteen, one of 256, or one of those below.
type ink int

const (
	plain ink = -1 - iota // the theme's default
	paper
)

// filler follows a character that takes two columns, because the emulator does not support these.
const filler = '\ue000'

// emulate returns the rows of a terminal after the output of a program. It omits empty rows at the
// end unless a number of rows is requested.
func emulate(shown string, columns, rows int) [][]cell {
	size := rows
	if size == 0 {
		size = maxRows
	}
	vt := vt10x.New(vt10x.WithSize(columns, size))
	_, _ = vt.Write([]byte(widened(faint(shown)))) // it never fails
	var out [][]cell
	last := 0
	for y := range size {
		row := make([]cell, columns)
		for x := range row {
			row[x] = cellOf(vt.Cell(x, y))
			if row[x].char != ' ' || row[x].paper != paper {
				last = y + 1
			}
		}
		out = append(out, row)
	}
	if rows == 0 {
		out = out[:last]
	}
	return out
}

func cellOf(g vt10x.Glyph) cell {
	const bold = 4 // the emulator does not export its attributes
	c := cell{char: g.Char, ink: inkOf(g.FG), paper: inkOf(g.BG), strong: g.Mode&bold != 0}
	if c.char == 0 {
		c.char = ' '
	}
	return c
}

func inkOf(c vt10x.Color) ink {
	switch {
	case c == vt10x.DefaultFG:
		return plain
	case c == vt10x.DefaultBG:
		return paper
	case c < 256:
		return ink(c)
	}
	return plain
}

var styled = regexp.MustCompile("\x1b\\[[0-9;]*m")

// faint replaces faint with dark gray, because the emulator does not support it.
func faint(shown string) string {
	return styled.ReplaceAllStringFunc(shown, func(code string) string {
		parts := strings.Split(code[2:len(code)-1], ";")
		for i := range parts {
			if parts[i] == "2" && (i == 0 || parts[i-1] != "38" && parts[i-1] != "48" && parts[i-1] != "5") {
				parts[i] = "90"
			}
		}
		return "\x1b[" + strings.Join(parts, ";") + "m"
	})
}

// widened inserts a filler after every character that takes two columns.
func widened(shown string) string {
	var b strings.Builder
	for _, r := range shown {
		b.WriteRune(r)
		if r >= 0x1100 && ansi.StringWidth(string(r)) == 2 {
			b.WriteRune(filler)
		}
	}
	return b.String()
}
