package appsync

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/progress"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// looks is a fake control plane that returns the next state at each poll, and keeps
// the last one. It answers in process, so that a test can use a fake clock.
type looks struct {
	states []api.Sync
	n      int
	fail   error
}

func (l *looks) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if l.n++; l.fail != nil {
		return nil, l.fail
	}
	w := httptest.NewRecorder()
	if err := json.NewEncoder(w).Encode(l.states[min(l.n, len(l.states))-1]); err != nil {
		return nil, err
	}
	answer := w.Result()
	answer.Request = r
	return answer, nil
}

func (l *looks) client(t *testing.T) *apiclient.Client {
	t.Helper()
	c, err := apiclient.New(contexts.Context{URL: "http://plane"})
	if err != nil {
		t.Fatal(err)
	}
	c.Client.Client = l
	return c
}

// state returns the state of an app: done or not, with installs of these statuses.
func state(done bool, installs ...api.InstallSummaryStatus) api.Sync {
	s := api.Sync{App: api.App{ID: "app_1", Name: "shop"}, Done: done}
	for _, i := range installs {
		s.Installs = append(s.Installs, api.InstallSummary{Name: "acme", Status: i, Reason: "why"})
	}
	return s
}

// blocked makes an install wait for a person.
func blocked(s api.Sync, install int) api.Sync {
	s.Installs[install].Blocked = true
	return s
}

var quiet = &console.Console{Out: io.Discard, Err: io.Discard}

// TestWaitFor checks that a sync always waits for builds, waits for installs only with
// --wait and until none can progress without a person, and stops at a failed build.
func TestWaitFor(t *testing.T) {
	failed := state(true, "deploying")
	failed.Failed = true
	for name, c := range map[string]struct {
		first api.Sync
		then  []api.Sync
		wait  bool
		looks int
	}{
		"all is done":          {state(true, "deploying"), nil, false, 0},
		"builds":               {state(false), []api.Sync{state(false), state(true)}, false, 2},
		"builds of many looks": {state(false), append(make([]api.Sync, 100), state(true)), false, 101},
		"installs": {state(true, "new"), []api.Sync{state(true, "behind"), state(true, "deploying"),
			state(true, "current")}, true, 3},
		"one of two": {state(true, "current", "waiting"), []api.Sync{state(true, "current",
			"waiting_for_approval")}, true, 1},
		"no install":      {state(true), []api.Sync{state(true)}, true, 1},
		"a missing input": {state(true), []api.Sync{blocked(state(true, "current", "waiting"), 1)}, true, 1},
		"another one goes on": {state(true), []api.Sync{blocked(state(true, "new", "deploying"), 0),
			blocked(state(true, "new", "current"), 0)}, true, 2},
		"rejected and stalled": {state(true), []api.Sync{state(true, "rejected", "stalled", "deprovisioned", "current")},
			true, 1},
		"deprovisioning goes on": {state(true, "deprovisioning"), []api.Sync{state(true, "deprovisioned")}, true, 1},
		"a build failed":         {state(false, "deploying"), []api.Sync{failed}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &looks{states: c.then}
				begun := time.Now()
				got, err := waitForSync(t.Context(), quiet, l.client(t), c.first, options{wait: c.wait, timeout: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				want := c.first
				if len(c.then) > 0 {
					want = c.then[len(c.then)-1]
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Error(d)
				}
				if l.n != c.looks || time.Since(begun) != time.Duration(c.looks)*pollInterval {
					t.Errorf("looked %d times in %s, want %d", l.n, time.Since(begun), c.looks)
				}
			})
		})
	}
}

// TestWaitForEnds checks the ways in which waiting ends early: a timeout reports what
// is under way and how to continue, Ctrl-C reports what continues, and an unreachable
// control plane has its own error.
func TestWaitForEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		building := state(false)
		building.Builds = []api.Build{{Component: "web", Number: 3, Status: api.BuildStatusRunning}}
		for name, s := range map[string]api.Sync{
			"not done within 30m0s: build 3 of web is running; the work continues, " +
				"wait again with `nuon sync --app shop`": building,
			"not done within 30m0s; the work continues, wait again with `nuon sync --app shop`": state(false),
		} {
			l, begun := &looks{states: []api.Sync{s}}, time.Now()
			_, err := waitForSync(t.Context(), quiet, l.client(t), s, options{timeout: 30 * time.Minute})
			if exitcode.CodeOf(err) != exitcode.Failed || err.Error() != name || time.Since(begun) != 30*time.Minute {
				t.Errorf("ended after %s with %v", time.Since(begun), err)
			}
		}
		l := &looks{states: []api.Sync{state(false)}}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, nil)
		defer cancel()
		go func() { // Ctrl-C
			<-time.After(10 * pollInterval)
			cancel()
		}()
		var remarks strings.Builder
		onto := &console.Console{Out: io.Discard, Err: &remarks}
		_, err := waitForSync(ctx, onto, l.client(t), state(false), options{timeout: 2 * time.Hour, wait: true})
		if d := cmp.Diff("stopped waiting: the work continues\n  nuon sync --app shop --wait            to wait again\n  "+
			"nuon workflows list --status running   to find what to cancel\n", remarks.String()); d != "" {
			t.Error(d)
		}
		if !errors.Is(err, exitcode.Interrupted) {
			t.Errorf("Ctrl-C ended with %v", err)
		}
		l = &looks{fail: errors.New("connection refused")}
		if _, err := waitForSync(t.Context(), quiet, l.client(t), state(false),
			options{timeout: time.Hour}); exitcode.CodeOf(err) != exitcode.Unreachable {
			t.Errorf("nobody there ended with %v", err)
		}
	})
}

// TestWorstOfManyInstalls checks the exit code for several installs: stalled takes
// precedence over rejected, and rejected over waiting for an approval.
func TestWorstOfManyInstalls(t *testing.T) {
	for _, c := range []struct {
		installs []api.InstallSummaryStatus
		want     int
	}{
		{nil, exitcode.Done},
		{[]api.InstallSummaryStatus{"current", "deprovisioned"}, exitcode.Done},
		{[]api.InstallSummaryStatus{"current", "waiting_for_approval"}, exitcode.Waiting},
		{[]api.InstallSummaryStatus{"rejected", "waiting_for_approval"}, exitcode.Rejected},
		{[]api.InstallSummaryStatus{"waiting_for_approval", "rejected"}, exitcode.Rejected},
		{[]api.InstallSummaryStatus{"rejected", "waiting_for_approval", "stalled"}, exitcode.Failed},
	} {
		if err := exitError(state(true, c.installs...), nil, options{wait: true}); exitcode.CodeOf(err) != c.want {
			t.Errorf("%v ended with %v, want code %d", c.installs, err, c.want)
		}
	}
}

// TestAnOldRejectionIsNotThisSyncs checks that only a rejection of the synced commit
// counts, not one from before it.
func TestAnOldRejectionIsNotThisSyncs(t *testing.T) {
	pushed := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		at   time.Time
		want int
	}{
		"an hour before": {pushed.Add(-time.Hour), exitcode.Done}, "after": {pushed.Add(time.Minute), exitcode.Rejected},
		"at a time that nobody knows": {time.Time{}, exitcode.Rejected},
	} {
		for _, upload := range []bool{false, true} {
			s := state(true, api.InstallSummaryStatusRejected, api.InstallSummaryStatusCurrent)
			s.Installs[0].RejectedAt = c.at
			if s.App.Version.CreatedAt = pushed; !upload {
				s.App.Version.CreatedAt, s.App.Revision.ObservedAt = pushed.Add(-48*time.Hour), pushed
			}
			if err := exitError(s, nil, options{wait: true}); exitcode.CodeOf(err) != c.want {
				t.Errorf("%s (upload %t): ended with %v, want code %d", name, upload, err, c.want)
			}
		}
	}
}

// TestLines checks the marks of the progress lines: running, done, failed and waiting
// for an approval.
func TestLines(t *testing.T) {
	s := state(false, "current", "stalled", "waiting_for_approval", "deploying", "deprovisioned")
	s.Builds = []api.Build{
		{Component: "web", Number: 3, Status: "queued", Waits: "for a runner"},
		{Component: "api", Number: 1, Status: "failed"}, {Component: "db", Number: 2, Status: "succeeded"},
	}
	builds := []progress.Line{
		{Mark: "✓", Text: "web: build 3 queued for a runner", Busy: true}, {Mark: "✗", Text: "api: build 1 failed "},
		{Mark: "✓", Text: "db: build 2 succeeded "},
	}
	installs := []progress.Line{
		{Mark: "✓", Text: "acme: current"}, {Mark: "✗", Text: "acme: stalled"},
		{Mark: "?", Text: "acme: waiting_for_approval"},
		{Mark: "·", Text: "acme: deploying", Busy: true}, {Mark: "·", Text: "acme: deprovisioned"},
	}
	if d := cmp.Diff(builds, lines(s, false)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(append(builds, installs...), lines(s, true)); d != "" {
		t.Error(d)
	}
}

// plane is a fake control plane with one app. It records the requests.
type plane struct {
	app   api.App
	sync  *api.SyncRequest
	files map[string]string
	// directory is the path of the config within the files of a preview request.
	directory string
	now       api.Sync
	fault     *api.Problem
}

func (p *plane) start(t *testing.T) *cmdenv.Env {
	t.Helper()
	mux := http.NewServeMux()
	give := func(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }
	mux.HandleFunc("GET /v1/apps/{app}", func(w http.ResponseWriter, r *http.Request) {
		if name := r.PathValue("app"); name != p.app.Name {
			w.WriteHeader(http.StatusNotFound)
			give(w, api.Problem{Status: http.StatusNotFound, Code: "not_found", Title: "app " + name + " not found"})
			return
		}
		give(w, p.app)
	})
	mux.HandleFunc("POST /v1/apps/{app}/sync", func(w http.ResponseWriter, r *http.Request) {
		p.sync = &api.SyncRequest{}
		if err := json.NewDecoder(r.Body).Decode(p.sync); err != nil {
			t.Error(err)
		}
		if p.fault != nil {
			w.WriteHeader(p.fault.Status)
			give(w, p.fault)
			return
		}
		at := p.now
		at.Installs = nil // only on request
		give(w, at)
	})
	mux.HandleFunc("GET /v1/apps/{app}/sync", func(w http.ResponseWriter, r *http.Request) {
		at := p.now
		if r.URL.Query().Get("installs") != "true" {
			at.Installs = nil
		}
		give(w, at)
	})
	mux.HandleFunc("POST /v1/apps/{app}/versions", func(w http.ResponseWriter, r *http.Request) {
		p.files = unpack(t, r.Body)
		if r.Header.Get("Content-Type") != "application/gzip" {
			t.Errorf("sent as %s", r.Header.Get("Content-Type"))
		}
		give(w, p.now)
	})
	mux.HandleFunc("POST /v1/apps/{app}/preview", func(w http.ResponseWriter, r *http.Request) {
		p.files, p.directory = unpack(t, r.Body), r.URL.Query().Get("directory")
		give(w, api.AppPreview{Version: 1})
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	return &cmdenv.Env{Console: &console.Console{Out: &strings.Builder{}, Err: &strings.Builder{}, Output: "table"}}
}

// valid makes the work tree of repository contain a valid app.
func valid(t *testing.T) (dir, commit string) {
	t.Helper()
	dir, _ = repository(t)
	write(t, dir, "apps/shop/metadata.toml", "version = \"v2\"\ndisplay_name = \"Shop\"\n")
	write(t, dir, "apps/shop/inputs.toml", "[[input]]\nname = \"greeting\"\ndisplay_name = \"Greeting\"\ndescription = "+
		"\"First words\"\ngroup = \"app\"\ndefault = \"hello\"\n\n[[group]]\nname = \"app\"\ndisplay_name = \"App\"\n"+
		"description = \"All\"\n")
	write(t, dir, "apps/shop/components/web.toml", "type = \"terraform_module\"\nname = \"web\"\nterraform_version = "+
		"\"1.11.4\"\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/web\"\n")
	write(t, dir, "apps/shop/sandbox.toml",
		"terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/sandbox\"\n")
	write(t, dir, "modules/web/main.tf", "")
	write(t, dir, "modules/sandbox/main.tf", "")
	runGit(t, dir, "add", ".")
	runGit(t, dir, "commit", "-q", "-m", "valid")
	return dir, runGit(t, dir, "rev-parse", "HEAD")
}

func execute(t *testing.T, e *cmdenv.Env, args ...string) error {
	t.Helper()
	c := New(e)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	return c.ExecuteContext(t.Context())
}

// TestSyncOfADirectory checks that a connected app is synced at the local commit and that the
// files of another app are uploaded, but neither before the config is valid and committed.
func TestSyncOfADirectory(t *testing.T) {
	connected := api.App{ID: "app_1", Name: "shop", Repository: "https://git.example/shop"}
	uploaded := api.App{ID: "app_1", Name: "shop"}
	for name, c := range map[string]struct {
		app    api.App
		args   []string
		change func(dir string)
		fault  *api.Problem
		code   int
		says   string
		commit bool // the request names the local commit
		upload bool
	}{
		"connected": {app: connected, commit: true},
		"by another name": {app: api.App{ID: "app_1", Name: "other", Repository: "r"}, args: []string{"--app", "other"},
			commit: true},
		"uploaded": {app: uploaded, upload: true},
		"uploaded, unsaved": {app: uploaded, change: func(dir string) { write(t, dir, "apps/shop/notes.md", "#\n") },
			upload: true},
		"not committed": {app: connected, change: func(dir string) { write(t, dir, "apps/shop/notes.md", "#\n") },
			code: exitcode.Usage, says: "notes.md differs from commit"},
		"not pushed": {app: connected, commit: true, fault: &api.Problem{Status: 409, Code: "unpushed",
			Title: "main is elsewhere"}, code: exitcode.Usage, says: "main is elsewhere"},
		"wrong config": {app: connected, change: func(dir string) {
			write(t, dir, "apps/shop/sandbox.toml",
				"x = \n")
		}, code: exitcode.Usage},
		"no such app": {app: api.App{Name: "else"}, code: exitcode.Usage, says: "nuon apps create shop"},
		"no such app, by flag": {app: api.App{Name: "else"}, args: []string{"--app", "other"}, code: exitcode.Usage,
			says: "nuon apps create other"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, commit := valid(t)
			if c.change != nil {
				c.change(dir)
			}
			p := &plane{app: c.app, fault: c.fault, now: api.Sync{App: c.app}}
			e := p.start(t)
			err := execute(t, e, append(c.args, "--no-wait", dir+"/apps/shop")...)
			if exitcode.CodeOf(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("ended with %v, want code %d and %q\n%v", err, c.code, c.says, e.Console.Err)
			}
			if (p.sync != nil) != c.commit || c.commit && p.sync.Commit != commit {
				t.Errorf("asked for %+v", p.sync)
			}
			if (p.files != nil) != c.upload || c.upload && p.files["metadata.toml"] == "" {
				t.Errorf("uploaded %v", p.files)
			}
		})
	}
}

// TestSyncOfWhatWasPushed checks that with --app alone the directory does not matter.
func TestSyncOfWhatWasPushed(t *testing.T) {
	t.Chdir(t.TempDir())
	p := &plane{app: api.App{ID: "app_1", Name: "shop", Repository: "r"}}
	if err := execute(t, p.start(t), "--app", "shop", "--no-wait"); err != nil {
		t.Fatal(err)
	}
	if p.sync == nil || p.sync.Commit != "" {
		t.Errorf("asked for %+v", p.sync)
	}
}

// TestSyncPrintsWhatIs checks that the result is printed as data, too, also with a
// nonzero exit code.
func TestSyncPrintsWhatIs(t *testing.T) {
	p := &plane{app: api.App{ID: "app_1", Name: "shop", Repository: "r"}, now: state(true, "waiting_for_approval")}
	e := p.start(t)
	e.Console.Output = "json"
	if err := execute(t, e, "--app", "shop", "--wait"); exitcode.CodeOf(err) != exitcode.Waiting {
		t.Errorf("ended with %v", err)
	}
	var got api.Sync
	if err := json.Unmarshal([]byte(e.Console.Out.(*strings.Builder).String()), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p.now, got); d != "" {
		t.Error(d)
	}
}
