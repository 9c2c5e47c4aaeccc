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

	"github.com/nuon-toolkit/nuon/cli/exit"
)

// Asks says that there is somebody to ask: what is typed arrives at In, and what is said on Err is seen.
func (c *Console) Asks() bool { return c.InIsTerminal && c.ErrIsTerminal }

// CheckInteractive returns an error if a command was given --interactive and there is nobody to ask.
func (c *Console) CheckInteractive(interactive bool) error {
	if interactive && !c.Asks() {
		return exit.Usagef("--interactive needs a terminal: leave it out, and give the values as flags")
	}
	return nil
}

// Confirm asks a person before something that cannot be undone. What says what would be done, as a sentence without its full stop:
// "this removes all of acme". Yes is the command's --yes: the answer beforehand. The default is no, which is the error of
// exit.Rejected. Where there is nobody to ask it is wrong usage, and the error names --yes.
func (c *Console) Confirm(ctx context.Context, what string, yes bool) error {
	switch {
	case yes:
		return nil
	case !c.Asks():
		return exit.Usagef("%s; say --yes if you mean it", what)
	}
	answer, err := c.Ask(ctx, what+". Go on? [y/N] ")
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return exit.With(exit.Rejected, errors.New("nothing was done"))
}

// Ask prints a prompt on Err and gives the line that a person types at the terminal; the end of the input is an empty one. A
// ctx that ends (Ctrl-C, SIGTERM) is exit.Interrupted.
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

// AskHidden is Ask for what nobody may look at: nothing of the answer is shown.
func (c *Console) AskHidden(ctx context.Context, prompt string) (string, error) {
	return c.answer(ctx, func(in io.Reader) (string, error) {
		if tty, is := c.In.(*os.File); is {
			state, err := term.MakeRaw(int(tty.Fd()))
			if err != nil {
				return "", err
			}
			defer term.Restore(int(tty.Fd()), state) //nolint:errcheck // nothing can be done about it
		}
		fmt.Fprint(c.Err, Text(prompt)) // not before nothing is shown any more
		line, err := term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{in, c.Err}, "").ReadPassword("")
		if errors.Is(err, io.EOF) { // in the raw mode Ctrl-C is a character, which Terminal takes for the end
			err = exit.Interrupted
		}
		return line, err
	})
}

// answerLimit bounds a line that is typed, in bytes.
const answerLimit = 64 << 10

// answer reads what read makes of the input. A ctx that ends ends the reading, too.
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
		return "", exit.Interrupted
	}
	return line, err
}
