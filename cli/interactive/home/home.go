// Package home is the screen of what needs a person, and of the fleet: what `nuon status` prints.
package home

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/status"
)

// Screen is the home screen.
type Screen struct{ status status.Status }

// New returns the screen.
func New() *Screen { return &Screen{} }

// Load fetches what `nuon status` prints.
func (s *Screen) Load(ctx context.Context, client *apiclient.Client) (func(), error) {
	now, err := status.Read(ctx, client, "", time.Now())
	return func() { s.status = now }, err
}
