package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/muesli/cancelreader"
	"golang.org/x/term"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// Asks reports whether a person can be prompted: input comes from a terminal,
// and Err is shown on one.
func (c *Console) Asks() bool { return c.InIsTerminal && c.ErrIsTerminal }

// AsksForMore reports whether a form can ask for what the flags of a command leave open. It cannot on a terminal
// without cursor movement, nor while more input waits: that are the next commands of a pasted block, which a form
// would take for its answers.
func (c *Console) AsksForMore() bool {
	if !c.Asks() || os.Getenv("TERM") == "dumb" {
		return false
	}
	f, is := c.In.(*os.File)
	return !is || !inputWaits(f)
}

// CheckInteractive returns an error if --interactive is set and nobody can be prompted.
func (c *Console) CheckInteractive(interactive bool) error {
	if interactive && !c.Asks() {
		return exitcode.Usagef("--interactive needs a terminal: remove it, and pass the values as flags")
	}
	return nil
}

// Confirm prompts for the confirmation of something that cannot be undone. what describes it as a
// sentence without its full stop: "this removes all of acme". yes is the value of --yes, which
// confirms in advance. Any answer other than yes is an error with the code exitcode.Rejected.
// Where nobody can be prompted, Confirm returns a usage error that names --yes.
func (c *Console) Confirm(ctx context.Context, what string, yes bool) error {
	switch {
	case yes:
		return nil
	case !c.Asks():
		return exitcode.Usagef("%s; pass --yes to confirm", what)
	}
	answer, err := c.Ask(ctx, what+". Continue? [y/N] ")
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return exitcode.With(exitcode.Rejected, errors.New("canceled"))
}

// Ask prints a prompt on Err and returns the line that a person types; at the end of the
// input it returns "". If ctx is canceled (Ctrl-C, SIGTERM), the error is exitcode.Interrupted.
func (c *Console) Ask(ctx context.Context, prompt string) (string, error) {
	return c.answer(ctx, func(in io.Reader) (string, error) {
		fmt.Fprint(c.Err, Text(prompt))
		line, err := bufio.NewReader(io.LimitReader(in, answerLimit)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(c.Err)
			err = nil
		}
		return strings.TrimRight(line, "\r\n"), err
	})
}

// AskHidden is Ask for secrets: it does not echo the answer.
func (c *Console) AskHidden(ctx context.Context, prompt string) (string, error) {
	return c.answer(ctx, func(in io.Reader) (string, error) {
		if tty, is := c.In.(*os.File); is {
			state, err := term.MakeRaw(int(tty.Fd()))
			if err != nil {
				return "", err
			}
			defer term.Restore(int(tty.Fd()), state) //nolint:errcheck // nothing can be done about it
		}
		fmt.Fprint(c.Err, Text(prompt)) // only after echo is off
		line, err := term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{in, c.Err}, "").ReadPassword("")
		if errors.Is(err, io.EOF) { // in raw mode Ctrl-C is a character, which Terminal reports as EOF
			err = exitcode.Interrupted
		}
		return line, err
	})
}

// answerLimit is the maximum length of an answer, in bytes.
const answerLimit = 64 << 10

// answer calls read with the input. Canceling ctx also ends a blocked read.
func (c *Console) answer(ctx context.Context, read func(io.Reader) (string, error)) (string, error) {
	in, err := cancelreader.NewReader(c.In)
	if err != nil {
		return "", fmt.Errorf("read the terminal: %w", err)
	}
	defer in.Close() //nolint:errcheck // it closes its own bookkeeping, not the terminal
	stop := context.AfterFunc(ctx, func() { in.Cancel() })
	defer stop()
	line, err := read(in)
	if ctx.Err() != nil {
		fmt.Fprintln(c.Err)
		return "", exitcode.Interrupted
	}
	return line, err
}
