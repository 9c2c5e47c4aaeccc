package installs

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// plane is a fake control plane with its own sealing key and one of the install acme.
// It records everything that it receives.
type plane struct {
	own, acme seal.Identity
	installs  []api.Install // at least acme
	config    api.AppConfig
	effects   []api.PreviewedEffect
	history   []api.Workflow
	releases  []api.Release
	created   *api.NewInstall
	changed   *api.InstallChange
	previewed *api.InstallChange
	pinned    *api.NewPin
	asked     *api.NewWorkflow
	answer    api.Asked
	stack     api.StackOutputs
	// the answer to a change of stack outputs, and the change
	stackChanged api.ChangedStackOutputs
	stackChange  *api.StackOutputsChange
	all          string // all addresses and bodies that were received
}

func start(t *testing.T) (*plane, *cmdenv.Env) {
	t.Helper()
	p := &plane{own: identity(t), acme: identity(t), installs: []api.Install{{ID: "ins_acme", App: "hello",
		Name: "acme", Status: "current", Reason: "up to date"}}}
	p.config.Inputs = []api.DeclaredInput{{Name: "greeting", Group: "app", Type: "string"},
		{Name: "token", Group: "app", Type: "string", Sensitive: true}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/sealing-key", func(w http.ResponseWriter, r *http.Request) {
		key := p.own
		if r.URL.Query().Get("install") == "ins_acme" {
			key = p.acme
		}
		give(w, api.SealingKey{KeyID: key.KeyID(), Recipient: key.Recipient().String()})
	})
	mux.HandleFunc("POST /v1/installs", func(w http.ResponseWriter, r *http.Request) {
		p.created = decode[api.NewInstall](t, r)
		made := api.CreatedInstall{Install: api.Install{ID: "ins_1", App: p.created.App, Name: p.created.Name}}
		if p.created.Runner == "" {
			made.Runner = api.CreatedRunner{Runner: api.Runner{Name: p.created.Name}, RegistrationToken: "once"}
		}
		give(w, made)
	})
	mux.HandleFunc("GET /v1/installs", func(w http.ResponseWriter, _ *http.Request) {
		var l api.InstallList
		for _, i := range p.installs {
			l.Items = append(l.Items, api.InstallSummary{ID: i.ID, Name: i.Name, App: i.App})
		}
		give(w, l)
	})
	mux.HandleFunc("GET /v1/installs/{install}", func(w http.ResponseWriter, r *http.Request) { p.giveInstall(w, r) })
	mux.HandleFunc("PATCH /v1/installs/{install}", func(w http.ResponseWriter, r *http.Request) {
		p.changed = decode[api.InstallChange](t, r)
		p.giveInstall(w, r)
	})
	mux.HandleFunc("POST /v1/installs/{install}/preview", func(w http.ResponseWriter, r *http.Request) {
		p.previewed = decode[api.InstallChange](t, r)
		give(w, api.InstallPreview{Components: p.effects})
	})
	mux.HandleFunc("POST /v1/installs/{install}/pin", func(w http.ResponseWriter, r *http.Request) {
		p.pinned = decode[api.NewPin](t, r)
		give(w, api.Install{ID: "ins_acme", App: "hello", Name: "acme", Status: "behind", Pinned: p.pinned.Release,
			Commit: "1a2b3c4d5e", Latest: 7, PinReason: p.pinned.Reason, Behind: []string{"web"}})
	})
	mux.HandleFunc("DELETE /v1/installs/{install}/pin", func(w http.ResponseWriter, _ *http.Request) {
		give(w, api.Install{ID: "ins_acme", App: "hello", Name: "acme", Status: "current", Target: 7,
			Commit: "1a2b3c4d5e", Latest: 7})
	})
	mux.HandleFunc("DELETE /v1/installs/{install}", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /v1/apps/{app}", func(w http.ResponseWriter, _ *http.Request) {
		give(w, api.App{ID: "app_1", Name: "hello"})
	})
	mux.HandleFunc("GET /v1/apps/{app}/config", func(w http.ResponseWriter, _ *http.Request) { give(w, p.config) })
	mux.HandleFunc("GET /v1/apps/{app}/releases", func(w http.ResponseWriter, _ *http.Request) {
		give(w, api.ReleaseList{Items: p.releases})
	})
	mux.HandleFunc("GET /v1/workflows", func(w http.ResponseWriter, _ *http.Request) {
		give(w, api.WorkflowList{Items: p.history})
	})
	mux.HandleFunc("POST /v1/installs/{install}/workflows", func(w http.ResponseWriter, r *http.Request) {
		p.asked = decode[api.NewWorkflow](t, r)
		give(w, p.answer)
	})
	mux.HandleFunc("GET /v1/workflows/{workflow}/events", func(w http.ResponseWriter, _ *http.Request) {
		waits := api.Workflow{ID: "wfl_1", Status: "running",
			Steps: []api.Step{{Kind: "approve", Component: "web", Status: "waiting"}}}
		b, _ := json.Marshal(waits)
		_, _ = fmt.Fprintf(w, "event: workflow\nid: 1\ndata: %s\n\n", b)
	})
	p.serveStack(t, mux)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		p.all += r.URL.String() + "\n" + string(b) + "\n"
		r.Body = io.NopCloser(strings.NewReader(string(b)))
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	t.Setenv("NUON_CONFIG", filepath.Join(t.TempDir(), "config.toml"))
	return p, &cmdenv.Env{Console: &console.Console{In: strings.NewReader(""), Out: &strings.Builder{},
		Err: &strings.Builder{}, Output: "table"}}
}

// giveInstall responds with the install that the path names by id or name.
func (p *plane) giveInstall(w http.ResponseWriter, r *http.Request) {
	for _, i := range p.installs {
		if key := r.PathValue("install"); key == i.ID || key == i.Name {
			give(w, i)
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
	give(w, api.Problem{Code: "not_found", Title: "install not found", Status: http.StatusNotFound})
}

// atATerminal makes the console a terminal with the typed text as its input.
func atATerminal(e *cmdenv.Env, typed string) {
	e.Console.In, e.Console.InIsTerminal, e.Console.ErrIsTerminal = strings.NewReader(typed), true, true
}

func identity(t *testing.T) seal.Identity {
	t.Helper()
	i, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func give(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func decode[T any](t *testing.T, r *http.Request) *T {
	t.Helper()
	v := new(T)
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		t.Error(err)
	}
	return v
}

func execute(t *testing.T, c *cobra.Command, args ...string) error {
	t.Helper()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	return c.ExecuteContext(t.Context())
}

// TestSecretsAreSealed checks that a sensitive value can be opened only with the right
// key (the control plane's before the install exists, then the install's), and appears
// nowhere in what was sent or printed.
func TestSecretsAreSealed(t *testing.T) {
	t.Setenv("API_TOKEN", "hush-1")
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, []byte("hush-2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := []string{"--input", "greeting=a=b", "--secret", "token=env:API_TOKEN", "--secret", "key=@" + file}
	for name, c := range map[string]struct {
		args  []string
		key   func(*plane) seal.Identity
		given func(*plane) []api.InputValue
	}{
		"create": {append([]string{"create", "acme", "--app", "hello"}, secrets...),
			func(p *plane) seal.Identity { return p.own }, func(p *plane) []api.InputValue { return p.created.Inputs }},
		"update": {append([]string{"update", "acme"}, secrets...), func(p *plane) seal.Identity { return p.acme },
			func(p *plane) []api.InputValue { return p.changed.Inputs }},
	} {
		t.Run(name, func(t *testing.T) {
			p, e := start(t)
			if err := execute(t, New(e), c.args...); err != nil {
				t.Fatal(err)
			}
			got, install := map[string]string{}, "ins_acme"
			if p.created != nil {
				install = p.created.ID
			}
			for _, in := range c.given(p) {
				got[in.Name] = in.Value
				if in.Sensitive {
					opened, err := c.key(p).Open(in.Sealed, seal.InputContext(install, in.Name))
					if err != nil || in.Value != "" {
						t.Errorf("%+v: %v", in, err)
					}
					got[in.Name] = "sealed " + string(opened.Reveal())
				}
			}
			if d := cmp.Diff(map[string]string{"greeting": "a=b", "token": "sealed hush-1",
				"key": "sealed hush-2"}, got); d != "" {
				t.Errorf("inputs (-want +got)\n%s", d)
			}
			if all := p.all + fmt.Sprint(e.Console.Out, e.Console.Err); strings.Contains(all, "hush") {
				t.Errorf("a secret is readable in\n%s", all)
			}
		})
	}
}

// TestMistakesAreFoundFirst checks that a command with a mistake in it sends nothing,
// and that the error does not repeat a secret from an argument.
func TestMistakesAreFoundFirst(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"a secret in an argument": {[]string{"create", "acme", "--app", "hello", "--secret", "token=hush"},
			"env:NAME or @FILE"},
		"nobody to ask":       {[]string{"create", "acme", "--app", "hello", "--secret", "token"}, "no terminal"},
		"no pair":             {[]string{"create", "acme", "--app", "hello", "--input", "greeting"}, "use NAME=VALUE"},
		"no name of an input": {[]string{"update", "acme", "--input", "=x"}, "use NAME=VALUE"},
		"no name":             {[]string{"create", "--app", "hello"}, "name the install"},
		"no file":             {[]string{"create", "--app", "hello", "--file", "installs/none.toml"}, "none.toml"},
		"not meant":           {[]string{"deprovision", "acme"}, "--yes"},
	} {
		t.Run(name, func(t *testing.T) {
			p, e := start(t)
			err := execute(t, New(e), c.args...)
			if exitcode.CodeOf(err) != exitcode.Usage || !strings.Contains(err.Error(), c.says) ||
				strings.Contains(err.Error(), "hush") {
				t.Errorf("ended with %v", err)
			}
			if p.all != "" {
				t.Errorf("sent\n%s", p.all)
			}
		})
	}
}

// app writes an app with two installs and returns its directory.
func app(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	terraform := "terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/x\"\n"
	for file, text := range map[string]string{
		"metadata.toml":       "version = \"v2\"\ndisplay_name = \"Hello\"\n",
		"sandbox.toml":        terraform,
		"components/web.toml": "type = \"terraform_module\"\nname = \"web\"\n" + terraform,
		"inputs.toml": "[[group]]\nname = \"app\"\ndisplay_name = \"App\"\ndescription = \"All\"\n" +
			input("greeting", "") + input("replicas", "type = \"number\"\n") + input("token", "sensitive = true\n"),
		"installs/acme.toml": "name = \"acme\"\napproval_option = \"approve-all\"\nallow_destroy = true\n[inputs]\n" +
			"greeting = \"hi\"\nreplicas = \"3\"\n",
		"installs/globex.toml": "name = \"globex\"\n",
		"drafts/acme.toml":     "name = \"acme\"\n[inputs]\ngreeting = \"a draft\"\n",
	} {
		write(t, filepath.Join(dir, filepath.FromSlash(file)), text)
	}
	return dir
}

func input(name, more string) string {
	return fmt.Sprintf("[[input]]\nname = %q\ndisplay_name = %q\ndescription = \"It\"\ngroup = \"app\"\ndefault "+
		"= \"\"\n%s", name, name, more)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

var quiet = &console.Console{Out: io.Discard, Err: io.Discard}

// TestReadFile checks the settings read from a file, named from several directories;
// values from the command line take precedence.
func TestReadFile(t *testing.T) {
	dir := app(t)
	acme := api.NewInstall{Name: "acme", Approval: "approve-all", AllowDestroy: true}
	for name, c := range map[string]struct {
		in, file string // working directory within the app's, and the file as named from there
		n, want  api.NewInstall
		inputs   map[string]string
	}{
		"from the app": {".", "installs/acme.toml", api.NewInstall{}, acme,
			map[string]string{"greeting": "hi", "replicas": "3"}},
		"from its own place": {"installs", "acme.toml", api.NewInstall{}, acme,
			map[string]string{"greeting": "hi", "replicas": "3"}},
		"from beside it": {"components", "../installs/acme.toml", api.NewInstall{}, acme,
			map[string]string{"greeting": "hi", "replicas": "3"}},
		"by its whole path": {"components", filepath.Join(dir, "installs", "acme.toml"), api.NewInstall{}, acme,
			map[string]string{"greeting": "hi", "replicas": "3"}},
		"the flag goes before": {".", "installs/acme.toml", api.NewInstall{Approval: "prompt"},
			api.NewInstall{Name: "acme", Approval: "prompt", AllowDestroy: true},
			map[string]string{"greeting": "hi", "replicas": "3"}},
		"another": {".", "installs/globex.toml", api.NewInstall{AllowDestroy: true},
			api.NewInstall{Name: "globex", Approval: "prompt", AllowDestroy: true}, nil},
		"none": {".", "", api.NewInstall{Name: "x"}, api.NewInstall{Name: "x"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(filepath.Join(dir, c.in))
			inputs, err := readFile(quiet, c.file, &c.n)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, c.n); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.inputs, inputs); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestReadFileKeepsTheRules checks that violations of the format are reported with their position.
func TestReadFileKeepsTheRules(t *testing.T) {
	for name, c := range map[string]struct{ file, text, says string }{
		"no TOML":        {"installs/acme.toml", "name = acme\n", "acme.toml:1:8: "},
		"an unknown key": {"installs/acme.toml", "name = \"acme\"\ncolour = \"red\"\n", "installs/acme.toml:2:1: "},
		"an unknown input": {"installs/acme.toml", "name = \"acme\"\n[inputs]\ncolour = \"red\"\n",
			"installs/acme.toml:3:1: "},
		"no number": {"installs/acme.toml", "name = \"acme\"\n[inputs]\nreplicas = \"many\"\n",
			"installs/acme.toml:3:"},
		"an unknown rule": {"installs/acme.toml", "name = \"acme\"\napproval_option = \"maybe\"\n",
			"\"approval_option\" cannot be \"maybe\""},
		"a rule of the app": {"components/web.toml", "type = \"teraform\"\n", "components/web.toml"},
		"a name twice":      {"installs/more.toml", "name = \"acme\"\n", "acme"},
		"no name":           {"installs/acme.toml", "", "installs/acme.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := app(t)
			write(t, filepath.Join(dir, filepath.FromSlash(c.file)), c.text)
			t.Chdir(dir)
			n := api.NewInstall{}
			if _, err := readFile(quiet, "installs/acme.toml", &n); exitcode.CodeOf(err) != exitcode.Usage ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("ended with %v, want %q", err, c.says)
			}
		})
	}
	t.Chdir(app(t))
	if inputs, err := readFile(quiet, "drafts/acme.toml", &api.NewInstall{}); exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("a file beside the installs gave %v, %v", inputs, err)
	}
}

// TestAFileHoldsNoSecrets checks that a sensitive input in a file is not sent, because
// nothing would seal it, and that the person is warned.
func TestAFileHoldsNoSecrets(t *testing.T) {
	dir := app(t)
	write(t, filepath.Join(dir, "installs", "acme.toml"), "name = \"acme\"\n[inputs]\ntoken = \"hush\"\n")
	t.Chdir(dir)
	p, e := start(t)
	err := execute(t, New(e), "create", "--app", "hello", "--file", "installs/acme.toml")
	if err != nil || !strings.Contains(fmt.Sprint(e.Console.Err),
		"installs/acme.toml:3:1: warning: input \"token\" is sensitive") {
		t.Errorf("ended with %v, said %q", err, e.Console.Err)
	}
	if strings.Contains(p.all, "hush") || strings.Contains(fmt.Sprint(err, e.Console.Out, e.Console.Err), "hush") {
		t.Errorf("sent\n%s\nended with %v", p.all, err)
	}
}

// TestCreateFromAFile checks that a value on the command line takes precedence over
// the file's, and that the command prints how to start the runner.
func TestCreateFromAFile(t *testing.T) {
	dir := app(t)
	t.Chdir(dir)
	p, e := start(t)
	if err := execute(t, New(e), "create", "acme-2", "--app", "hello", "--file", "installs/acme.toml", "--input",
		"greeting=hey"); err != nil {
		t.Fatal(err)
	}
	want := &api.NewInstall{App: "hello", Name: "acme-2", Approval: "approve-all", AllowDestroy: true,
		Inputs: []api.InputValue{{Name: "greeting", Value: "hey"}, {Name: "replicas", Value: "3"}}}
	if d := cmp.Diff(want, p.created, cmpopts.IgnoreFields(api.NewInstall{}, "ID")); d != "" ||
		!id.Valid("ins", p.created.ID) {
		t.Error(d, p.created.ID)
	}
	if got := fmt.Sprint(e.Console.Out); !strings.HasPrefix(got, "created install hello/acme-2 (ins_1)\n") ||
		!strings.Contains(got, "NUON_REGISTRATION_TOKEN=once") {
		t.Errorf("printed %q", got)
	}
}

// TestUpdateLeavesWhatIsNotNamed checks that an absent flag changes nothing.
func TestUpdateLeavesWhatIsNotNamed(t *testing.T) {
	yes, no := true, false
	for line, want := range map[string]*api.InstallChange{
		"update acme --allow-destroy --approval prompt": {AllowDestroy: &yes, Approval: "prompt"},
		"update acme --allow-destroy=false":             {AllowDestroy: &no},
	} {
		p, e := start(t)
		if err := execute(t, New(e), strings.Fields(line)...); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, p.changed); d != "" {
			t.Errorf("%s\n%s", line, d)
		}
	}
}

// TestAsking checks the workflows that deploy, teardown and deprovision request, and their exit code with
// --wait.
func TestAsking(t *testing.T) {
	running := api.Asked{Workflow: api.Workflow{ID: "wfl_1", App: "hello", Install: "acme", Kind: "deploy",
		Number: 2, Status: "running"}}
	for name, c := range map[string]struct {
		command func(*cmdenv.Env) *cobra.Command
		args    []string
		answer  api.Asked
		want    *api.NewWorkflow
		code    int
		prints  string
	}{
		"deploy": {NewDeploy, []string{"acme", "web", "db"}, running, &api.NewWorkflow{Kind: "deploy",
			Components: []string{"web", "db"}}, 0, "deploy 2 of hello/acme (wfl_1): running"},
		"nothing to": {NewDeploy, []string{"acme"}, api.Asked{Outcome: "nothing is\x1b[2J behind"},
			&api.NewWorkflow{Kind: "deploy"}, 0, "nothing is [2J behind\n"},
		"and wait": {NewDeploy, []string{"acme", "--wait"}, running, &api.NewWorkflow{Kind: "deploy"}, exitcode.Waiting,
			"? approve  web"},
		"once more": {NewDeploy, []string{"acme", "web", "--redeploy", "--dependents"}, running,
			&api.NewWorkflow{Kind: "deploy", Components: []string{"web"}, Redeploy: true, Dependents: true}, 0, "wfl_1"},
		"of what": {NewDeploy, []string{"acme", "--redeploy"}, running, nil, exitcode.Usage, ""},
		"take away": {New, []string{"teardown", "acme", "web", "--dependents", "--yes"}, running,
			&api.NewWorkflow{Kind: "teardown", Components: []string{"web"}, Dependents: true}, 0, "wfl_1"},
		"not meant": {New, []string{"teardown", "acme", "web"}, running, nil, exitcode.Usage, ""},
		"only to see": {New, []string{"teardown", "acme", "web", "--dry-run"}, api.Asked{Outcome: "nothing of web is there"},
			&api.NewWorkflow{Kind: "teardown", Components: []string{"web"}, DryRun: true}, 0, "nothing of web is there"},
		"the end": {New, []string{"deprovision", "acme", "--yes"}, running, &api.NewWorkflow{Kind: "deprovision"}, 0,
			"wfl_1"},
	} {
		t.Run(name, func(t *testing.T) {
			p, e := start(t)
			p.answer = c.answer
			if err := execute(t, c.command(e), c.args...); exitcode.CodeOf(err) != c.code {
				t.Errorf("ended with %v, want code %d", err, c.code)
			}
			if p.asked != nil && len(p.asked.Components) == 0 {
				p.asked.Components = nil
			}
			if d := cmp.Diff(c.want, p.asked); d != "" {
				t.Error(d)
			}
			if got := fmt.Sprint(e.Console.Out); !strings.Contains(got, c.prints) {
				t.Errorf("printed %q, want %q", got, c.prints)
			}
		})
	}
}

// TestShowHidesWhatIsSensitive checks that show hides sensitive values, and that text
// from elsewhere cannot move the cursor.
func TestShowHidesWhatIsSensitive(t *testing.T) {
	i := api.Install{
		ID:           "ins_1",
		App:          "hello",
		Name:         "acme",
		Status:       "current",
		Reason:       "at\x1b[2J version 3",
		Approval:     "prompt",
		Runner:       "r",
		RunnerOnline: true,
		Pinned:       3,
		Target:       3,
		Commit:       "1a2b3c4d5e",
		Latest:       5,
		PinnedBy:     "vera",
		PinReason:    "freeze",
		Behind:       []string{"web"},
		ManagedBy:    "config",
		Labels:       map[string]string{"tier": "gold"},
		Toggles:      map[string]bool{"metrics": false},
		Account:      map[string]map[string]string{"aws_account": {"region": "eu-west-1"}},
		LastWorkflow: api.WorkflowRef{ID: "wfl_1", Number: 4, Kind: "deploy", Status: "succeeded", Outcome: "all done"},
		Inputs: []api.InputValue{{Name: "greeting", Value: "hi\nthere"},
			{Name: "token", Sensitive: true, Value: "hush"}},
		Components: []api.InstallComponent{{Name: "metrics", Status: "removed", Reason: "nothing is there",
			Off: "toggle"}, {Name: "web", Status: "current", Outputs: []api.OutputValue{{Name: "url",
			Value: json.RawMessage(`"http://x"`)}, {Name: "key", Sensitive: true, Value: json.RawMessage(`"hush"`)}}}},
	}
	var out strings.Builder
	if err := show(&out, i); err != nil {
		t.Fatal(err)
	}
	want := `hello/acme (ins_1): current
  at [2J version 3
  pinned to release 3 (1a2b3c4) of 5 by vera: freeze
  behind: web
  approval prompt, runner r (online)
  managed by its file: change it with ` + "`nuon installs sync`" + `
  last workflow deploy 4 (wfl_1): all done
  aws_account: region=eu-west-1
  labels tier=gold
  disabled: metrics
inputs
  greeting           hi there
  token              (sensitive)
components
  metrics            removed   nothing is there
  web                current
    url              "http://x"
    key              (sensitive)
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}
