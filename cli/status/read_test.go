package status

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// TestListsAreReadConcurrently checks that every list is requested before any has been answered, and
// that of several errors the app's own is returned, because the others fail for the same reason.
func TestListsAreReadConcurrently(t *testing.T) {
	lists := []string{"/v1/apps/gone", "/v1/installs", "/v1/approvals", "/v1/break-glass", "/v1/system"}
	var arrived sync.WaitGroup
	arrived.Add(len(lists))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Done()
		arrived.Wait()
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"status": 404, "code": "not_found", "title": "there is no %s"}`, r.URL.Path)
	}))
	t.Cleanup(server.Close)
	t.Setenv("NUON_URL", server.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	if out, err := execute(t, "--app", "gone"); err == nil || !strings.Contains(err.Error(), "there is no /v1/apps/gone") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestManyInstallsInTheirOwnStates checks that the time of a status grows with the number of installs, and not with
// its square, if each has an app, a runner and an item to itself.
func TestManyInstallsInTheirOwnStates(t *testing.T) {
	fleet := func(n int) snapshot {
		s := snapshot{apps: []api.App{{Name: "shop"}, {Name: "other"}}}
		for i := range n {
			runner, app := fmt.Sprintf("runner-%05d", i), fmt.Sprintf("app-%05d", i)
			s.installs = append(s.installs, install("shop", fmt.Sprintf("customer-%05d", i), "stalled",
				func(made *api.InstallSummary) { made.Release, made.Runner, made.RunnerOnline = i+1, runner, false }),
				install(app, "only", "waiting"))
			s.runners = append(s.runners, api.Runner{Name: runner, Kind: "install", Registered: true})
			s.apps = append(s.apps, api.App{Name: app})
		}
		s.installs = append(s.installs, install("other", "customer-00007", "stalled"))
		return s
	}
	small, large := fleet(2000), fleet(16_000)
	testtime.CheckGrowth(t, 30, "the status of 8 times as many installs", func() { small.status(noon) },
		func() { large.status(noon) })
	named := 0
	for _, item := range small.status(noon).Waiting {
		if strings.Contains(item.Command, "shop/customer-00007") || strings.Contains(item.Command, "other/customer-00007") {
			named++
		}
	}
	if named == 0 {
		t.Error("an install whose name two apps have is not named with its app")
	}
}
