package interactive

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/approvals"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/review"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// The messages that the requester sends to the model.
type (
	// beat is sent every beatEvery, so that the model reads its clock.
	beat struct{}
	// due signals that a view is to be loaded again.
	due struct {
		view *view
		turn int
	}
	// loaded holds the result of loading a view.
	loaded struct {
		view  *view
		store func()
		err   error
	}
	// pushed holds changes that a view received, and with ended that no more will follow.
	pushed struct {
		view   *view
		stores []func()
		ended  bool
		err    error
		next   tea.Cmd
	}
	// ran holds the result of the commands that an action ran: of the first one that failed, else of
	// the last one.
	ran struct {
		line, said, then string
		err              error
		of, failed       int // how many ran, and how many of them failed
	}
	// saved holds the result of writing a file.
	saved struct {
		file string
		err  error
	}
	// completed holds the names of a kind of object.
	completed struct {
		kind  string
		names []complete.Name
		err   error
	}
	// prepared holds the review of plans, ready to be shown.
	prepared struct {
		screen *review.Screen
		err    error
	}
)

// How often the requester polls (plus jitter), and how long it waits for a response.
const (
	beatEvery       = time.Second
	pollEvery       = 2 * time.Second
	jitter          = time.Second
	resting         = 5 // a load is followed by a pause of at least this many times its duration
	responseTimeout = 20 * time.Second
	runTimeout      = 2 * time.Minute
)

// requests returns the commands of the model. The requester implements it; tests use a fake.
type requests interface {
	beat() tea.Cmd
	again(v *view, pause time.Duration) tea.Cmd
	load(v *view) tea.Cmd
	run(lines [][]string, then string) tea.Cmd
	names(kind string) tea.Cmd
	save(file string, content []byte) tea.Cmd
	review(args []string) tea.Cmd
	content(line []string) (Content, error)
}

// requester makes requests to the control plane on behalf of the screens. Each of its methods returns a
// command.
type requester struct {
	*screen.Commands

	client  *apiclient.Client
	options Options
}

func newRequester(ctx context.Context, client *apiclient.Client, o Options) *requester {
	return &requester{screen.NewCommands(ctx), client, o}
}

func (r *requester) beat() tea.Cmd { return r.After(beatEvery, beat{}) }

// again schedules the next load of a view, with jitter, so that many screens do not poll at the same time.
func (r *requester) again(v *view, pause time.Duration) tea.Cmd {
	return r.After(pause+rand.N(jitter), due{v, v.turn})
}

// load fetches what a view shows, once or, for a Follower, until it is closed.
func (r *requester) load(v *view) tea.Cmd {
	if f, follows := v.content.(Follower); follows {
		return r.follow(v, f)
	}
	content := v.content
	return r.Do(responseTimeout, func(ctx context.Context) tea.Msg {
		store, err := content.Load(apiclient.WithoutRetries(ctx), r.client)
		return loaded{v, store, screen.TimeoutError(err)}
	})
}

// mostPushed is the maximum number of changes in one message.
const mostPushed = 500

// change is a change that a view received, or the result of an attempt to connect.
type change struct {
	store func()
	err   error
}

// follow passes on what a Follower receives, several changes at a time if they arrive fast.
func (r *requester) follow(v *view, f Follower) tea.Cmd {
	ctx, cancel := context.WithCancel(r.Context())
	v.leave = cancel
	changes := make(chan change, mostPushed)
	send := func(c change) {
		select {
		case changes <- c:
		case <-ctx.Done():
		}
	}
	var next tea.Cmd
	next = func() tea.Msg {
		p := pushed{view: v, next: next}
		for c := range changes {
			p.add(c)
			if len(changes) == 0 || len(p.stores) >= mostPushed {
				return p
			}
		}
		p.ended = true
		return p
	}
	return func() tea.Msg {
		started := r.Go(func() { // reads until the view is left or nothing more will change
			defer cancel()
			defer close(changes)
			err := f.Follow(ctx, r.client, page.Feed{
				Send:  func(store func()) { send(change{store: store}) },
				Heard: func(err error) { send(change{err: err}) },
			})
			send(change{err: err})
		})
		if !started {
			return nil
		}
		return next()
	}
}

// add adds a change to the message.
func (p *pushed) add(c change) {
	if p.err = screen.TimeoutError(c.err); c.store != nil {
		p.stores = append(p.stores, c.store)
	}
}

// run runs commands of nuon one after the other. It runs no more of them once the control plane is
// unreachable.
func (r *requester) run(lines [][]string, then string) tea.Cmd {
	return r.Do(time.Duration(len(lines))*runTimeout, func(ctx context.Context) tea.Msg {
		out := ran{then: then, of: len(lines)}
		for n, line := range lines {
			said, err := r.runOne(ctx, line)
			if out.err == nil {
				out.line, out.said, out.err = commandLine(line), said, screen.TimeoutError(err)
			}
			if err != nil {
				out.failed++
			}
			if exitcode.CodeOf(err) == exitcode.Unreachable {
				out.failed = out.failed + len(lines) - n - 1
				break
			}
		}
		return out
	})
}

func (r *requester) runOne(ctx context.Context, line []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	return r.options.Run(ctx, line...)
}

// save writes a new file into the current directory. It does not replace a file.
func (r *requester) save(file string, content []byte) tea.Cmd {
	return r.Do(responseTimeout, func(context.Context) tea.Msg {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			_, err = f.Write(content)
			err = errors.Join(err, f.Close())
		}
		return saved{file, err}
	})
}

// sources are where the names come from that the palette completes.
var sources = map[string]complete.Source{
	"install": complete.Installs, "installs": complete.Apps, "app": complete.Apps, "runner": complete.Runners,
	"states":   complete.Installs,
	"workflow": complete.Workflows, "workflows": complete.Installs, "review": complete.Installs,
}

// names fetches the names of a kind of object.
func (r *requester) names(kind string) tea.Cmd {
	return r.Do(responseTimeout, func(ctx context.Context) tea.Msg {
		names, err := sources[kind](ctx, r.client, nil)
		return completed{kind, names, err}
	})
}

// review fetches the waiting plans that the arguments name.
func (r *requester) review(args []string) tea.Cmd {
	return r.Do(responseTimeout, func(context.Context) tea.Msg {
		s, err := review.Prepare(r.Context(), r.client,
			func(a api.Approval) bool { return len(args) == 0 || approvals.Named(a, args...) })
		return prepared{s, screen.TimeoutError(err)}
	})
}
