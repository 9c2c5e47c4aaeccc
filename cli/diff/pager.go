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
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// The values of --pager.
const (
	pagerAuto   = "auto"
	pagerAlways = "always"
	pagerNever  = "never"
)

var pagerModes = []string{pagerAuto, pagerAlways, pagerNever}

// defaultPager is the default.
const defaultPager = "less"

// pager shows text that is too long for the terminal through a program that
// the user chose, like git does.
type pager struct {
	command string
	height  int  // of the terminal
	always  bool // use it also for text that fits
}

// page shows a text on a terminal, through the pager if the mode requires it
// and the program exists.
func page(ctx context.Context, c *console.Console, mode string, text []byte) error {
	if p := pagerFor(c, mode); p != nil && (p.always || !p.fits(text, c.Width)) {
		if shown, err := p.show(ctx, c, text); shown {
			return err
		}
	}
	return lines(ctx, c.Out, text)
}

// lines writes a text line by line until ctx is canceled.
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

// pagerFor returns the pager for an output, or nil.
func pagerFor(c *console.Console, mode string) *pager {
	command := pagerCommand(os.LookupEnv)
	out, is := c.Out.(*os.File)
	if !c.OutIsTerminal || !is || mode == pagerNever || command == "" || os.Getenv("TERM") == "dumb" {
		return nil
	}
	_, height, err := term.GetSize(int(out.Fd()))
	if err != nil || height <= 0 {
		height = 24 // the default of a terminal that does not report its size
	}
	return &pager{command: command, height: height, always: mode == pagerAlways}
}

// pagerCommand returns NUON_PAGER, else PAGER, else less. It returns "" for
// none, which "cat" also means.
func pagerCommand(lookup func(string) (string, bool)) string {
	for _, name := range []string{"NUON_PAGER", "PAGER"} {
		if command, set := lookup(name); set {
			if command = strings.TrimSpace(command); command == "cat" {
				command = ""
			}
			return command
		}
	}
	return defaultPager
}

// show runs the pager and reports false if the program does not exist. The pager's exit
// code is ignored, and a user may leave it early. Ctrl-C is the only error, also where the
// pager exits before ctx is canceled.
func (p *pager) show(ctx context.Context, c *console.Console, text []byte) (shown bool, err error) {
	// The pager also receives Ctrl-C and handles it as a key. Wait for it however often
	// Ctrl-C is pressed.
	held := make(chan os.Signal, 1)
	signal.Notify(held, os.Interrupt)
	ended := p.program(ctx, c, text).Run()
	awaitSignals()
	signal.Stop(held) // waits for signals that are being delivered to the channel
	switch {
	case isNotInstalled(ended):
		return false, nil
	case len(held) > 0 && ctx.Err() == nil: // the same Ctrl-C will cancel ctx
		return true, exitcode.Interrupted
	}
	return true, ctx.Err()
}

// program returns the pager as a command that can be run. A command with shell
// syntax runs in a shell.
func (p *pager) program(ctx context.Context, c *console.Console, text []byte) *exec.Cmd {
	words := []string{p.command}
	if strings.ContainsAny(p.command, "|&;<>()$`\\\"' \t\n*?[#~=%") {
		words = []string{"sh", "-c", p.command}
	}
	program := exec.CommandContext(ctx, words[0], words[1:]...)
	program.Cancel = func() error {
		if errors.Is(context.Cause(ctx), exitcode.Terminated) {
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

// lessOptions returns options that make less show colors. Unless the user set
// LESS, less also leaves the text on the screen and exits at once if it is short.
func lessOptions(chosen string) string {
	if chosen == "" {
		return "FRX"
	}
	return "-R " + chosen
}

// absentCodes are the exit codes with which a shell reports that a command cannot be run
// or does not exist.
var absentCodes = []int{126, 127}

// isNotInstalled reports whether an error means that the program does not exist.
func isNotInstalled(err error) bool {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return slices.Contains(absentCodes, ended.ExitCode())
	}
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission)
}

// fits reports whether the text fits on the terminal, with one row left for the shell prompt.
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
