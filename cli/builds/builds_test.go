package builds

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// plane is a fake control plane with an app of several components. A retried build
// changes its status with each poll.
type plane struct {
	components []api.Component
	statuses   []api.BuildStatus  // statuses of the retried build; the last one stays
	interrupt  context.CancelFunc // if set, called at the second poll, as by Ctrl-C

	lock     sync.Mutex
	polls    int
	remarks  strings.Builder
	requests []string
}

func (p *plane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if r.Method == http.MethodPost {
		p.requests = append(p.requests, r.URL.Path)
	}
	again := api.Build{ID: "bld_9", Component: "web", Number: 9, Status: api.BuildStatusQueued, Reason: "retried"}
	switch {
	case strings.HasSuffix(r.URL.Path, "/components"):
		_ = json.NewEncoder(w).Encode(api.ComponentList{Items: p.components})
	case strings.HasSuffix(r.URL.Path, "/retry"):
		_ = json.NewEncoder(w).Encode(again)
	case r.URL.Path == "/v1/builds/bld_9":
		again.Status = p.statuses[min(p.polls, len(p.statuses)-1)]
		if again.Status == api.BuildStatusFailed {
			again.Error = "terraform init: no network"
		}
		p.polls++
		if p.polls == 2 && p.interrupt != nil {
			p.interrupt()
		}
		_ = json.NewEncoder(w).Encode(again)
	case r.URL.Path == "/v1/builds":
		_ = json.NewEncoder(w).Encode(api.BuildList{Items: []api.Build{{ID: "bld_2", Status: "failed", Error: "broken"},
			{ID: "bld_1", Status: "succeeded", Reason: "first input"}}})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (p *plane) run(t *testing.T, output string, args ...string) (string, error) {
	t.Helper()
	s := httptest.NewServer(p)
	defer s.Close()
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if p.interrupt != nil {
		p.interrupt = cancel
	}
	var out strings.Builder
	p.remarks.Reset()
	c := New(&cmdenv.Env{Console: &console.Console{Out: &out, Err: &p.remarks, Output: output}})
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(ctx)
	return out.String(), err
}

func shop() []api.Component {
	return []api.Component{
		{Name: "sandbox", Build: api.Build{ID: "bld_1", Number: 1, Status: api.BuildStatusSucceeded}},
		{Name: "web", Build: api.Build{ID: "bld_2", Number: 8, Status: api.BuildStatusFailed, Error: "broken"}},
		{Name: "api", Build: api.Build{ID: "bld_3", Number: 3, Status: api.BuildStatusQueued,
			Waits: "no build runner is online"}},
		{Name: "lost", Problem: "modules/lost is not in the repository"},
		{Name: "new"},
	}
}

// TestCreate checks that only failed builds are retried, and that the status of each
// component is printed.
func TestCreate(t *testing.T) {
	ok := shop()[:2]
	for name, c := range map[string]struct {
		components []api.Component
		statuses   []api.BuildStatus
		args       string
		prints     string
		requests   string
		code       int
		says       string
	}{
		"all that is missing": {shop(), nil, "create shop", "sandbox\tbuilt\t1 succeeded\t\nweb\tretried\t9 " +
			"queued\tretried\napi\tbuilding\t3 queued\tno build runner is online\nlost\tblocked\t-\tmodules/lost is not in " +
			"the repository\nnew\tblocked\t-\tits input is not known yet: the app's repository was not read\n",
			"/v1/builds/bld_2/retry", exitcode.Failed, "cannot be built from what is in git: lost, new"},
		"only these": {shop(), nil, "create shop sandbox", "sandbox\tbuilt\t1 succeeded\t\n", "", 0, ""},
		"dry": {ok, nil, "create shop --dry-run --wait", "sandbox\tbuilt\t1 succeeded\t\nweb\twould be " +
			"retried\t8 failed\tbroken\n", "", 0, ""},
		"unknown": {ok, nil, "create shop wob", "", "", exitcode.Failed, `app shop has no component "wob"`},
		"until built": {ok, []api.BuildStatus{"queued", "running", "succeeded"}, "create shop web --wait",
			"web\tretried\t9 succeeded\tretried\n", "/v1/builds/bld_2/retry", 0, ""},
		"until it fails": {ok, []api.BuildStatus{"running", "failed"}, "create shop web --wait",
			"web\tretried\t9 failed\tretried\n", "/v1/builds/bld_2/retry", exitcode.Failed,
			"build 9 of web failed: terraform init: no network; read its log with `nuon logs bld_9`"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &plane{components: c.components, statuses: c.statuses}
			out, err := p.run(t, "table", strings.Fields(c.args)...)
			if exitcode.CodeOf(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("ended with %v", err)
			}
			if out != c.prints || strings.Join(p.requests, " ") != c.requests {
				t.Errorf("sent %q, printed\n%s, want\n%s", p.requests, out, c.prints)
			}
		})
	}
}

// TestWaitEndsAtTheTimeout checks that a wait ends with an error after --timeout, and shows the last status.
func TestWaitEndsAtTheTimeout(t *testing.T) {
	for limit := 600 * time.Millisecond; ; limit *= 2 {
		p := &plane{components: shop()[:2], statuses: []api.BuildStatus{"running"}}
		out, err := p.run(t, "table", "create", "shop", "web", "--wait", "--timeout", limit.String())
		if strings.Contains(out, "queued") && limit < testtime.Limit {
			continue // a busy machine had not polled once
		}
		if exitcode.CodeOf(err) != exitcode.Failed || !strings.Contains(err.Error(), "not built within "+limit.String()) ||
			out != "web\tretried\t9 running\tretried\n" {
			t.Errorf("ended with %v, printed\n%s", err, out)
		}
		return
	}
}

// TestCtrlCLeavesBuilds checks that after Ctrl-C the output states that the build
// continues, and how to follow it.
func TestCtrlCLeavesBuilds(t *testing.T) {
	for _, line := range []string{"create shop web --wait", "retry bld_2 --wait"} {
		p := &plane{components: shop()[:2], statuses: []api.BuildStatus{"running"}, interrupt: func() {}}
		out, err := p.run(t, "table", strings.Fields(line)...)
		if !errors.Is(err, exitcode.Interrupted) || exitcode.CodeOf(err) != exitcode.CodeOf(exitcode.Interrupted) {
			t.Errorf("%s: ended with %v, printed %q", line, err, out)
		}
		want := "stopped waiting: the builds continue\n  nuon builds list --watch   to follow it\n"
		if d := cmp.Diff(want, p.remarks.String()); d != "" {
			t.Errorf("%s: (-want +got)\n%s", line, d)
		}
	}
}

// TestRetryWaits checks that --wait ends with the result of the build.
func TestRetryWaits(t *testing.T) {
	p := &plane{statuses: []api.BuildStatus{"running", "succeeded"}}
	if out, err := p.run(t, "json", "retry", "bld_2", "--wait"); err != nil ||
		!strings.Contains(out, `"status": "succeeded"`) {
		t.Errorf("%v, printed %s", err, out)
	}
	p = &plane{statuses: []api.BuildStatus{"failed"}}
	if _, err := p.run(t, "json", "retry", "bld_2", "--wait"); exitcode.CodeOf(err) != exitcode.Failed {
		t.Errorf("a failed build ended with %v", err)
	}
	p = &plane{statuses: []api.BuildStatus{"failed"}}
	if out, err := p.run(t, "name", "retry", "bld_2"); err != nil || out != "bld_9\n" {
		t.Errorf("without --wait: %v, printed %q", err, out)
	}
}

// TestListByStatus checks that --status filters the list.
func TestListByStatus(t *testing.T) {
	if out, err := (&plane{}).run(t, "name", "list", "--app", "shop", "--status", "failed"); err != nil ||
		out != "bld_2\n" {
		t.Errorf("%v, printed %q", err, out)
	}
}
