package complete

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// plane returns the environment of a fake control plane that has at least one object of each kind.
func plane(t *testing.T) *cmdenv.Env {
	t.Helper()
	answers := map[string]any{
		"/v1/apps": api.AppList{
			Items: []api.App{{Name: "hello", Repository: "https://git/x"}, {Name: "shop"}}},
		"/v1/apps/hello/components": api.ComponentList{
			Items: []api.Component{{Name: "sandbox", Kind: "terraform_module"}, {Name: "web"}}},
		"/v1/apps/hello/config": api.AppConfig{
			Actions: []api.DeclaredAction{{Name: "migrate", Description: "moves\tthe data"}}},
		"/v1/apps/hello/variables": api.AppVariableList{Items: []api.AppVariable{{Name: "sender"}}},
		"/v1/apps/hello/releases": api.ReleaseList{
			Items: []api.Release{{Number: 3}, {Number: 2, Status: "complete"}, {Number: 1, Status: "complete"}}},
		"/v1/installs": api.InstallList{Items: []api.InstallSummary{
			{Name: "acme", App: "hello", Status: "current"}, {Name: "acme", App: "shop"}, {Name: "beta", App: "hello"},
			{Name: "bad\nname", App: "hello"},
		}},
		"/v1/installs/beta": map[string]any{"name": "beta", "app": "hello", "inputs": []api.InputValue{{Name: "size"}},
			"components": []api.InstallComponent{{Name: "web", Status: "behind"}, {Name: "api"}}},
		"/v1/workflows": api.WorkflowList{Items: []api.Workflow{
			{ID: "wfl_2", Install: "beta", App: "hello", Kind: "deploy", Status: "running"},
			{ID: "wfl_1", Install: "beta", App: "hello", Kind: "provision", Status: "succeeded"},
		}},
		"/v1/workflows/wfl_2": api.Workflow{ID: "wfl_2",
			Steps: []api.Step{{ID: "stp_1", Kind: "plan", Component: "web"}}},
		"/v1/approvals": api.ApprovalList{Items: []api.Approval{
			{App: "hello", Install: "beta", Component: "web", Reason: "because"},
			{App: "hello", Install: "acme", Component: "web"}, {App: "shop", Install: "acme", Component: "web"},
		}},
		"/v1/runners": api.RunnerList{Items: []api.Runner{{Name: "berlin", Kind: "install"}}},
		"/v1/builds": api.BuildList{
			Items: []api.Build{{ID: "bld_2", Component: "web", Number: 2, Status: "failed"},
				{ID: "bld_1", Component: "web", Number: 1, Status: "succeeded"}}},
		"/v1/repos":       api.RepoList{Items: []api.Repo{{ID: "rep_1", URL: "https://git/x", Ref: "main"}}},
		"/v1/credentials": api.CredentialList{Items: []api.Credential{{Name: "github"}}},
		"/v1/webhooks":    api.WebhookList{Items: []api.KnownWebhook{{ID: "whk_1"}}},
		"/v1/tokens":      api.TokenList{Items: []api.Token{{Name: "ci", Role: "ci"}}},
	}
	return behind(t, func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.Path]
		if !known {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
}

func behind(t *testing.T, answer http.HandlerFunc) *cmdenv.Env {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	return &cmdenv.Env{Console: &console.Console{Out: &strings.Builder{}, Err: &strings.Builder{}, Output: "table"}}
}

// TestSources checks the names and descriptions of each source.
func TestSources(t *testing.T) {
	e := plane(t)
	client, err := e.Client()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		source Source
		args   []string
		want   []string
	}{
		"apps":                  {Apps, nil, []string{"hello: https://git/x", "shop: "}},
		"components":            {Components, []string{"hello"}, []string{"sandbox: terraform_module", "web: "}},
		"components of nothing": {Components, nil, nil},
		"variables":             {AppVariables, []string{"hello"}, []string{"sender: "}},
		"variables of nothing":  {AppVariables, nil, nil},
		"installs": {Installs, nil,
			[]string{"hello/acme: current", "shop/acme: ", "beta: hello, ", "bad\nname: hello, "}},
		"components of installs": {InstallComponents, []string{"beta"}, []string{"web: behind", "api: "}},
		"inputs":                 {Inputs, []string{"beta"}, []string{"size=: "}},
		"actions":                {Actions, []string{"beta"}, []string{"migrate: moves\tthe data"}},
		"releases":               {Releases, []string{"beta"}, []string{"2: ", "1: "}},
		"releases of an app":     {ReleasesOf, []string{"hello"}, []string{"3: ", "2: ", "1: "}},
		"workflows": {Workflows, nil, []string{"latest:beta: deploy of hello/beta, running",
			"wfl_2: deploy of hello/beta, running", "wfl_1: provision of hello/beta, succeeded"}},
		"steps":                   {Steps, []string{"wfl_2"}, []string{"stp_1: plan web, "}},
		"steps of the latest one": {Steps, []string{"latest:beta"}, []string{"stp_1: plan web, "}},
		"approvals": {Approvals, nil,
			[]string{"beta/web: because", "hello/acme/web: ", "shop/acme/web: "}},
		"runners": {Runners, nil, []string{"berlin: install"}},
		"builds": {Builds, nil,
			[]string{"bld_2: build 2 of hello/web, failed", "bld_1: build 1 of hello/web, succeeded",
				"bld_2: build 2 of shop/web, failed", "bld_1: build 1 of shop/web, succeeded"}},
		"failed builds": {FailedBuilds, nil,
			[]string{"bld_2: build 2 of hello/web, failed", "bld_2: build 2 of shop/web, failed"}},
		"logs": {Logs, nil,
			[]string{"latest:beta: deploy of hello/beta, running", "wfl_2: deploy of hello/beta, running",
				"wfl_1: provision of hello/beta, succeeded", "bld_2: build 2 of hello/web, failed",
				"bld_1: build 1 of hello/web, succeeded", "bld_2: build 2 of shop/web, failed",
				"bld_1: build 1 of shop/web, succeeded"}},
		"repos":       {Repos, nil, []string{"rep_1: https://git/x main"}},
		"credentials": {Credentials, nil, []string{"github: "}},
		"webhooks":    {Webhooks, nil, []string{"whk_1: "}},
		"tokens":      {Tokens, nil, []string{"ci: ci"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := c.source(t.Context(), client, c.args)
			var got []string
			for _, n := range found {
				got = append(got, n.Name+": "+n.About)
			}
			if d := cmp.Diff(c.want, got); d != "" || err != nil {
				t.Errorf("%v\n%s", err, d)
			}
		})
	}
}

// offered returns what a shell receives.
func offered(t *testing.T, f cobra.CompletionFunc, args []string, word string) []string {
	t.Helper()
	c := &cobra.Command{}
	c.SetContext(t.Context())
	found, directive := f(c, args, word)
	if directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("the shell is told %v", directive)
	}
	return found
}

// TestPlaces checks that each argument is completed from its own source, filtered by the
// typed prefix, and never with file names.
func TestPlaces(t *testing.T) {
	e := plane(t)
	args, rest := Args(e, Installs, Actions), Rest(e, Installs, InstallComponents)
	for name, c := range map[string]struct {
		f    cobra.CompletionFunc
		args []string
		word string
		want []string
	}{
		"the first":               {args, nil, "", []string{"hello/acme\tcurrent", "shop/acme", "beta\thello, "}},
		"by its beginning":        {args, nil, "b", []string{"beta\thello, "}},
		"the second":              {args, []string{"beta"}, "", []string{"migrate\tmoves the data"}},
		"of what is not there":    {args, []string{"nobody"}, "", nil},
		"one too many":            {args, []string{"beta", "migrate"}, "", nil},
		"any number":              {rest, []string{"beta"}, "", []string{"web\tbehind", "api"}},
		"not what is there":       {rest, []string{"beta", "web"}, "", []string{"api"}},
		"a new name":              {Nothing, nil, "", nil},
		"a name over two lines":   {args, nil, "bad", nil},
		"a beginning that is not": {args, nil, "zzz", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := offered(t, c.f, c.args, c.word); !slices.Equal(got, c.want) {
				t.Errorf("offered %q, want %q", got, c.want)
			}
		})
	}
}

// TestNoNameRunsAsCode checks that no name is offered that a shell could run or that is a flag, and that equal names
// are offered once.
func TestNoNameRunsAsCode(t *testing.T) {
	found := []Name{{"", ""}, {"--yes", ""}, {"acme", "$(x) 1"}, {"acme", "$(x) 2"}}
	for _, bad := range []string{"`x`1", "$(x)", ";b", " b", "\nb", "|b", "&b", ">b", "'b", `"b`, `\b`, "*", "{b,c}",
		"\x1bb"} {
		found = append(found, Name{"a" + bad, ""})
	}
	if got := completions(found, "", nil); !slices.Equal(got, []string{"acme\t$(x) 1"}) {
		t.Errorf("offered %q", got)
	}
}

// TestAShellIsNeverHeldUp checks that any failure gives no completions and no
// message. The slow server never answers, so only the timeout ends the call.
func TestAShellIsNeverHeldUp(t *testing.T) {
	release := make(chan struct{})
	for name, answer := range map[string]http.HandlerFunc{
		"slow":    func(_ http.ResponseWriter, r *http.Request) { wait(r.Context(), release) },
		"refuses": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"busy": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"nonsense": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"half": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"items":[{"name":"acme"}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := behind(t, answer)
			if got := offered(t, Args(e, Installs), nil, ""); len(got) > 0 {
				t.Errorf("offered %q", got)
			}
			if said := e.Console.Err.(*strings.Builder).String(); said != "" {
				t.Errorf("said %q", said)
			}
		})
	}
	close(release)
	t.Setenv("NUON_URL", "")
	t.Setenv("NUON_TOKEN", "")
	t.Setenv("NUON_CONFIG", t.TempDir()+"/none.toml")
	if got := offered(t, Args(&cmdenv.Env{}, Installs), nil, ""); len(got) > 0 {
		t.Errorf("without a context it offered %q", got)
	}
}

func wait(ctx context.Context, release <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-release:
	}
}

// TestTheLimitReachesTheSource checks that the context of a source has the deadline, so
// that a source with several requests is limited as a whole.
func TestTheLimitReachesTheSource(t *testing.T) {
	e := plane(t)
	offered(t, Args(e, func(ctx context.Context, _ *apiclient.Client, _ []string) ([]Name, error) {
		if until, set := ctx.Deadline(); !set || until.After(time.Now().Add(timeout)) {
			t.Errorf("may take until %v", until)
		}
		return nil, errors.New("not today")
	}), nil, "")
}

// TestFlags checks the completion of flags from a source and from fixed words.
func TestFlags(t *testing.T) {
	e := plane(t)
	c := &cobra.Command{Use: "x", Run: func(*cobra.Command, []string) {}}
	c.Flags().String("app", "", "")
	c.Flags().String("status", "", "")
	Flag(e, c, "app", Apps)
	FlagWords(c, "status", "running", "failed")
	var out strings.Builder
	c.SetOut(&out)
	c.SetErr(&out)
	for flag, want := range map[string]string{"--app": "hello\thttps://git/x\nshop\n:4\n",
		"--status": "running\nfailed\n:4\n"} {
		out.Reset()
		c.SetArgs([]string{"__complete", flag, ""})
		if err := c.ExecuteContext(t.Context()); err != nil || !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s completes\n%s%v", flag, out.String(), err)
		}
	}
}

// TestContexts checks the completion of contexts, and that an unreadable file gives none.
func TestContexts(t *testing.T) {
	file := t.TempDir() + "/config.toml"
	t.Setenv("NUON_CONFIG", file)
	for text, want := range map[string][]string{
		"[contexts.prod]\nurl = \"http://p\"\n[contexts.dev]\nurl = \"http://d\"\n": {
			"dev\thttp://d", "prod\thttp://p"},
		"[": nil,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := offered(t, Contexts, nil, ""); !slices.Equal(got, want) {
			t.Errorf("offered %q, want %q", got, want)
		}
	}
}
