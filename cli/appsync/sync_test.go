package appsync

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// seen returns a sync of an app at release 1 with one build, with a change applied.
func seen(change func(*api.Sync)) api.Sync {
	s := api.Sync{
		App: api.App{
			Name: "shop", Release: api.Release{Number: 1, Status: "complete"},
			Revision: api.Revision{Commit: "1a2b3c4d5e", Subject: "Say more",
				Outcome: "app other: nothing\napp shop: component web: input changed, build 2",
				Reason:  "main was force-pushed"},
		},
		Builds: []api.Build{{ID: "bld_1", Component: "web", Number: 2, Status: api.BuildStatusSucceeded}}, Done: true,
	}
	change(&s)
	return s
}

func TestShowAndVerdict(t *testing.T) {
	web := []api.Component{{Name: "web", Problem: "a link leads out"}}
	install := func(status api.InstallSummaryStatus) []api.InstallSummary {
		return []api.InstallSummary{{Name: "acme", App: "shop", Status: status, Reason: "why"}}
	}
	for name, c := range map[string]struct {
		change  func(*api.Sync)
		blocked []api.Component
		wait    bool
		code    int
		shows   string // consecutive lines of the output
		not     string
		says    string
	}{
		"well": {change: func(*api.Sync) {}, shows: "shop is at release 1, commit 1a2b3c4 Say more\n  component web: " +
			"input changed, build 2\n", not: "app other"},
		"rewritten": {change: func(s *api.Sync) { s.App.Revision.Forced = true },
			shows: "Say more\n  main was force-pushed\n"},
		"an upload":  {change: func(s *api.Sync) { s.App.Revision = api.Revision{} }, shows: "shop is at release 1\n  web"},
		"no release": {change: func(s *api.Sync) { s.App.Release.Number = 0 }, shows: "shop has no release yet\n"},
		"broken": {
			change: func(s *api.Sync) {
				s.Failed = true
				s.App.Diagnostics = []api.Diagnostic{{File: "web.toml", Line: 2, Column: 3, Severity: "error",
					Message: "no quote", Hint: "add one"}}
			},
			code: exitcode.Usage,
			shows: "shop stays at release 1: the config of commit 1a2b3c4 Say more has errors\n  web.toml:2:3: error: no " +
				"quote (add one)\n",
			not:  "input changed",
			says: "the config has errors",
		},
		"never right": {
			change: func(s *api.Sync) {
				s.Failed, s.App.Release.Number, s.App.Revision = true, 0, api.Revision{}
				s.App.Diagnostics = []api.Diagnostic{{File: ".", Severity: "error", Message: "nothing there"}}
			},
			code: exitcode.Usage, shows: "shop has no release yet: the config has errors\n  error: nothing there\n",
		},
		"only a warning": {
			change: func(s *api.Sync) {
				s.App.Diagnostics = []api.Diagnostic{{File: "a.toml", Line: 1, Column: 1,
					Severity: "warning", Message: "odd"}}
			},
			shows: "shop is at release 1, commit 1a2b3c4 Say more\n",
		},
		"cannot be built": {
			change: func(s *api.Sync) { s.Failed, s.App.Release.Status = true, "incomplete" }, blocked: web,
			code: exitcode.Failed,
			shows: "release 1 of shop of commit 1a2b3c4 Say more is incomplete, so no install gets it\n  web              " +
				"cannot be built: a link leads out\n",
			not:  "build 2",
			says: "web cannot be built; fix it and sync again, or release the rest with `nuon sync --partial`",
		},
		"a build failed": {
			change: func(s *api.Sync) { s.Failed, s.Builds[0].Status = true, api.BuildStatusFailed },
			code:   exitcode.Failed,
			shows:  "build 2   failed",
			says:   "build 2 of web failed; read its log with `nuon logs bld_1`",
		},
		"current": {change: func(s *api.Sync) { s.Installs = install("current") }, wait: true,
			shows: "acme\tshop\t-\tcurrent\twhy\n"},
		"stalled": {change: func(s *api.Sync) { s.Installs = install("stalled") }, wait: true, code: exitcode.Failed,
			says: "acme: why"},
		"waits": {change: func(s *api.Sync) { s.Installs = install("waiting_for_approval") }, wait: true,
			code: exitcode.Waiting, says: "nuon review"},
		"rejected": {change: func(s *api.Sync) { s.Installs = install("rejected") }, wait: true, code: exitcode.Rejected,
			says: "a change was rejected"},
		"no waits": {change: func(s *api.Sync) { s.Installs = install("rejected") }, not: "acme"},
	} {
		t.Run(name, func(t *testing.T) {
			s := seen(c.change)
			var out strings.Builder
			if err := show(&out, &console.Console{}, s, c.blocked, c.wait); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), c.shows) || c.not != "" && strings.Contains(out.String(), c.not) {
				t.Errorf("shows\n%s\nwant\n%s\nand not %q", out.String(), c.shows, c.not)
			}
			err := exitError(s, c.blocked, options{wait: c.wait})
			if exitcode.CodeOf(err) != c.code || c.says != "" && !strings.Contains(err.Error(), c.says) {
				t.Errorf("exit code %d, want %d: %v", exitcode.CodeOf(err), c.code, err)
			}
		})
	}
}

// TestUnderWay checks the description of what a sync still waits for.
func TestUnderWay(t *testing.T) {
	s := seen(func(s *api.Sync) {
		s.Installs = []api.InstallSummary{{Name: "acme", Status: "current"},
			{Name: "globex", Status: "deploying", Reason: "working on web"}}
	})
	if got := pendingWork(s); got != "install globex is deploying (working on web)" {
		t.Error(got)
	}
	s.Builds[0].Status = api.BuildStatusQueued
	if got := pendingWork(s); got != "build 2 of web is queued" {
		t.Error(got)
	}
}
