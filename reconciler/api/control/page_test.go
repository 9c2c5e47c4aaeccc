package control_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/id"
)

// TestPages checks that every list with pages returns every row once and in the same order for any
// page size, also when a row that was returned is deleted or a new one is added.
func TestPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.manyRows(25)
	for _, l := range []struct {
		path, field string
		order       func(a, b string) int
		rows        int
	}{
		{"/v1/apps", "name", strings.Compare, 26},
		{"/v1/installs", "app", strings.Compare, 26},
		{"/v1/runners", "name", strings.Compare, 26},
		{"/v1/approvals?brief=true", "id", func(a, b string) int { return strings.Compare(b, a) }, 26},
		{"/v1/approvals", "id", func(a, b string) int { return strings.Compare(b, a) }, 26},
		{"/v1/workflows", "id", func(a, b string) int { return strings.Compare(b, a) }, 26},
		{
			"/v1/workflows?install=" + w.one.ids["install"] + "&status=failed", "id",
			func(a, b string) int { return strings.Compare(b, a) }, 25,
		},
		{"/v1/builds?app=" + w.one.ids["app"], "id", func(a, b string) int { return strings.Compare(b, a) }, 26},
		{"/v1/apps/" + w.one.ids["app"] + "/versions", "id", nil, 26},
	} {
		whole, _ := w.pages(l.path, 500, l.field)
		if len(whole) != l.rows {
			t.Errorf("%s has %d rows, want %d", l.path, len(whole), l.rows)
		}
		if l.order != nil && !slices.IsSortedFunc(whole, l.order) {
			t.Errorf("%s is not in order: %v", l.path, whole)
		}
		for _, size := range []int{1, 7, 13, 26} {
			got, calls := w.pages(l.path, size, l.field)
			if !slices.Equal(got, whole) {
				t.Errorf("%s in pages of %d: %v\nwant %v", l.path, size, got, whole)
			}
			if want := (l.rows + size - 1) / size; calls != want {
				t.Errorf("%s in pages of %d took %d calls, want %d", l.path, size, calls, want)
			}
		}
	}
	for limit, want := range map[string]int{"0": 26, "-3": 26, "100000": 26, "2": 2, "": 26} {
		if got := items(
			w.call(w.one.token["viewer"], http.MethodGet, "/v1/apps?limit="+limit, nil),
		); got != want && limit != "" {
			t.Errorf("limit=%s gives %d rows, want %d", limit, got, want)
		}
	}
	w.refusedAs(w.call(w.one.token["viewer"], http.MethodGet, "/v1/apps?limit=many", nil),
		http.StatusBadRequest, "bad_request")
}

// TestPagesWhileRowsComeAndGo checks that a cursor stays valid when the row that it names is
// deleted, and that new rows do not displace others.
func TestPagesWhileRowsComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 10 {
		w.one.add("apps", "id", id.New("app"), "name", fmt.Sprintf("app-%02d", i))
	}
	first, next := w.page("/v1/apps", 4, "", "name")
	w.exec("delete from apps where name = 'app-03'")
	w.one.add("apps", "id", id.New("app"), "name", "app-00-new")
	second, _ := w.page("/v1/apps", 4, next, "name")
	if got := append(first, second...); !slices.Equal(got, []string{
		"app-00", "app-01", "app-02", "app-03", "app-04", "app-05", "app-06", "app-07",
	}) {
		t.Errorf("%v", got)
	}
}

// TestNewestFirstInEveryCollation checks a database that sorts text by a language's rules and not
// by bytes, as one in production may. There "~" comes before letters.
func TestNewestFirstInEveryCollation(t *testing.T) {
	t.Parallel()
	for _, collation := range []string{"C", "en-x-icu", "da-x-icu"} {
		w := newWorld(t)
		w.one.fill()
		for _, table := range []string{"workflows", "builds"} {
			w.exec(fmt.Sprintf(`alter table %s alter column id type text collate "%s"`, table, collation))
		}
		for _, path := range []string{"/v1/workflows", "/v1/builds?app=" + w.one.ids["app"]} {
			if got := w.call(w.one.token["viewer"], http.MethodGet, path, nil); items(got) != 1 {
				t.Errorf("%s on a database that sorts as %s: %d %s", path, collation, got.Status, got.Body)
			}
		}
	}
}

// manyRows seeds n more rows of everything that has pages.
func (w *world) manyRows(n int) {
	o := w.one
	for i := w.more; i < w.more+n; i++ {
		app := id.New("app")
		o.add("apps", "id", app, "name", fmt.Sprintf("more-%02d", i))
		o.add("app_versions", "id", id.New("ver"), "app_id", o.ids["app"], "number", i+2, "digest", fmt.Sprint(i),
			"config", `{}`, "reason", "r")
		o.add("installs", "id", id.New("ins"), "app_id", app, "name", "more", "runner_id", o.ids["runner"])
		o.add("runners", "id", id.New("run"), "name", fmt.Sprintf("more-%02d", i), "kind", "install")
		wfl, stp, pln := id.New("wfl"), id.New("stp"), id.New("pln")
		o.add("workflows", "id", wfl, "install_id", o.ids["install"], "number", i+2, "kind", "deploy", "status",
			"failed", "reason", "r", "requested_by", "p")
		o.add("steps", "id", stp, "workflow_id", wfl, "position", 0, "kind", "plan", "status", "succeeded")
		o.add("plans", "id", pln, "step_id", stp, "workflow_id", wfl, "install_id", o.ids["install"],
			"install_component_id", o.ids["install_component"],
			"component", "web", "status", "ready", "desired_digest", "d", "basis", `{}`, "basis_digest", "b",
			"bundle_digest", "b", "report", `{}`,
			"report_digest", "r", "content_digest", "c", "destructive", false, "target", `{}`)
		o.add("approvals", "id", id.New("apr"), "plan_id", pln, "step_id", stp, "workflow_id", wfl,
			"install_id", o.ids["install"],
			"content_digest", "c", "status", "waiting")
		input := id.New("inp")
		o.add("component_inputs", "id", input, "component_id", o.ids["component"], "digest", fmt.Sprint(i),
			"recipe", `{}`, "reason", "r")
		o.add("builds", "id", id.New("bld"), "component_id", o.ids["component"], "input_id", input, "number", i+2,
			"status", "succeeded",
			"repository", "r", "commit", "c", "reason", "r")
	}
	w.more += n
}

// pages follows a list to its end.
func (w *world) pages(path string, size int, field string) (all []string, calls int) {
	w.Helper()
	cursor := ""
	for {
		calls++
		got, next := w.page(path, size, cursor, field)
		all = append(all, got...)
		if next == "" || calls > 100 {
			return all, calls
		}
		cursor = next
	}
}

func (w *world) page(path string, size int, cursor, field string) (values []string, next string) {
	w.Helper()
	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}
	got := w.call(w.one.token["viewer"], http.MethodGet,
		fmt.Sprintf("%s%slimit=%d&cursor=%s", path, join, size, url.QueryEscape(cursor)), nil)
	var list struct {
		Items []map[string]any
		Next  string
	}
	if err := json.Unmarshal([]byte(got.Body), &list); err != nil || got.Status != http.StatusOK {
		w.Fatalf("%s: %d %s", path, got.Status, got.Body)
	}
	for _, i := range list.Items {
		values = append(values, fmt.Sprint(i[field]))
	}
	return values, list.Next
}
