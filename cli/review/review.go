// Package review is the screen of `nuon review`: the plans that wait on one side, the diff of one on the other, and a key for yes
// and one for no.
//
// It owns what is on the screen and nothing else: everything that it does is a request of the control API, which a command can make
// as well. An answer names the digest of what was shown; what nobody has read, what no longer waits and what the control plane
// cannot be asked about is not answered. Texts of a plan are laid out by diff/terminal, which neutralises them.
//
// Plans that are alike are one row of the queue, are read once and answered with one key (alike.go, queue.go): each gets an answer of its
// own, bound to its own content, a few at a time (post.go).
//
// The model is pure: messages in, frames out (model.go, answer.go, post.go, view.go). The desk (desk.go) asks the control plane. The
// approvals package opens the screen and says on paper what it says on a terminal.
package review

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Possible says that there is a terminal to draw on, and keys to read.
func Possible(c *console.Console) bool {
	return c.InIsTerminal && c.OutIsTerminal && os.Getenv("TERM") != "dumb"
}

// Open shows the screen until a person leaves it, and gives the answers that were given there, in their order. Only plans that are
// wanted are shown. A control plane that cannot be asked is an error before the screen opens; later it is a banner on it. When ctx
// ends, and after Ctrl-C, the error is exit.Interrupted; the terminal is as it was in every case.
func Open(ctx context.Context, c *console.Console, client *remote.Client, wanted func(api.Approval) bool) (Given, error) {
	return openWithin(ctx, c, client, wanted, answerWithin)
}

// openWithin is Open which waits so long for a terminal to say what its background is.
func openWithin(ctx context.Context, c *console.Console, client *remote.Client, wanted func(api.Approval) bool, patience time.Duration) (Given, error) {
	d := newDesk(ctx, client, wanted)
	defer d.close()
	first, _ := d.list(scope{})().(listed)
	if ctx.Err() != nil {
		return Given{}, exit.Interrupted
	}
	if first.err != nil {
		return Given{}, first.err
	}
	t, err := themeFor(ctx, c, patience)
	if err != nil {
		return Given{}, err
	}
	m := newModel(d, t, host(client.URL), time.Now, first)
	err = draw(ctx, c, m)
	if err == nil && m.interrupted {
		err = exit.Interrupted
	}
	if unheard := m.unheard(exit.CodeOf(err)); unheard != nil {
		return Given{m.given, m.approved}, unheard // it has the code of how the screen ended
	}
	return Given{m.given, m.approved}, err
}

// draw gives the terminal to a model until it quits. The command's context brings the signals, and has the program quit: given to
// bubbletea itself, it would end the program without waiting for who reads the keys. Bubbletea restores the terminal when it ends, and
// after a panic.
func draw(ctx context.Context, c *console.Console, m tea.Model) error {
	program := tea.NewProgram(m, tea.WithInput(c.In), tea.WithOutput(c.Out), tea.WithAltScreen(), tea.WithoutSignalHandler())
	defer context.AfterFunc(ctx, program.Quit)()
	_, err := program.Run()
	switch {
	case errors.Is(err, tea.ErrProgramPanic):
		return errors.New("the screen broke down, which is a mistake in nuon; `nuon review --print` shows the same without it")
	case ctx.Err() != nil:
		return exit.Interrupted
	case err != nil:
		return fmt.Errorf("draw the screen: %w (`nuon review --print` shows the same without it)", err)
	}
	return nil
}

// host is the part of an address that people know a control plane by.
func host(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return console.Line(u.Host)
	}
	return console.Line(address)
}
