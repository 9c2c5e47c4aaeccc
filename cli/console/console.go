// Package console is nuon's one door to the terminal: results go to Out, progress and remarks to Err, and whether there is a
// terminal, colour and a width is decided here. Commands get a Console and never touch os.Stdout.
package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/cli/exit"
)

// Console is where a command writes.
type Console struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	OutIsTerminal bool
	ErrIsTerminal bool
	Color         bool   // on Out
	Width         int    // columns of Out; 80 where it is not known
	Output        string // table, json, yaml or name: what -o asks for
}

// defaultWidth is what a pipe and a terminal without a size count as.
const defaultWidth = 80

// System is the process's own terminal. NO_COLOR (no-color.org) and TERM=dumb are heeded.
func System() *Console {
	c := &Console{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Width: defaultWidth, Output: "table"}
	c.OutIsTerminal = term.IsTerminal(int(os.Stdout.Fd()))
	c.ErrIsTerminal = term.IsTerminal(int(os.Stderr.Fd()))
	c.Color = c.OutIsTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
		c.Width = w
	}
	return c
}

// Formats are the values of -o.
var Formats = []string{"table", "json", "yaml", "name"}

// Result prints what a command found: as data when -o asks for data, by name alone for -o name, else as people prints it.
func (c *Console) Result(data any, people func(w io.Writer) error) error {
	switch c.Output {
	case "json":
		e := json.NewEncoder(c.Out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(data)
	case "yaml":
		b, err := yaml.Marshal(data)
		if err != nil {
			return err
		}
		_, err = c.Out.Write(b)
		return err
	case "table", "":
		return people(c.Out)
	}
	name := nameOf(data)
	if name == "" {
		return exit.Usagef("this has no name, so -o %s says nothing: use one of table, json, yaml", c.Output)
	}
	_, err := fmt.Fprintln(c.Out, Line(name))
	return err
}

// nameOf is what a thing is called, by its JSON: its name, else its id, else those of the thing that it is about.
func nameOf(data any) string {
	raw, err := json.Marshal(data)
	if err != nil {
		return ""
	}
	type named struct {
		Name string `json:"name"`
		ID   string `json:"id"`
	}
	var it struct {
		named
		App      named `json:"app"`
		Install  named `json:"install"`
		Runner   named `json:"runner"`
		Token    named `json:"token"`
		Workflow named `json:"workflow"`
	}
	if json.Unmarshal(raw, &it) != nil && it.named == (named{}) {
		return "" // not an object; one that has a text where others have a thing is read as far as it goes
	}
	for _, n := range []named{it.named, it.Workflow, it.Install, it.Runner, it.Token, it.App} {
		if name := cmp.Or(n.Name, n.ID); name != "" {
			return name
		}
	}
	return ""
}

// List prints rows of a list: a table on a terminal, tab-separated cells in a pipe, one name a line with -o name.
func (c *Console) List(data any, header []string, rows [][]string) error {
	if c.Output == "name" {
		for _, r := range rows {
			if _, err := fmt.Fprintln(c.Out, Line(r[0])); err != nil {
				return err
			}
		}
		return nil
	}
	return c.Result(data, func(w io.Writer) error { return c.Table(w, header, rows) })
}

// Table prints aligned columns on a terminal, and in a pipe the cells divided by tabs, without a header.
func (c *Console) Table(w io.Writer, header []string, rows [][]string) error {
	if !c.OutIsTerminal {
		for _, r := range rows {
			if _, err := fmt.Fprintln(w, strings.Join(clean(r), "\t")); err != nil {
				return err
			}
		}
		return nil
	}
	lines := [][]string{header}
	for _, r := range rows {
		lines = append(lines, clean(r))
	}
	return align(w, lines)
}

// align prints columns two blanks apart. Widths are those of a terminal, where some characters take two columns and some none.
func align(w io.Writer, lines [][]string) error {
	var widths []int
	for _, cells := range lines {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], lipgloss.Width(cell))
		}
	}
	for _, cells := range lines {
		var b strings.Builder
		for i, cell := range cells {
			b.WriteString(cell + strings.Repeat(" ", widths[i]-lipgloss.Width(cell)+2))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

func clean(cells []string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = Line(c)
	}
	return out
}

// Line makes text from elsewhere safe to print on one line: what a terminal would obey (control characters) and what shows
// something else than it says (direction overrides, characters without a width) is shown as spaces.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
}

// Text is Line for text of several lines.
func Text(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = Line(l)
	}
	return strings.Join(lines, "\n")
}

// Say prints a remark for people on Err.
func (c *Console) Say(format string, a ...any) {
	fmt.Fprintf(c.Err, format+"\n", a...)
}

// Short is a digest or commit as people say it.
func Short(digest string) string {
	d := strings.TrimPrefix(digest, "sha256:")
	if len(d) > 12 {
		d = d[:12]
	}
	return d
}
