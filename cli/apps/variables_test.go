package apps

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// variablePlane is a control plane with the app hello that answers each change with the same list.
type variablePlane struct {
	key    seal.Identity
	list   api.AppVariableList
	change *api.AppVariablesChange
	sent   strings.Builder // everything that was received
}

func (p *variablePlane) run(t *testing.T, stdin string, args ...string) (screen string, err error) {
	t.Helper()
	mux := http.NewServeMux()
	give := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
	}
	mux.HandleFunc("GET /v1/apps/{app}", give(api.App{ID: "app_1", Name: "hello"}))
	mux.HandleFunc("GET /v1/sealing-key",
		give(api.SealingKey{Recipient: p.key.Recipient().String(), KeyID: p.key.KeyID(), Org: "org_1"}))
	mux.HandleFunc("GET /v1/apps/{app}/variables", give(p.list))
	mux.HandleFunc("PATCH /v1/apps/{app}/variables", func(w http.ResponseWriter, r *http.Request) {
		p.change = &api.AppVariablesChange{}
		if err := json.NewDecoder(r.Body).Decode(p.change); err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(&p.sent).Encode(p.change)
		_ = json.NewEncoder(w).Encode(p.list)
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	var out strings.Builder
	c := New(&cmdenv.Env{Console: &console.Console{In: strings.NewReader(stdin), Out: &out, Err: &out, Output: "table"}})
	c.SetArgs(append([]string{"variables"}, args...))
	c.SilenceErrors, c.SilenceUsage = true, true
	err = c.ExecuteContext(t.Context())
	return out.String(), err
}

func newVariablePlane(t *testing.T) *variablePlane {
	t.Helper()
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return &variablePlane{key: key}
}

// TestVariablesSet checks that plain values are sent as they are, and that sensitive ones are sealed to the control
// plane's key for their app and name, wherever they come from.
func TestVariablesSet(t *testing.T) {
	t.Setenv("MAIL_KEY", "hush-1")
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("hush-2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newVariablePlane(t)
	p.list = api.AppVariableList{Changed: []string{"gone", "sender"}, Items: []api.AppVariable{{Name: "sender",
		Readers: []string{"web", "action smoke"}}}, Missing: []api.MissingValue{{Name: "gone", Readers: []string{"net"}}}}
	screen, err := p.run(t, "hush-3\n", "set", "hello", "sender=a=b", "--sensitive", "one=env:MAIL_KEY",
		"--sensitive", "two=@"+file, "--sensitive", "three=-")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range p.change.Set {
		if got[v.Name] = v.Value; v.Sealed.IsZero() {
			continue
		}
		secret, err := p.key.Open(v.Sealed, seal.AppVariableContext("org_1", "app_1", v.Name))
		if err != nil {
			t.Fatal(err)
		}
		got[v.Name] = "sealed " + string(secret.Reveal())
	}
	for name, want := range map[string]string{"sender": "a=b", "one": "sealed hush-1", "two": "sealed hush-2",
		"three": "sealed hush-3"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if strings.Contains(p.sent.String()+screen, "hush") {
		t.Error("a sensitive value was sent or shown")
	}
	if want := "hello: variable gone is deleted; net will wait until it is set again\n" +
		"hello: variable sender is set, read by web, action smoke\n"; screen != want {
		t.Errorf("printed %q, want %q", screen, want)
	}
}

func TestWrongVariables(t *testing.T) {
	for line, want := range map[string]string{
		"set hello":                                 "no variable is named",
		"set hello sender":                          `variable "sender": use NAME=VALUE`,
		"set hello --sensitive key=hush":            "others can see a secret in an argument",
		"set hello --sensitive key":                 "no terminal to prompt on",
		"set hello --sensitive a=- --sensitive b=-": "the standard input is that of a already",
		"set hello a=1 --sensitive a=-":             "variable a is set twice",
		"delete hello a":                            "pass --yes to confirm",
	} {
		p := newVariablePlane(t)
		_, err := p.run(t, "x", strings.Fields(line)...)
		if err == nil || !strings.Contains(err.Error(), want) || exitcode.CodeOf(err) != exitcode.Usage || p.change != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestVariablesListAndDelete(t *testing.T) {
	p := newVariablePlane(t)
	p.list = api.AppVariableList{Items: []api.AppVariable{{Name: "key", Sensitive: true, Readers: []string{"web"}},
		{Name: "sender", Value: "a@b"}}, Missing: []api.MissingValue{{Name: "zone", Readers: []string{"net", "web"}}}}
	screen, err := p.run(t, "", "list", "hello")
	if want := "key\t(sensitive)\tweb\nsender\ta@b\t\nzone\t(not set)\tnet, web\n"; err != nil || screen != want {
		t.Errorf("%v, printed\n%s, want\n%s", err, screen, want)
	}
	if _, err := p.run(t, "", "delete", "hello", "key", "sender", "--yes"); err != nil ||
		strings.Join(p.change.Delete, " ") != "key sender" || len(p.change.Set) != 0 {
		t.Errorf("%v, sent %+v", err, p.change)
	}
}

// TestVariablesDryRun checks that a dry run asks for no confirmation, and prints what would change on which installs.
func TestVariablesDryRun(t *testing.T) {
	p := newVariablePlane(t)
	p.list = api.AppVariableList{DryRun: true, Changed: []string{"key"},
		Missing: []api.MissingValue{{Name: "key", Readers: []string{"web"}}}, Installs: []api.PreviewedInstall{
			{Name: "acme", Components: []string{"web", "db"}, Reason: "web: it waits; db: app variable key changed"},
			{Name: "east", Components: []string{}}, {Name: "west", Components: []string{}}}}
	screen, err := p.run(t, "", "delete", "hello", "key", "--dry-run")
	want := `hello: variable key would be deleted; web would wait until it is set again
these components would be behind or wait:
  acme: web, db (web: it waits; db: app variable key changed)
nothing would change on east, west
`
	if err != nil || screen != want || !p.change.DryRun {
		t.Errorf("%v, sent %+v, printed\n%s, want\n%s", err, p.change, screen, want)
	}
	p.list = api.AppVariableList{DryRun: true, Changed: []string{"key"}, Items: []api.AppVariable{{Name: "key"}}}
	screen, err = p.run(t, "", "set", "hello", "key=1", "--dry-run")
	if want := "hello: variable key would be set, and no template reads it\n"; err != nil || screen != want ||
		!p.change.DryRun {
		t.Errorf("%v, printed %q", err, screen)
	}
}
