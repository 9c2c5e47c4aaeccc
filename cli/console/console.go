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

	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/cli/exit"
)

// Console is where a command writes.
type Console struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	InIsTerminal  bool
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
	c.InIsTerminal = term.IsTerminal(int(os.Stdin.Fd()))
	c.OutIsTerminal = term.IsTerminal(int(os.Stdout.Fd()))
	c.ErrIsTerminal = term.IsTerminal(int(os.Stderr.Fd()))
	c.Color = c.OutIsTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	c.Measure()
	return c
}

// Measure takes the terminal's width anew, which a person may change.
func (c *Console) Measure() {
	if out, is := c.Out.(*os.File); is {
		if w, _, err := term.GetSize(int(out.Fd())); err == nil && w > 0 {
			c.Width = w
		}
	}
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

// Release names a release and the commit that it is of in a cell: 7 (1a2b3c4); nothing but - for none.
func Release(number int, commit string) string {
	switch short := strings.TrimPrefix(commit, "sha256:"); {
	case number == 0:
		return "-"
	case short == "":
		return strconv.Itoa(number)
	default:
		return fmt.Sprintf("%d (%.7s)", number, short)
	}
}
