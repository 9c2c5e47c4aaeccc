package diff

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// The values of --pager.
const (
	pagerAuto   = "auto"
	pagerAlways = "always"
	pagerNever  = "never"
)

var pagerModes = []string{pagerAuto, pagerAlways, pagerNever}

// usualPager is the one where nobody says otherwise.
const usualPager = "less"

// pager shows on a terminal what is too long for it, with a program that the person has chosen, as git does.
type pager struct {
	command string
	height  int  // of the terminal
	always  bool // also what fits
}

// page shows a text on a terminal: through the pager if it should, and if there is one.
func page(ctx context.Context, c *console.Console, mode string, text []byte) error {
	if p := pagerFor(c, mode); p != nil && (p.always || !p.fits(text, c.Width)) {
		if shown, err := p.show(ctx, c, text); shown {
			return err
		}
	}
	return lines(ctx, c.Out, text)
}

// lines writes a text line by line, until the context ends.
func lines(ctx context.Context, w io.Writer, text []byte) error {
	for line := range bytes.Lines(text) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// pagerFor is the pager for an output; nil is none.
func pagerFor(c *console.Console, mode string) *pager {
	command := pagerCommand(os.LookupEnv)
	out, is := c.Out.(*os.File)
	if !c.OutIsTerminal || !is || mode == pagerNever || command == "" || os.Getenv("TERM") == "dumb" {
		return nil
	}
	_, height, err := term.GetSize(int(out.Fd()))
	if err != nil || height <= 0 {
		height = 24 // as many as a terminal has that does not know
	}
	return &pager{command: command, height: height, always: mode == pagerAlways}
}

// pagerCommand is NUON_PAGER, else PAGER, else less; empty for none, which cat stands for, too.
func pagerCommand(lookup func(string) (string, bool)) string {
	for _, name := range []string{"NUON_PAGER", "PAGER"} {
		if command, set := lookup(name); set {
			if command = strings.TrimSpace(command); command == "cat" {
				command = ""
			}
			return command
		}
	}
	return usualPager
}

// show shows a text, and says false if there is no such pager. How the pager ends is its own business; that somebody leaves it early is
// no error at all, but by Ctrl-C, which is one of the context's own even where the pager ended before the context heard of it.
func (p *pager) show(ctx context.Context, c *console.Console, text []byte) (shown bool, err error) {
	// Ctrl-C goes to the pager as well, and is one of its keys: as long as it has the terminal it is waited for, however often it is typed.
	held := make(chan os.Signal, 1)
	signal.Notify(held, os.Interrupt)
	ended := p.program(ctx, c, text).Run()
	signal.Stop(held) // waits for what is on its way to the channel
	switch {
	case absent(ended):
		return false, nil
	case len(held) > 0:
		return true, context.Canceled
	}
	return true, ctx.Err()
}

// program is the pager, ready to be run. A command of more than one word is a shell's.
func (p *pager) program(ctx context.Context, c *console.Console, text []byte) *exec.Cmd {
	words := []string{p.command}
	if strings.ContainsAny(p.command, "|&;<>()$`\\\"' \t\n*?[#~=%") {
		words = []string{"sh", "-c", p.command}
	}
	program := exec.CommandContext(ctx, words[0], words[1:]...)
	program.Cancel = func() error {
		if errors.Is(context.Cause(ctx), exit.Terminated) {
			return program.Process.Signal(syscall.SIGTERM)
		}
		return nil
	}
	program.Stdin, program.Stdout, program.Stderr = bytes.NewReader(text), c.Out, c.Err
	program.Env = append(os.Environ(), "LESS="+lessOptions(os.Getenv("LESS")))
	if _, set := os.LookupEnv("LV"); !set {
		program.Env = append(program.Env, "LV=-c")
	}
	return program
}

// lessOptions make less show colours, and, unless the person has chosen otherwise, leave the text on the screen and end when it is short.
func lessOptions(chosen string) string {
	if chosen == "" {
		return "FRX"
	}
	return "-R " + chosen
}

// The codes with which a shell says that a command cannot be run, or is not there.
var absentCodes = []int{126, 127}

// absent says that there is no such program.
func absent(err error) bool {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return slices.Contains(absentCodes, ended.ExitCode())
	}
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission)
}

// fits says that a text is seen whole, with a row left for the prompt of the shell.
func (p *pager) fits(text []byte, width int) bool {
	rows := 0
	for line := range bytes.Lines(text) {
		columns := terminal.Columns(strings.TrimSuffix(string(line), "\n"))
		if rows += max(1, (columns+width-1)/cmp.Or(width, 1)); rows >= p.height {
			return false
		}
	}
	return true
}
