package interactive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/muesli/cancelreader"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
)

// reader shows the screens as lines, for screen readers: it prints a page, reads a line, and never
// draws over what it printed.
type reader struct {
	console *console.Console
	client  *apiclient.Client
	options Options
	lines   []string // that opened the screens, the shown one last
	rows    []page.Row
}

// howToRead explains what can be typed.
const howToRead = "Type a number to open a row, a screen such as installs or install NAME, empty to read again, " +
	"back, help or quit."

// Read is Open for screen readers: it prints the screens as lines and reads lines.
func Read(ctx context.Context, c *console.Console, client *apiclient.Client, o Options) error {
	r := &reader{console: c, client: client, options: o, lines: []string{"home"}}
	c.Messagef("%s", howToRead)
	in, err := cancelreader.NewReader(c.In)
	if err != nil {
		return fmt.Errorf("read the terminal: %w", err)
	}
	defer in.Close() //nolint:errcheck // it closes its own bookkeeping, not the terminal
	defer context.AfterFunc(ctx, func() { in.Cancel() })()
	typed := bufio.NewScanner(in)
	for {
		err := r.show(ctx)
		switch {
		case ctx.Err() != nil:
			return exitcode.Interrupted
		case err != nil:
			c.Messagef("error: %v", err)
		}
		fmt.Fprint(c.Err, "> ")
		more := typed.Scan()
		switch {
		case ctx.Err() != nil:
			return exitcode.Interrupted
		case typed.Err() != nil:
			return fmt.Errorf("read the terminal: %w", typed.Err())
		case !more || r.typed(strings.TrimSpace(typed.Text())):
			return nil
		}
	}
}

// show loads the shown screen and prints it.
func (r *reader) show(ctx context.Context) error {
	words := strings.Fields(r.lines[len(r.lines)-1])
	switch words[0] {
	case "review", "logs":
		args := words
		if words[0] == "review" {
			args = append(args, "--print")
		}
		text, err := r.options.Run(ctx, args...)
		r.rows = nil
		fmt.Fprint(r.console.Out, console.Text(text))
		return err
	}
	content, err := contentOf(words, r.options)
	if err != nil {
		r.back()
		return err
	}
	store, err := content.Load(ctx, r.client)
	if err != nil {
		return err
	}
	store()
	now := time.Now()
	return r.console.Print(func(w io.Writer) error {
		r.rows, err = content.Page(now).Print(w, page.Clock{Now: now})
		return err
	})
}

func (r *reader) back() {
	if len(r.lines) > 1 {
		r.lines = r.lines[:len(r.lines)-1]
	}
}

// typed handles a line. It reports whether the user wants to leave.
func (r *reader) typed(line string) (over bool) {
	n, err := strconv.Atoi(line)
	switch {
	case line == "quit":
		return true
	case line == "":
	case line == "back":
		r.back()
	case line == "help":
		r.console.Messagef("%s", howToRead)
		for _, l := range lines {
			r.console.Messagef("%s: %s", l.Name, l.About)
		}
	case err == nil:
		if err := r.number(n); err != nil {
			r.console.Messagef("%v", err)
		}
	default:
		r.lines = append(r.lines, line)
	}
	return false
}

// number opens a row.
func (r *reader) number(n int) error {
	if n < 1 || n > len(r.rows) {
		return fmt.Errorf("there is no row %d", n)
	}
	row := r.rows[n-1]
	switch {
	case row.Open == "" && row.Command != "":
		return fmt.Errorf("nothing to open; the command is %s", console.Line(row.Command))
	case row.Open == "":
		return errors.New("nothing to open")
	}
	r.lines = append(r.lines, row.Open)
	return nil
}
