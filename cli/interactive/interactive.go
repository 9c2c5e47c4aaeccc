// Package interactive implements the screens that `nuon` opens on a terminal: what needs a person,
// the fleet, and every object that can be reached from there.
//
// A screen is a package below this one. It loads data and returns it as a page (package page);
// this package draws the page, moves in it, filters it and keeps it current. Screens are opened by
// lines such as "install hello/acme", which are also what a person types after ":". A screen
// changes nothing itself: its actions run commands of nuon (Options.Run), so a command does
// everything that a screen does. The review of plans is the model of package review.
//
// The model is pure: messages in, frames out. The requester (requester.go) makes the requests.
package interactive

import (
	"context"
	"net/url"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/approvals"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
)

// Content is what one screen shows.
type Content interface {
	// Load fetches what the screen shows. The function that it returns stores it and is called
	// between two frames.
	Load(ctx context.Context, client *apiclient.Client) (store func(), err error)
	// Page returns what the screen shows at a time, also before anything was loaded.
	Page(now time.Time) page.Page
}

// Follower is a Content that the control plane notifies of changes. It is loaded once, by Follow,
// instead of again and again.
type Follower interface {
	Content
	// Follow passes on changes until ctx ends, or until there will be no more.
	Follow(ctx context.Context, client *apiclient.Client, feed page.Feed) error
}

// Stored is a Content that shows an earlier state until the first answer of the control plane.
type Stored interface {
	Content
	// StoredAt returns the time of that state; zero if there is none.
	StoredAt() time.Time
}

// Actor is a Content with actions.
type Actor interface {
	Content
	Actions() []page.Action
}

// Options are what the screens need of the program.
type Options struct {
	// Run runs a command of nuon without a terminal and returns what it prints.
	Run func(ctx context.Context, args ...string) (string, error)
	// Follow runs a command that prints lines until ctx ends, such as `nuon logs -f`.
	Follow func(ctx context.Context, line func(string), args ...string) error
	// Cache is the file for the last known state of the home screen; empty for none.
	Cache string
}

// Open shows the home screen until the user leaves it. When ctx is canceled or the user presses
// Ctrl-C, the error is exitcode.Interrupted. The terminal is restored in every case.
func Open(ctx context.Context, c *console.Console, client *apiclient.Client, o Options) error {
	t, err := screen.ThemeFor(ctx, c, screen.AnswerWithin)
	if err != nil {
		return err
	}
	d := newRequester(ctx, client, o)
	defer d.Close()
	m := newModel(d, c.Out, t, host(client.URL), time.Now)
	err = screen.Run(ctx, c, m, "use the commands instead: run `nuon help`", tea.WithMouseCellMotion())
	m.closeReview()
	if err == nil && m.interrupted {
		err = exitcode.Interrupted
	}
	if err := approvals.PrintGiven(c, m.given); err != nil {
		return err
	}
	if m.unheard != nil {
		return exitcode.With(exitcode.CodeOf(err), m.unheard)
	}
	return err
}

// host returns the host of a control plane's URL.
func host(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return console.Line(u.Host)
	}
	return console.Line(address)
}
