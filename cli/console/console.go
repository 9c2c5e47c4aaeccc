// Package console owns nuon's use of the terminal: results go to Out, progress
// and messages to Err. It also determines whether there is a terminal, its color
// support and its width. Commands receive a Console and never use os.Stdout.
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

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// Console holds the input and output of a command, and their properties.
type Console struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	InIsTerminal  bool
	OutIsTerminal bool
	ErrIsTerminal bool
	Color         bool   // whether Out supports color
	Width         int    // columns of Out; 80 if unknown
	Output        string // the value of -o: table, json, yaml or name
}

// defaultWidth is the width of a pipe, and of a terminal that does not report its size.
const defaultWidth = 80

// System returns the console of the process. NO_COLOR (no-color.org) and TERM=dumb disable color.
func System() *Console {
	c := &Console{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Width: defaultWidth, Output: "table"}
	c.InIsTerminal = term.IsTerminal(int(os.Stdin.Fd()))
	c.OutIsTerminal = term.IsTerminal(int(os.Stdout.Fd()))
	c.ErrIsTerminal = term.IsTerminal(int(os.Stderr.Fd()))
	c.Color = c.OutIsTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	c.Measure()
	return c
}

// Measure updates the width, because a person may resize the terminal.
func (c *Console) Measure() {
	if out, is := c.Out.(*os.File); is {
		if w, _, err := term.GetSize(int(out.Fd())); err == nil && w > 0 {
			c.Width = w
		}
	}
}

// Formats lists the values of -o.
var Formats = []string{"table", "json", "yaml", "name"}

// Result prints the result of a command: as JSON or YAML, as a name, or through people,
// according to -o. In every format, text of others cannot control a terminal: see [EncodeJSON] and [Console.Print].
func (c *Console) Result(data any, people func(w io.Writer) error) error {
	switch c.Output {
	case "json":
		return c.write(EncodeJSON(data, "  "))
	case "yaml":
		return c.write(EncodeYAML(data))
	case "table", "":
		return c.Print(people)
	}
	name := resultName(data)
	if name == "" {
		return exitcode.Usagef("the result has no name to print with -o %s: use one of table, json, yaml", c.Output)
	}
	_, err := fmt.Fprintln(c.Out, Line(name))
	return err
}

func (c *Console) write(document []byte, err error) error {
	if err == nil {
		_, err = c.Out.Write(document)
	}
	return err
}

// resultName returns the name of a result from its JSON: its name or id, else the
// name or id of the object in it.
func resultName(data any) string {
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
		return "" // not an object; type mismatches in other fields are ignored
	}
	for _, n := range []named{it.named, it.Workflow, it.Install, it.Runner, it.Token, it.App} {
		if name := cmp.Or(n.Name, n.ID); name != "" {
			return name
		}
	}
	return ""
}

// Line makes untrusted text safe to print on one line. It replaces control characters,
// direction overrides and invisible characters with spaces.
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

// Messagef prints a message on Err. The text may be untrusted: it goes through [Text].
func (c *Console) Messagef(format string, a ...any) {
	fmt.Fprintln(c.Err, Text(fmt.Sprintf(format, a...)))
}

// Short shortens a digest or commit for display, to 12 characters without "sha256:".
func Short(digest string) string {
	d := strings.TrimPrefix(digest, "sha256:")
	if len(d) > 12 {
		d = d[:12]
	}
	return d
}

// Release formats a release and its commit for a table cell: "7 (1a2b3c4)", or
// "-" if there is none.
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
