// Package logview is the screen of a log: what `nuon logs -f` prints.
package logview

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
)

// most is the maximum number of lines that the screen keeps, and dropped how many it drops at once
// when there are more.
const (
	most    = 50_000
	dropped = 5_000
)

// line is a line of a log, as `nuon logs -o json` prints it.
type line struct {
	T   time.Time `json:"t"`
	L   string    `json:"l"`
	M   string    `json:"m"`
	Of  string    `json:"of"`
	Job string    `json:"job"`
	n   int       // its number
}

// follower runs a command that prints lines until ctx ends.
type follower func(ctx context.Context, line func(string), args ...string) error

// Screen is the screen of a log.
type Screen struct {
	args   []string // of nuon logs
	follow follower
	lines  lines
	next   int
	lost   int // lines that were dropped
}

// New returns the screen of what the arguments of `nuon logs` name.
func New(args []string, follow func(ctx context.Context, line func(string), args ...string) error) *Screen {
	return &Screen{args: args, follow: follow}
}

// Load does nothing: Follow reads the log.
func (s *Screen) Load(context.Context, *apiclient.Client) (func(), error) { return func() {}, nil }

// Follow reads the log until it ends.
func (s *Screen) Follow(ctx context.Context, _ *apiclient.Client, feed page.Feed) error {
	feed.Send(func() { s.lines, s.next, s.lost = nil, 0, 0 })
	return s.follow(ctx, func(text string) {
		var l line
		if json.Unmarshal([]byte(text), &l) != nil {
			l = line{M: text}
		}
		feed.Send(func() { s.add(l) })
	}, append([]string{"logs", "-f", "-o", "json"}, s.args...)...)
}

// add adds a line.
func (s *Screen) add(l line) {
	if len(s.lines) >= most {
		s.lines = append(lines(nil), s.lines[dropped:]...)
		s.lost += dropped
	}
	l.n = s.next
	s.next++
	s.lines = append(s.lines, l)
}

// command returns the command that prints the log.
func (s *Screen) command() string {
	return console.CommandLine(append([]string{"nuon", "logs"}, s.args...)...)
}
