package control_test

import (
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/api/ratelimit"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// TestAListAsksAFixedNumberOfQueries checks each list of the document with few rows and with many.
func TestAListAsksAFixedNumberOfQueries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := w.metered()
	w.one.fill()
	w.one.fillStates()
	w.manyRows(2)
	w.connectApps()
	viewer := w.one.token["admin"]
	w.status(viewer) // records the first use of the token
	count := func(path string) (int64, int) {
		// The first time, a config or a token's use may be read or written as well, and is cached
		// then.
		least, rows := int64(math.MaxInt64), 0
		for range 3 {
			before := asked.Statements()
			got := w.call(viewer, http.MethodGet, path, nil)
			if got.Status != http.StatusOK {
				t.Fatalf("%s: %d %s", path, got.Status, got.Body)
			}
			least, rows = min(least, asked.Statements()-before), items(got)
		}
		return least, rows
	}
	few, rows := map[string]int64{}, map[string]int{}
	var lists []string
	for _, op := range operations(t) {
		if !op.has("limit") {
			continue
		}
		path := op.Path
		for _, p := range op.inPath() {
			path = strings.Replace(path, "{"+p.Name+"}", own(w.one, p), 1)
		}
		if op.ID == "listBuilds" {
			path += "?app=" + w.one.ids["app"]
		}
		lists = append(lists, path)
		few[path], rows[path] = count(path)
	}
	if len(lists) < 9 {
		t.Fatalf("only the lists %v are looked at", lists)
	}
	w.manyRows(60)
	w.connectApps()
	for _, path := range lists {
		many, n := count(path)
		if many != few[path] {
			t.Errorf("%s asked %d queries for %d rows, and %d for %d", path, few[path], rows[path], many, n)
		}
		if many == 0 || n < rows[path] {
			t.Errorf("%s: %d queries, %d rows", path, many, n)
		}
	}
}

// connectApps connects every app to the seeded repository, gives it a version, and moves all
// installs to one app. (What the status of an app's installs depends on is read once per app.)
func (w *world) connectApps() {
	w.exec("update installs set app_id = $1, name = id where org_id = $2 and name = 'more'",
		w.one.ids["app"], w.one.org.ID)
	w.exec("update apps set watch_id = $1, version_id = coalesce(version_id, $2) where org_id = $3",
		w.one.ids["watch"], w.one.ids["version"], w.one.org.ID)
}

// metered makes the control API reach Postgres through a proxy that counts statements.
func (w *world) metered() *storetest.StatementCounter {
	w.Helper()
	meter := storetest.NewStatementCounter(w, w.dsn)
	w.store.Close()
	var err error
	w.store, err = store.Open(w.Context(), meter.DSN)
	must(w, err)
	w.Cleanup(w.store.Close) // before the proxy is closed
	w.serve(ratelimit.Options{Rate: 10_000})
	return meter
}

// own returns a value that names an object of the tenant in a path.
func own(o *tenant, p parameter) string {
	if values := keys(o)[p.Name]; len(values) > 0 {
		return values[0]
	}
	if len(p.Enum) > 0 {
		return p.Enum[0]
	}
	return o.ids["app"]
}
