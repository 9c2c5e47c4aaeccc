package builds

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestRefresh checks what is requested, that the command waits until the refresh has ended, and what
// it prints then.
func TestRefresh(t *testing.T) {
	change := api.ModuleChange{Key: "vpc", Before: api.ResolvedModule{Key: "vpc", Version: "1.0.0", Tree: "sha256:aa"},
		After: api.ResolvedModule{Key: "vpc", Version: "1.1.0", Tree: "sha256:bb"}}
	tag := api.ModuleChange{Key: "vpc.text", After: api.ResolvedModule{Key: "vpc.text", Commit: strings.Repeat("c", 40)}}
	for name, c := range map[string]struct {
		args    string
		ended   api.ModuleRefresh
		request api.NewModuleRefresh
		prints  string
		err     string
	}{
		"changes": {"shop web", api.ModuleRefresh{
			Status: api.RefreshSucceeded, Release: 4,
			Components: []api.RefreshedComponent{{Component: "web", Build: "bld_2", Changes: []api.ModuleChange{change, tag}}},
		},
			api.NewModuleRefresh{Components: []string{"web"}}, "web\tvpc\t1.0.0 aa\t1.1.0 bb\tbld_2\n" +
				"web\tvpc.text\t-\tcccccccccccc\tbld_2\nrelease 4 has these changes, as soon as they are built\n", ""},
		"dry run": {"shop --dry-run", api.ModuleRefresh{Status: api.RefreshSucceeded, DryRun: true,
			Components: []api.RefreshedComponent{{Component: "web", Changes: []api.ModuleChange{change}}}},
			api.NewModuleRefresh{DryRun: true}, "web\tvpc\t1.0.0 aa\t1.1.0 bb\t\nnothing was changed; without --dry-run " +
				"this is built and released\n", ""},
		"nothing": {"shop", api.ModuleRefresh{Status: api.RefreshSucceeded}, api.NewModuleRefresh{},
			"nothing changed: the images and modules of shop are the newest that its config and code allow\n", ""},
		"failed": {"shop", api.ModuleRefresh{Status: api.RefreshFailed, Error: "web: the registry is down"},
			api.NewModuleRefresh{}, "", "nothing was changed: web: the registry is down"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			var got api.NewModuleRefresh
			polls := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.Method+" "+r.URL.Path)
				answer := api.ModuleRefresh{ID: "mrf_1", App: "shop", Status: api.RefreshRunning}
				if r.Method == http.MethodPost {
					_ = json.NewDecoder(r.Body).Decode(&got)
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusCreated)
				} else if polls++; polls > 1 {
					answer = c.ended
					answer.ID, answer.App = "mrf_1", "shop"
				}
				_ = json.NewEncoder(w).Encode(answer)
			}))
			defer s.Close()
			t.Setenv("NUON_URL", s.URL)
			t.Setenv("NUON_TOKEN", "tok")
			t.Setenv("NUON_CONTEXT", "")
			var out, remarks strings.Builder
			command := New(&cmdenv.Env{Console: &console.Console{Out: &out, Err: &remarks, Output: "table"}})
			command.SetArgs(append([]string{"refresh"}, strings.Fields(c.args)...))
			command.SilenceErrors, command.SilenceUsage = true, true
			err := command.ExecuteContext(t.Context())
			if (err == nil) != (c.err == "") || err != nil && (exitcode.CodeOf(err) != exitcode.Failed || err.Error() != c.err) {
				t.Errorf("ended with %v, want %q", err, c.err)
			}
			if len(got.Components) == 0 {
				got.Components = nil
			}
			if diff := cmp.Diff(c.request, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.prints, out.String()); diff != "" {
				t.Error(diff)
			}
			want := []string{"POST /v1/apps/shop/module-refreshes", "GET /v1/apps/shop/module-refreshes/mrf_1",
				"GET /v1/apps/shop/module-refreshes/mrf_1"}
			if diff := cmp.Diff(want, asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCancelRefresh(t *testing.T) {
	var asked string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.Path
		_ = json.NewEncoder(w).Encode(api.ModuleRefresh{ID: "mrf_1", App: "shop", Status: api.RefreshRunning})
	}))
	defer s.Close()
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	var out strings.Builder
	command := New(&cmdenv.Env{Console: &console.Console{Out: &out, Err: &out, Output: "table"}})
	command.SetArgs([]string{"cancel-refresh", "shop", "mrf_1"})
	err := command.ExecuteContext(t.Context())
	if err != nil || asked != "POST /v1/apps/shop/module-refreshes/mrf_1/cancel" ||
		out.String() != "refresh mrf_1 of shop is being cancelled; it changes nothing\n" {
		t.Errorf("%v, asked %s, printed %q", err, asked, out.String())
	}
}
