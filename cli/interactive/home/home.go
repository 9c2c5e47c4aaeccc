// Package home is the screen of what needs a person, and of the fleet: what `nuon status` prints.
package home

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/status"
)

// Screen is the home screen.
type Screen struct {
	status status.Status
	cache  *cache // nil for none
	stored time.Time
}

// New returns the screen, with the state that is stored in a file. It stores later states there. An
// empty file name stores nothing.
func New(file string) *Screen {
	s := &Screen{}
	if file != "" {
		s.cache = &cache{file: file}
		s.status, s.stored = s.cache.read()
	}
	return s
}

// StoredAt returns the time of the stored state that the screen shows before the first Load; zero
// if there is none.
func (s *Screen) StoredAt() time.Time { return s.stored }

// Load fetches what `nuon status` prints.
func (s *Screen) Load(ctx context.Context, client *apiclient.Client) (func(), error) {
	at := time.Now()
	now, err := status.Read(ctx, client, "", at)
	if err == nil && s.cache != nil {
		_ = s.cache.write(now, at) // without it, only the next start takes longer
	}
	return func() { s.status = now }, err
}
