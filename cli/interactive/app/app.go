// Package app is the screen of all apps, and that of one: its components, releases and builds,
// with the reason of each.
package app

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// newest is the number of releases and of builds that the screen shows.
const newest = 20

// Screen is the screen of an app.
type Screen struct {
	name       string
	app        api.App
	components []api.Component
	releases   []api.Release
	builds     []api.Build
}

// New returns the screen of an app.
func New(name string) *Screen { return &Screen{name: name} }

// Load fetches the app with its components, newest releases and newest builds.
func (s *Screen) Load(ctx context.Context, client *apiclient.Client) (func(), error) {
	a, err := apiclient.Decode[api.App](client.GetApp(ctx, s.name))
	if err != nil {
		return nil, err
	}
	components, err := apiclient.Decode[api.ComponentList](client.ListComponents(ctx, a.ID))
	if err != nil {
		return nil, err
	}
	releases, err := apiclient.Decode[api.ReleaseList](client.ListReleases(ctx, a.ID,
		&api.ListReleasesParams{Limit: newest}))
	if err != nil {
		return nil, err
	}
	builds, err := apiclient.Decode[api.BuildList](client.ListBuilds(ctx, &api.ListBuildsParams{App: a.ID, Limit: newest}))
	return func() {
		s.app, s.components, s.releases, s.builds = a, components.Items, releases.Items, builds.Items
	}, err
}

// Actions returns what can be done with an app.
func (s *Screen) Actions() []page.Action {
	return []page.Action{
		{Key: screen.Bind("i", "its installs", "i"), Open: func(page.Row) string { return "installs " + s.name }},
		{Key: screen.Bind("s", "sync", "s"), Command: func(page.Row) ([]string, error) { return syncOf(s.app) },
			Question: func(page.Row) string { return fmt.Sprintf(syncQuestion, s.name) }},
		{Key: screen.Bind("w", "why", "w"), Open: func(page.Row) string { return "explain app " + s.name }},
		{Key: screen.Bind("t", "retry the build", "t"), Command: s.retry,
			Question: func(page.Row) string { return "Build it again from the same source?" }},
	}
}
