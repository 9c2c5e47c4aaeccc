// Package review implements the full-screen view of `nuon review`: the queue of
// waiting plans, the diff of the selected one, and keys to approve and to reject.
//
// It owns only the screen. Each action is one request to the control API that
// a CLI command can make too. An answer names the content digest of the report
// on the screen. The screen refuses to answer a plan that was not shown, that
// no longer waits, or while the control plane is unreachable. diff/terminal
// lays out the texts of a plan and neutralizes control sequences in them.
//
// Plans that the control plane reports as alike form one row of the queue: they are shown
// once and answered with one key (alike.go, queue.go). Each plan gets its own answer,
// bound to its own content, and only a few answers are in flight at a time (post.go).
//
// The model is pure: messages in, frames out (model.go, answer.go, post.go, view.go).
// The requester (requester.go) makes the requests to the control plane. Package approvals opens
// the screen, and prints the same content where there is no terminal.
package review

import (
	"context"
	"net/url"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Open shows the screen until the user leaves it and returns the answers that were
// given, in order. It shows only the approvals for which wanted returns true. If
// the first request fails, Open returns an error without opening the screen; a
// later failure is shown as a banner. When ctx is canceled or the user presses
// Ctrl-C, the error is exitcode.Interrupted. The terminal is restored in every case.
func Open(ctx context.Context, c *console.Console, client *apiclient.Client,
	wanted func(api.Approval) bool) (Answers, error) {
	return openWithin(ctx, c, client, wanted, screen.AnswerWithin)
}

// openWithin is Open with a limit on the wait for the terminal to report its background color.
func openWithin(ctx context.Context, c *console.Console, client *apiclient.Client,
	wanted func(api.Approval) bool, patience time.Duration) (Answers, error) {
	d := newRequester(ctx, client, wanted)
	defer d.Close()
	first, _ := d.list(scope{})().(listed)
	if ctx.Err() != nil {
		return Answers{}, exitcode.Interrupted
	}
	if first.err != nil {
		return Answers{}, first.err
	}
	t, err := screen.ThemeFor(ctx, c, patience)
	if err != nil {
		return Answers{}, err
	}
	m := newModel(d, t, host(client.URL), time.Now, first)
	err = draw(ctx, c, m)
	if err == nil && m.interrupted {
		err = exitcode.Interrupted
	}
	if unheard := m.unheard(exitcode.CodeOf(err)); unheard != nil {
		return Answers{m.given, m.approved}, unheard // has the exit code of err
	}
	return Answers{m.given, m.approved}, err
}

// draw runs the model on the terminal until it quits.
func draw(ctx context.Context, c *console.Console, m tea.Model) error {
	return screen.Run(ctx, c, m, "print the plans with `nuon review --print` instead")
}

// host returns the host of a control plane's URL, or the whole address if it has none.
func host(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return console.Line(u.Host)
	}
	return console.Line(address)
}
