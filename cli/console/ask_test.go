package console

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// person returns a console on a pseudo-terminal, and the terminal's other side.
func person(t *testing.T) (*Console, *os.File) {
	t.Helper()
	hand, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = hand.Close()
		_ = tty.Close()
	})
	return &Console{In: tty, Out: tty, Err: tty, InIsTerminal: true, ErrIsTerminal: true, OutIsTerminal: true}, hand
}

// answered waits for the prompt on the terminal and types.
func answered(t *testing.T, hand *os.File, prompt, typed string) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { // ends with the prompt, or with the terminal
		seen, read := "", bufio.NewReader(hand)
		for !strings.Contains(seen, prompt) {
			b, err := read.ReadByte()
			if err != nil {
				done <- err
				return
			}
			seen += string(b)
		}
		_, err := hand.WriteString(typed)
		done <- err
	}()
	return done
}

// TestConfirm checks that only "y" and "yes" confirm.
func TestConfirm(t *testing.T) {
	for typed, want := range map[string]int{"y\n": 0, "yes\n": 0, " YES \n": 0, "n\n": exitcode.Rejected,
		"\n": exitcode.Rejected, "yess\n": exitcode.Rejected, "\x04": exitcode.Rejected} {
		c, hand := person(t)
		done := answered(t, hand, "this drops it. Continue? [y/N] ", typed)
		if err := c.Confirm(t.Context(), "this drops it", false); exitcode.CodeOf(err) != want {
			t.Errorf("%q ended with %v", typed, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestConfirmWithoutAPerson checks that --yes confirms without reading input,
// and that the error where nobody can be prompted names --yes.
func TestConfirmWithoutAPerson(t *testing.T) {
	for name, c := range map[string]*Console{
		"a pipe":            {In: strings.NewReader("y\n"), Err: &strings.Builder{}, ErrIsTerminal: true},
		"words go to a log": {In: strings.NewReader("y\n"), Err: &strings.Builder{}, InIsTerminal: true},
	} {
		if err := c.Confirm(t.Context(), "this drops it", true); err != nil {
			t.Errorf("%s: --yes ended with %v", name, err)
		}
		err := c.Confirm(t.Context(), "this drops it", false)
		if exitcode.CodeOf(err) != exitcode.Usage || err.Error() != "this drops it; pass --yes to confirm" {
			t.Errorf("%s: ended with %v", name, err)
		}
		if c.In.(*strings.Reader).Len() != 2 {
			t.Errorf("%s: read what was meant for another", name)
		}
	}
}

// TestAskEndsWithItsContext checks that Ctrl-C and SIGTERM end a prompt while nobody types.
func TestAskEndsWithItsContext(t *testing.T) {
	for name, ask := range map[string]func(*Console, context.Context) (string, error){
		"shown":  func(c *Console, ctx context.Context) (string, error) { return c.Ask(ctx, "name: ") },
		"hidden": func(c *Console, ctx context.Context) (string, error) { return c.AskHidden(ctx, "name: ") },
	} {
		t.Run(name, func(t *testing.T) {
			c, hand := person(t)
			ctx, stop := context.WithCancel(t.Context())
			done := answered(t, hand, "name: ", "half a na")
			go func() { // ends when the text was typed
				if err := <-done; err != nil {
					t.Error(err)
				}
				stop()
			}()
			if text, err := ask(c, ctx); !errors.Is(err, exitcode.Interrupted) || text != "" {
				t.Errorf("gave %q, %v", text, err)
			}
			<-ctx.Done()
		})
	}
}

// TestAskHidden checks that the answer is complete and not echoed, that Ctrl-C
// interrupts, and that echo is restored.
func TestAskHidden(t *testing.T) {
	for typed, want := range map[string]string{"hush\r": "hush", "hu\x7f\x7fbang\r": "bang", "\r": ""} {
		c, hand := person(t)
		done := answered(t, hand, "token (hidden): ", typed)
		got, err := c.AskHidden(t.Context(), "token (hidden): ")
		if err != nil || got != want {
			t.Errorf("%q gave %q, %v", typed, got, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		// The terminal echoes again, and this is the first thing that it shows: the answer
		// was never echoed.
		if _, err := hand.WriteString("seen\n"); err != nil {
			t.Fatal(err)
		}
		said, err := bufio.NewReader(hand).ReadString('n')
		if err != nil || strings.TrimLeft(said, "\r\n") != "seen" {
			t.Errorf("after %q the terminal shows %q, %v", typed, said, err)
		}
	}
	c, hand := person(t)
	done := answered(t, hand, "token: ", "hu\x03")
	if _, err := c.AskHidden(t.Context(), "token: "); !errors.Is(err, exitcode.Interrupted) {
		t.Errorf("Ctrl-C ended with %v", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
