package control_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestAppsListWhatIsNotBuilt checks that the list of apps contains the components that cannot be
// built, and those whose newest build of their current input has not succeeded.
func TestAppsListWhatIsNotBuilt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.one.app("shop", hello("web"))
	builds := map[string][]string{
		"built": {"failed", "succeeded"}, "failing": {"failed", "failed"}, "retried": {"failed", "running"}, "fresh": nil,
		"broken": nil, "gone": {"failed"},
	}
	for name, statuses := range builds {
		component := "cmp_" + name
		w.one.component(app, component, name)
		for n, status := range statuses {
			id := fmt.Sprint("bld_", name, n+1)
			w.one.add("builds", "id", id, "component_id", component, "input_id", "inp_"+component, "number", n+1,
				"status", status, "repository", "r", "commit", "c", "reason", "r", "error", id+" "+status,
				"created_at", time.Now())
		}
	}
	w.exec("update components set problem = 'no such directory' where id = 'cmp_broken'")
	w.exec("update components set present = false where id = 'cmp_gone'")
	w.one.app("other", hello("web"))

	got, err := w.one.as("viewer").ListAppsWithResponse(t.Context(), nil)
	must(t, err)
	var lines []string
	for _, a := range got.JSON200.Items {
		for _, c := range a.Unbuilt {
			lines = append(lines, fmt.Sprint(a.Name, " ", c.Name, " ", c.Problem, c.Build.Status, " ", c.Build.Error))
		}
	}
	want := []string{"shop broken no such directory ", "shop failing failed bld_failing2 failed",
		"shop retried running bld_retried2 running"}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("not built are\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// TestWhenImagesAreResolvedAgain: an app shows its last refresh that was no dry run, and when the next is due.
func TestWhenImagesAreResolvedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.one.app("shop", hello("web"))
	get := func() api.ImageRefreshes {
		t.Helper()
		got, err := w.one.as("viewer").GetAppWithResponse(t.Context(), "shop")
		must(t, err)
		return got.JSON200.Images
	}
	if got := get(); got != (api.ImageRefreshes{}) {
		t.Errorf("before the first one: %+v", got)
	}
	at := time.Now().Truncate(time.Second)
	for n, dry := range []bool{false, true} {
		w.one.add("module_refreshes", "id", fmt.Sprint("mrf_", n), "app_id", app, "status", "failed", "dry_run", dry,
			"requested_by", "the schedule", "error", fmt.Sprint("no tag ", n), "created_at", at.Add(time.Duration(n)*time.Hour),
			"ended_at", at)
	}
	w.one.add("due", "kind", "images", "id", app, "at", at.Add(2*time.Hour))
	if got := get(); !got.LastAt.Equal(at) || got.LastError != "no tag 0" || !got.NextAt.Equal(at.Add(2*time.Hour)) {
		t.Errorf("got %+v", got)
	}
}
