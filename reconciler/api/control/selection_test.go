package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// installPages follows a list to its end and returns the names on each page.
func (w *world) installPages(p api.ListInstallsParams) (pages []string) {
	w.Helper()
	for {
		got, err := w.one.as("viewer").ListInstallsWithResponse(w.Context(), &p)
		must(w, err)
		if got.JSON200 == nil {
			w.Fatalf("%s", got.Body)
		}
		var names []string
		for _, i := range got.JSON200.Items {
			names = append(names, i.App+"/"+i.Name)
		}
		pages = append(pages, strings.Join(names, " "))
		if p.Cursor = got.JSON200.Next; p.Cursor == "" {
			return pages
		}
	}
}

// TestListInstalls checks the order, by app and name, and that a page with a filter is a page of
// matches.
func TestListInstalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	here, _ := w.one.runner("here", "install", false)
	there, _ := w.one.runner("there", "install", false)
	for _, app := range []string{"zoo", "bar"} { // in the order of creation, which differs from that of the list
		appID := w.one.app(app, appconfig.App{})
		for i := range 6 {
			runner := here.ID
			if i%2 == 0 {
				runner = there.ID
			}
			w.one.add("installs", "id", fmt.Sprintf("ins_%d%s", 9-i, app), "app_id", appID, "name",
				fmt.Sprintf("i%d", i), "runner_id", runner,
				"labels", fmt.Sprintf(`{"n": "%d", "app": "%s"}`, i%3, app), "desired_presence",
				map[bool]string{true: "absent", false: "present"}[i > 3])
		}
	}
	for _, c := range []struct {
		name string
		ask  api.ListInstallsParams
		want []string
	}{
		{
			"all", api.ListInstallsParams{Limit: 7},
			[]string{"bar/i0 bar/i1 bar/i2 bar/i3 bar/i4 bar/i5 zoo/i0", "zoo/i1 zoo/i2 zoo/i3 zoo/i4 zoo/i5"},
		},
		{
			"of an app", api.ListInstallsParams{App: "zoo", Limit: 6},
			[]string{"zoo/i0 zoo/i1 zoo/i2 zoo/i3 zoo/i4 zoo/i5"},
		},
		{
			"on a runner", api.ListInstallsParams{Runner: "here", Limit: 4},
			[]string{"bar/i1 bar/i3 bar/i5 zoo/i1", "zoo/i3 zoo/i5"},
		},
		{"with a label", api.ListInstallsParams{Label: "n=1"}, []string{"bar/i1 bar/i4 zoo/i1 zoo/i4"}},
		{
			"with a label and on a runner",
			api.ListInstallsParams{Label: "n=1", Runner: there.ID, App: "bar"}, []string{"bar/i4"},
		},
		{"that are gone", api.ListInstallsParams{Status: "deprovisioned", Limit: 3},
			[]string{"bar/i4 bar/i5 zoo/i4", "zoo/i5"}},
		{
			"that are gone, just a page", api.ListInstallsParams{Status: "deprovisioned", Limit: 4},
			[]string{"bar/i4 bar/i5 zoo/i4 zoo/i5"},
		},
		{"that are stalled", api.ListInstallsParams{Status: "stalled"}, []string{""}},
		{"with no such label", api.ListInstallsParams{Label: "n=7"}, []string{""}},
	} {
		if diff := cmp.Diff(c.want, w.installPages(c.ask)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	for path, code := range map[string]string{
		"status=lost": "bad_status", "label=n": "bad_label", "label==1": "bad_label",
	} {
		w.refusedAs(w.call(w.one.token["viewer"], http.MethodGet, "/v1/installs?"+path, nil),
			http.StatusUnprocessableEntity, code)
	}
	w.refusedAs(w.call(w.one.token["viewer"], http.MethodGet, "/v1/installs?runner=none", nil),
		http.StatusNotFound, "not_found")
}

// TestAMatchAfterManyOthers checks that it is found, however many installs have another status.
func TestAMatchAfterManyOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.one.app("hello", appconfig.App{})
	r, _ := w.one.runner("acme", "install", false)
	w.exec("insert into installs (org_id, id, app_id, name, runner_id, desired_presence) select $1, 'ins_' || i, $2, "+
		"'i' || lpad(i::text, 4, '0'), $3, case when i = 1001 then 'absent' else 'present' end from "+
		"generate_series(1, 1001) i",
		w.one.org.ID, app, r.ID)
	if diff := cmp.Diff(
		[]string{"hello/i1001"}, w.installPages(api.ListInstallsParams{Status: "deprovisioned", Limit: 1}),
	); diff != "" {
		t.Error(diff)
	}
}

// TestSummaries checks that they include runner, health, version and the last workflow.
func TestSummaries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	look := func() api.InstallSummary {
		got, err := w.one.as("viewer").ListInstallsWithResponse(t.Context(), nil)
		must(t, err)
		if got.JSON200 == nil || len(got.JSON200.Items) != 1 {
			t.Fatalf("%s", got.Body)
		}
		return got.JSON200.Items[0]
	}
	i := look()
	if i.Runner != w.one.mark+"-runner" || i.RunnerOnline || i.Health != "unknown" || i.Latest != 1 ||
		i.ManagedBy != "manual" || i.LastWorkflow.ID != w.one.ids["workflow"] ||
		i.LastWorkflow.Kind != "deploy" || i.LastWorkflow.Number != 1 {
		t.Errorf("%+v", i)
	}
	w.exec("update runners set last_seen = now(), key_hash = 'x', registered_at = now()")
	w.exec("update components set problem = ''")
	w.exec("update install_components set behind = true") // as a reconcile of it records
	if i := look(); !i.RunnerOnline || i.Health != "attention" || !cmp.Equal(i.Behind, []string{w.one.mark + "-web"}) {
		t.Errorf("%+v", i)
	}
}
