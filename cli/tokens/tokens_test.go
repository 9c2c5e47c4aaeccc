package tokens

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

// run runs `nuon tokens …` against a control plane and returns its output.
func run(t *testing.T, plane http.HandlerFunc, output string, args ...string) (out, remarks string, err error) {
	t.Helper()
	s := httptest.NewServer(plane)
	defer s.Close()
	t.Setenv("NUON_CONFIG", t.TempDir()+"/none.toml")
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	var o, r strings.Builder
	c := New(&cmdenv.Env{Console: &console.Console{Out: &o, Err: &r, Output: output}})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err = c.ExecuteContext(t.Context())
	return o.String(), r.String(), err
}

const secret = "nuon_org_1.0123456789"

// TestCreate checks that standard output contains only the secret, and that everything
// else is on standard error.
func TestCreate(t *testing.T) {
	var asked api.NewToken
	plane := func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(api.CreatedToken{Secret: secret, Token: api.Token{
			ID:        "tok_1",
			Name:      asked.Name,
			Role:      api.TokenRole(asked.Role),
			App:       asked.App,
			ExpiresAt: time.Now().Add(time.Duration(asked.ExpiresInSeconds) * time.Second),
		}})
	}
	out, remarks, err := run(t, plane, "table", "create", "ci", "--role", "operator", "--expires", "24h")
	if err != nil || out != secret+"\n" {
		t.Errorf("printed %q, ended with %v", out, err)
	}
	if asked.Name != "ci" || asked.Role != "operator" || asked.ExpiresInSeconds != 86400 {
		t.Errorf("asked for %+v", asked)
	}
	if !strings.Contains(remarks, "created token ci (operator), valid until") || strings.Contains(remarks, secret) {
		t.Errorf("said %q", remarks)
	}
	if _, _, err := run(t, plane, "table", "create", "ci", "--role", "operator"); err != nil ||
		asked.ExpiresInSeconds != 30*86400 {
		t.Errorf("by itself it lasts %d s, %v", asked.ExpiresInSeconds, err)
	}
	if _, remarks, err := run(t, plane, "table", "create", "ci", "--role", "ci", "--app", "shop"); err != nil ||
		asked.App != "shop" || asked.Role != "ci" ||
		!strings.Contains(remarks, "created token ci (ci for app shop), valid until") {
		t.Errorf("asked for %+v, said %q, ended with %v", asked, remarks, err)
	}
	out, remarks, err = run(t, plane, "json", "create", "ci", "--role", "admin")
	var made api.CreatedToken
	if err != nil || json.Unmarshal([]byte(out), &made) != nil || made.Secret != secret || made.Token.Role != "admin" ||
		remarks != "" {
		t.Errorf("printed %q and %q, ended with %v", out, remarks, err)
	}
	if out, _, err := run(t, plane, "name", "create", "ci", "--role", "admin"); err != nil || out != "ci\n" {
		t.Errorf("-o name printed %q, %v", out, err)
	}
}

// TestCreateRefuses checks the usage errors, which send no request.
func TestCreateRefuses(t *testing.T) {
	for line, says := range map[string]string{
		"create ci":                                 "required flag",
		"create ci --role boss":                     "--role boss: use one of viewer, ci, operator, approver, admin",
		"create ci --role ci":                       "set it with --app",
		"create ci --role viewer --expires 1s":      "--expires 1s",
		"create ci --role viewer --expires -1h":     "--expires -1h",
		"create ci --role viewer --expires forever": "invalid argument",
		"create --role viewer":                      "accepts 1 arg(s)",
	} {
		out, _, err := run(t, func(http.ResponseWriter, *http.Request) { t.Error("it asked") },
			"table", strings.Fields(line)...)
		if err == nil || !strings.Contains(err.Error(), says) || out != "" {
			t.Errorf("%s: printed %q, ended with %v", line, out, err)
		}
	}
}

// TestList checks that only valid tokens are listed, and all on request, over all pages.
func TestList(t *testing.T) {
	now := time.Now()
	all := []api.Token{
		{ID: "tok_4", Name: "ci", Role: "ci", App: "shop", CreatedBy: "alice", ExpiresAt: now.Add(time.Hour),
			LastUsedAt: now},
		{ID: "tok_3", Name: "old", Role: "viewer", ExpiresAt: now.Add(-time.Hour)},
		{ID: "tok_2", Name: "lost", Role: "admin", RevokedAt: now.Add(-time.Hour)},
		{ID: "tok_1", Name: "alice", Role: "admin", CreatedBy: "bootstrap"},
	}
	plane := func(w http.ResponseWriter, r *http.Request) {
		page := api.TokenList{Items: all[:2], Next: "tok_3"}
		if r.URL.Query().Get("cursor") == "tok_3" {
			page = api.TokenList{Items: all[2:]}
		}
		_ = json.NewEncoder(w).Encode(page)
	}
	for flag, want := range map[string]string{"": "ci alice", "--all": "ci old lost alice"} {
		out, _, err := run(t, plane, "name", strings.Fields("list "+flag)...)
		if err != nil || strings.Join(strings.Fields(out), " ") != want {
			t.Errorf("list %s printed %q, %v", flag, out, err)
		}
	}
	out, _, err := run(t, plane, "table", "list", "--all")
	for _, want := range []string{"\tvalid until ", "\texpired ", "\trevoked ", "ci\tci\tshop\t",
		"admin\tall\tgood\tnever\tbootstrap\ttok_1"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("lacks %q: %s, %v", want, out, err)
		}
	}
}

func TestRevoke(t *testing.T) {
	asked := ""
	plane := func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.Path
		_ = json.NewEncoder(w).Encode(api.Token{ID: "tok_1", Name: "ci"})
	}
	out, _, err := run(t, plane, "table", "revoke", "ci")
	if err != nil || asked != "DELETE /v1/tokens/ci" || out != "revoked token ci (tok_1)\n" {
		t.Errorf("asked %q, printed %q, ended with %v", asked, out, err)
	}
	refuse := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"status":403,"code":"forbidden","title":"no","detail":"ask"}`))
	}
	if _, _, err := run(t, refuse, "table", "revoke", "ci"); exitcode.CodeOf(err) != exitcode.Unreachable {
		t.Errorf("ended with %v", err)
	}
}
