package status

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// snapshot is the data of the control plane that the status is computed from.
type snapshot struct {
	apps       []api.App
	installs   []api.InstallSummary
	approvals  []api.Approval // the waiting ones, without their reports
	breakGlass []api.BreakGlassRequest
	runners    []api.Runner // none if the token is for one app
	system     *api.System  // nil if the token is for one app

	shared map[string]bool // the names that installs of several apps have
}

// largePage is the largest page size that the API allows.
const largePage = 500

// Read returns the status of the org, or with app of one app, at a time.
func Read(ctx context.Context, client *apiclient.Client, app string, now time.Time) (Status, error) {
	s, err := read(ctx, client, app)
	if err != nil {
		return Status{}, err
	}
	return s.status(now), nil
}

// read reads all data, with one request for each page of each list. It reads the lists concurrently. If several of
// them fail, it returns the error of the first one.
func read(ctx context.Context, client *apiclient.Client, app string) (snapshot, error) {
	var s snapshot
	parts := []func(context.Context, *apiclient.Client, string) error{s.readApps, s.readInstalls, s.readApprovals,
		s.readBreakGlass, s.readOrg}
	failures := make([]error, len(parts))
	var all sync.WaitGroup
	for i, part := range parts {
		all.Go(func() { failures[i] = part(ctx, client, app) })
	}
	all.Wait()
	if i := slices.IndexFunc(failures, func(err error) bool { return err != nil }); i >= 0 {
		return snapshot{}, failures[i]
	}
	if app != "" {
		name := s.apps[0].Name
		s.approvals = slices.DeleteFunc(s.approvals, func(a api.Approval) bool { return a.App != name })
		s.breakGlass = slices.DeleteFunc(s.breakGlass, func(b api.BreakGlassRequest) bool { return b.App != name })
	}
	return s, nil
}

func (s *snapshot) readApps(ctx context.Context, client *apiclient.Client, app string) (err error) {
	if app != "" {
		one, err := apiclient.Decode[api.App](client.GetApp(ctx, app))
		s.apps = []api.App{one}
		return err
	}
	s.apps, err = apiclient.ListAll(func(cursor string) ([]api.App, string, error) {
		l, err := apiclient.Decode[api.AppList](client.ListApps(ctx, &api.ListAppsParams{Cursor: cursor, Limit: largePage}))
		return l.Items, l.Next, err
	})
	return err
}

func (s *snapshot) readInstalls(ctx context.Context, client *apiclient.Client, app string) (err error) {
	s.installs, err = apiclient.ListAll(func(cursor string) ([]api.InstallSummary, string, error) {
		l, err := apiclient.Decode[api.InstallList](client.ListInstalls(ctx,
			&api.ListInstallsParams{App: app, Cursor: cursor, Limit: largePage}))
		return l.Items, l.Next, err
	})
	return err
}

func (s *snapshot) readApprovals(ctx context.Context, client *apiclient.Client, _ string) (err error) {
	s.approvals, err = apiclient.ListAll(func(cursor string) ([]api.Approval, string, error) {
		l, err := apiclient.Decode[api.ApprovalList](client.ListApprovals(ctx,
			&api.ListApprovalsParams{Brief: true, Cursor: cursor, Limit: largePage}))
		return l.Items, l.Next, err
	})
	slices.Reverse(s.approvals) // oldest first
	return err
}

// readBreakGlass reads the requests for break-glass roles. An older control plane has none.
func (s *snapshot) readBreakGlass(ctx context.Context, client *apiclient.Client, _ string) (err error) {
	s.breakGlass, err = apiclient.ListAll(func(cursor string) ([]api.BreakGlassRequest, string, error) {
		l, err := apiclient.Decode[api.BreakGlassList](client.ListBreakGlass(ctx,
			&api.ListBreakGlassParams{Cursor: cursor, Limit: largePage}))
		return l.Items, l.Next, err
	})
	if apiclient.IsNoRoute(err) {
		return nil
	}
	return err
}

// readOrg reads the data of the org, which a token for one app may not read.
func (s *snapshot) readOrg(ctx context.Context, client *apiclient.Client, _ string) (err error) {
	system, err := apiclient.Decode[api.System](client.GetSystem(ctx))
	switch {
	case apiclient.CodeIs(err, "forbidden"):
		return nil
	case err != nil:
		return err
	}
	s.system = &system
	s.runners, err = apiclient.ListAll(func(cursor string) ([]api.Runner, string, error) {
		l, err := apiclient.Decode[api.RunnerList](client.ListRunners(ctx,
			&api.ListRunnersParams{Cursor: cursor, Limit: largePage}))
		return l.Items, l.Next, err
	})
	return err
}
