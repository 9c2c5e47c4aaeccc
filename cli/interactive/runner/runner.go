// Package runner is the screen of all runners, and that of one: its version, what its owner
// allows, its jobs and its installs.
package runner

import (
	"context"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Screen is the screen of a runner.
type Screen struct {
	name     string
	runner   api.Runner
	installs []api.InstallSummary
}

// New returns the screen of a runner.
func New(name string) *Screen { return &Screen{name: name} }

// Load fetches the runner and the first page of its installs.
func (s *Screen) Load(ctx context.Context, client *apiclient.Client) (func(), error) {
	r, err := apiclient.Decode[api.Runner](client.GetRunner(ctx, s.name))
	if err != nil {
		return nil, err
	}
	l, err := apiclient.Decode[api.InstallList](client.ListInstalls(ctx,
		&api.ListInstallsParams{Runner: r.Name, Limit: pageSize}))
	return func() { s.runner, s.installs = r, l.Items }, err
}

// Actions returns what can be done with a runner.
func (s *Screen) Actions() []page.Action {
	return []page.Action{
		{Key: screen.Bind("L", "its own log", "L"), Open: func(page.Row) string { return "logs runner " + s.name }},
	}
}
