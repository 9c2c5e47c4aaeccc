package apps

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// run runs the command against a control plane with these answers by method and path,
// and returns the requests.
func run(t *testing.T, answers map[string]any, args ...string) (screen string, asked []string, err error) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		answer, known := answers[r.Method+" "+r.URL.Path]
		if !known {
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(api.Problem{Code: "in_use", Title: "app hello has installs"})
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer s.Close()
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	var out strings.Builder
	c := New(&cmdenv.Env{Console: &console.Console{Out: &out, Err: &out, Output: "table"}})
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	err = c.ExecuteContext(t.Context())
	return out.String(), asked, err
}

// TestList checks that each app is one line, with the reason why it is not at its newest commit.
func TestList(t *testing.T) {
	screen, _, err := run(t, map[string]any{"GET /v1/apps": api.AppList{Items: []api.App{
		{Name: "new"},
		{Name: "hello", Repository: "https://git/x", Release: api.Release{ID: "rel_1", Number: 3,
			Commit: "0123456789abcdef"}},
		{Name: "lost", Problem: "the branch is gone"},
		{Name: "wrong", Diagnostics: []api.Diagnostic{{Severity: "error"}, {Severity: "error"}, {Severity: "warning"}},
			Revision: api.Revision{Commit: "fedcba9876543210"}},
	}}}, "list")
	want := "new\t-\t\t\nhello\t3 (0123456)\thttps://git/x\t\nlost\t-\t\tthe branch is gone\nwrong\t-\t\t2 errors in " +
		"the config at fedcba9; list them with `nuon apps get wrong`\n"
	if err != nil || screen != want {
		t.Errorf("%v, printed\n%s, want\n%s", err, screen, want)
	}
}

// TestConfig checks that inputs, toggles and actions are printed.
func TestConfig(t *testing.T) {
	text := "blue"
	screen, asked, err := run(t, map[string]any{"GET /v1/apps/hello/config": api.AppConfig{
		Version: 4,
		Inputs: []api.DeclaredInput{
			{Name: "region", Type: "string", Group: "account", Required: true, ReadBy: []string{"sandbox", "action/smoke"},
				Description: "where"},
			{Name: "colour", Type: "string", Default: &text},
			{Name: "key", Type: "string", Sensitive: true, Required: true},
			{Name: "note", Type: "string", Sensitive: true},
			{Name: "size", Type: "number"},
		},
		Components: []api.DeclaredComponent{{Name: "sandbox", Kind: "terraform_module"},
			{Name: "cache", Kind: "helm_chart", DependsOn: []string{"sandbox"}, Toggleable: true},
			{Name: "web", Toggleable: true, Enabled: true}},
		Actions: []api.DeclaredAction{{Name: "migrate", Timeout: "5m",
			Triggers: []string{"manual", "post-deploy-component:web"}, Inputs: []api.DeclaredParameter{{Name: "to",
				Type: "number", Required: true}, {Name: "dry", Type: "bool", Required: true, Default: &text}}}},
	}}, "config", "hello", "--version", "4")
	for _, want := range []string{
		"hello, version 4\n", "region\tstring\taccount\trequired\tsandbox action/smoke\twhere\n",
		"colour\tstring\t\tdefault blue\t\t\n", "key\tstring\t\trequired, sensitive\t", "note\tstring\t\tsensitive\t",
		"size\tnumber\t\toptional\t",
		"sandbox\tterraform_module\t\talways on\n", "cache\thelm_chart\tsandbox\toff by default\n",
		"web\t\t\ton by default\n", "migrate\tmanual post-deploy-component:web\t5m\tto*:number dry:bool\t\n",
	} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen lacks %q:\n%s", want, screen)
		}
	}
	if err != nil || len(asked) != 1 || asked[0] != "GET /v1/apps/hello/config?version=4&release=0" {
		t.Errorf("%v, asked %q", err, asked)
	}
	if _, asked, err := run(t, nil, "config", "hello", "--version", "-1"); exitcode.CodeOf(err) != exitcode.Usage ||
		len(asked) > 0 {
		t.Errorf("a version below 1: %v, asked %q", err, asked)
	}
}

// TestVersions checks that versions are listed with their causes.
func TestVersions(t *testing.T) {
	screen, asked, err := run(t, map[string]any{
		"GET /v1/apps/hello/versions": api.AppVersionList{Items: []api.AppVersion{{
			Number: 2, Commit: "0123456789abcdef", Digest: "sha256:aaaaaaaaaaaabbbb",
			Reason: "commit 0123456 changed web.toml",
		}}},
	}, "versions", "hello")
	if err != nil || !strings.HasPrefix(screen, "2\t") ||
		!strings.HasSuffix(screen, "\t0123456789ab\taaaaaaaaaaaa\tcommit 0123456 changed web.toml\n") ||
		!strings.HasPrefix(asked[0], "GET /v1/apps/hello/versions?") {
		t.Errorf("%v, asked %q, printed %q", err, asked, screen)
	}
}

// TestDelete checks that deleting requires confirmation, and that the error of the
// control plane is printed.
func TestDelete(t *testing.T) {
	if _, asked, err := run(t, nil, "delete", "hello"); exitcode.CodeOf(err) != exitcode.Usage || len(asked) > 0 {
		t.Errorf("without a yes: %v, asked %q", err, asked)
	}
	screen, asked, err := run(t, map[string]any{"DELETE /v1/apps/hello": nil}, "delete", "hello", "--yes")
	if err != nil || screen != "deleted app hello\n" || asked[0] != "DELETE /v1/apps/hello" {
		t.Errorf("%v, asked %q, said %q", err, asked, screen)
	}
	if _, _, err := run(t, nil, "delete", "hello", "--yes"); exitcode.CodeOf(err) != exitcode.Failed ||
		err.Error() != "app hello has installs" {
		t.Errorf("refused: %v", err)
	}
}

// TestImageRefreshes checks what an app shows about its images.
func TestImageRefreshes(t *testing.T) {
	last, next := time.Date(2026, 11, 24, 6, 0, 0, 0, time.Local), time.Date(2026, 11, 24, 12, 0, 0, 0, time.Local)
	for want, r := range map[string]api.ImageRefreshes{
		"": {}, "next 2026-11-24 12:00:00": {NextAt: next},
		"resolved again 2026-11-24 06:00:00, next 2026-11-24 12:00:00": {LastAt: last, NextAt: next},
	} {
		if got := imageRefreshes(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
