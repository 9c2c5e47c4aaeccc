package control_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/appsync"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// since returns what a sync reports about the installs that changed since a mark, or about all.
func (w *world) since(app, mark string) (names []string, next string) {
	w.Helper()
	got, err := w.one.as("viewer").GetSyncWithResponse(w.Context(), app,
		&api.GetSyncParams{Installs: true, Since: mark})
	must(w, err)
	if got.JSON200 == nil || got.JSON200.Mark == "" {
		w.Fatalf("%d: %.300s", got.StatusCode(), got.Body)
	}
	for _, i := range got.JSON200.Installs {
		names = append(names, i.Name)
	}
	return names, got.JSON200.Mark
}

// mark returns the mark of a sync after which nothing changed. Transactions of other tests, which
// use the same server, may delay it for a while.
func (w *world) mark(app string) (mark string) {
	w.Helper()
	testtime.Until(w, "nothing changed since a mark", func() bool {
		_, now := w.since(app, "")
		changed, _ := w.since(app, now)
		mark = now
		return len(changed) == 0
	})
	return mark
}

// TestSyncTellsWhatChanged checks that a sync with a mark returns only what changed since: an
// install, or a workflow of it, also one that was written before the mark and committed after it.
func TestSyncTellsWhatChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.one.app("hello", appconfig.App{})
	other := w.one.app("other", appconfig.App{})
	r, _ := w.one.runner("acme", "install", false)
	w.exec("insert into installs (org_id, id, app_id, name, runner_id) select $1, 'ins_' || i, $2, 'i' || i, $3 from "+
		"generate_series(1, 9) i", w.one.org.ID, app, r.ID)
	w.exec("insert into installs (org_id, id, app_id, name, runner_id) values ($1, 'ins_other', $2, 'other', $3)",
		w.one.org.ID, other, r.ID)
	expect := func(mark string, want ...string) {
		t.Helper()
		if got, _ := w.since("hello", mark); !slices.Equal(got, want) {
			t.Errorf("since %q %q changed, want %q", mark, got, want)
		}
	}
	if all, _ := w.since("hello", ""); len(all) != 9 {
		t.Fatalf("%q", all)
	}
	first := w.mark("hello")
	w.exec("update installs set labels = '{\"a\": \"b\"}' where id in ('ins_3', 'ins_other')")
	expect(first, "i3")
	mark := w.mark("hello")
	w.exec(`insert into workflows (org_id, id, install_id, number, kind, status, reason, requested_by) values ($1, 'wfl_5', 'ins_5', 1, 'deploy', 'running', 'r', 'nuon')`, w.one.org.ID)
	expect(mark, "i5")
	mark = w.mark("hello")
	w.exec("update workflows set revision = revision + 1 where id = 'wfl_5'")
	expect(mark, "i5")
	expect(first, "i3", "i5")

	open, err := w.seed.Begin(t.Context())
	must(t, err)
	_, err = open.Exec(t.Context(), "update installs set desired_presence = 'absent' where id = 'ins_7'")
	must(t, err)
	mark = w.mark("hello") // not visible yet
	must(t, open.Commit(t.Context()))
	expect(mark, "i7")

	w.exec("alter table installs disable trigger installs_note_change")
	// As after a restore from another database.
	w.exec("update installs set changed = (1::bigint << 62) where id = 'ins_1'")
	expect(mark, "i7")
	for _, bad := range []string{"x", "-1", "0", "99999999999999999999"} {
		w.refusedAs(w.call(w.one.token["viewer"], http.MethodGet, "/v1/apps/hello/sync?installs=true&since="+bad, nil),
			http.StatusUnprocessableEntity, "bad_mark")
	}
}

// TestSyncWaitsByWhatChanged checks that `nuon sync --wait` reads all installs of an app when it
// starts and when it ends, and in between only those that changed.
func TestSyncWaitsByWhatChanged(t *testing.T) {
	w := newWorld(t)
	w.one.fill()
	r, _ := w.one.runner("fleet", "install", false)
	w.exec("insert into apps (org_id, id, name, watch_id) values ($1, 'app_fleet', 'fleet', $2)",
		w.one.org.ID, w.one.ids["watch"])
	w.exec(`insert into installs (org_id, id, app_id, name, runner_id, desired_presence)
		select $1, 'ins_' || i, 'app_fleet', 'i' || i, $2, case when i < 3 then 'present' else 'absent' end from generate_series(1, 300) i`, w.one.org.ID, r.ID)
	behind, err := url.Parse(w.url)
	must(t, err)
	w.mark("fleet")
	var whole, parts, told atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(behind)
	proxy.ModifyResponse = func(answer *http.Response) error {
		if q := answer.Request.URL.Query(); q.Get("since") == "" && q.Get("installs") == "true" {
			whole.Add(1)
			return nil
		} else if q.Get("since") == "" {
			return nil
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body = io.NopCloser(strings.NewReader(string(body)))
		told.Add(int64(strings.Count(string(body), `"id":"ins_`)))
		switch parts.Add(1) { // concurrent events
		case 3:
			w.exec("update installs set desired_presence = 'absent' where id = 'ins_1'")
		case 6:
			w.exec("update installs set desired_presence = 'absent' where id = 'ins_2'")
		}
		return err
	}
	front := httptest.NewServer(proxy)
	defer front.Close()
	t.Setenv("NUON_URL", front.URL)
	t.Setenv("NUON_TOKEN", w.one.token["operator"])
	t.Setenv("NUON_CONTEXT", "")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	var out, remarks strings.Builder
	c := appsync.New(&cmdenv.Env{Console: &console.Console{Out: &out, Err: &remarks, Output: "table"}})
	c.SetArgs([]string{"--app", "fleet", "--wait"})
	c.SilenceErrors, c.SilenceUsage = true, true
	if err := c.ExecuteContext(t.Context()); exitcode.CodeOf(err) != exitcode.Done {
		t.Fatalf("%v\n%s", err, remarks.String())
	}
	if got := strings.Count(out.String(), "it is not deployed"); got != 300 {
		t.Errorf("%d of 300 installs are listed", got)
	}
	if whole.Load() != 2 || parts.Load() < 7 || told.Load() < 2 || told.Load() > 2*parts.Load() {
		t.Errorf("read all installs %d times, and %d times those that changed, which were %d",
			whole.Load(), parts.Load(), told.Load())
	}
}
