package status

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// workflowsOf starts a fake control plane that answers with a running workflow of ten components for every id but
// ended, whose workflow has ended, and forgotten, which is unknown. It returns the number of requests.
func workflowsOf(t *testing.T) (client *apiclient.Client, requests *int) {
	t.Helper()
	requests = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests++
		id := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if id == "forgotten" {
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(api.Problem{Status: http.StatusNotFound, Code: "not_found"})
			return
		}
		one := api.Workflow{ID: id, Kind: api.WorkflowKindDeploy, Number: 3, App: "shop", Install: id + "\x1b[2J",
			Status: api.WorkflowStatusRunning, CreatedAt: earlier(time.Minute)}
		if id == "ended" {
			one.Status = api.WorkflowStatusSucceeded
		}
		for n := range 10 {
			status := api.StepStatusSucceeded
			if n == 7 {
				status = api.StepStatusRunning
			}
			one.Steps = append(one.Steps, api.Step{ID: fmt.Sprint(n), Kind: api.StepKindApply, Status: status,
				Component: fmt.Sprintf("part-%d", n), StartedAt: earlier(30 * time.Second)})
		}
		_ = json.NewEncoder(w).Encode(one)
	}))
	t.Cleanup(server.Close)
	client, err := apiclient.New(contexts.Context{URL: server.URL, Token: "tok"})
	if err != nil {
		t.Fatal(err)
	}
	return client, requests
}

// TestRunning checks which workflows `nuon status --watch` shows, in few rows, and what it prints after Ctrl-C.
func TestRunning(t *testing.T) {
	runs := func(id string, status api.InstallSummaryStatus, since time.Duration) api.InstallSummary {
		return install("shop", id, status, func(i *api.InstallSummary) {
			i.LastWorkflow = api.WorkflowRef{ID: id, Status: "running", CreatedAt: earlier(since)}
		})
	}
	for name, c := range map[string]struct {
		installs  []api.InstallSummary
		want      []string // ids of the workflows
		more      int
		continues string
	}{
		"nothing": {[]api.InstallSummary{install("shop", "acme", "current")}, nil, 0, ""},
		"one": {[]api.InstallSummary{runs("a", "deploying", 0)}, []string{"a"}, 0,
			"stopped watching: deploy 3 of shop/a [2J continues with apply part-7\n" +
				"  nuon status --watch --app shop   to watch again\n  nuon workflows watch a           to follow it\n"},
		"one that has ended, and a forgotten install": {[]api.InstallSummary{runs("ended", "deploying", 0),
			runs("forgotten", "deploying", 0)}, nil, 0, ""},
		"many": {[]api.InstallSummary{runs("asks", "waiting_for_approval", 0), runs("old", "deploying", time.Hour),
			runs("a", "deploying", time.Second), runs("b", "deploying", time.Minute), runs("c", "behind", time.Minute)},
			[]string{"a", "b", "c"}, 2,
			"stopped watching: deploy 3 of shop/a [2J continues with apply part-7; 4 other workflows continue\n" +
				"  nuon status --watch --app shop         to watch again\n" +
				"  nuon workflows list --status running   to list them\n"},
	} {
		t.Run(name, func(t *testing.T) {
			client, requests := workflowsOf(t)
			got, err := snapshot{installs: c.installs}.running(t.Context(), client)
			if err != nil || got.more != c.more || len(got.workflows) != len(c.want) || *requests > shownWorkflows {
				t.Fatalf("%d workflows and %d more with %d requests: %v", len(got.workflows), got.more, *requests, err)
			}
			var text strings.Builder
			if err := got.print(&text, noon); err != nil {
				t.Fatal(err)
			}
			for i, id := range c.want {
				if got.workflows[i].ID != id {
					t.Errorf("workflow %d is %s, want %s", i, got.workflows[i].ID, id)
				}
				head := "deploy 3 of shop/" + id + " [2J, running for 1m:\n"
				if !strings.Contains(text.String(), head) {
					t.Errorf("no %q in\n%s", head, text.String())
				}
			}
			if rows := strings.Count(text.String(), "\n"); rows > (shownWorkflows)*(shownSteps+2)+2 {
				t.Errorf("%d rows:\n%s", rows, text.String())
			}
			if n := strings.Count(text.String(), "part-7"); n != len(c.want) {
				t.Errorf("the running step is shown %d times:\n%s", n, text.String())
			}
			var after strings.Builder
			got.continues(&console.Console{Err: &after}, options{app: "shop"})
			if after.String() != c.continues {
				t.Errorf("after Ctrl-C:\n%s, want\n%s", after.String(), c.continues)
			}
		})
	}
}
