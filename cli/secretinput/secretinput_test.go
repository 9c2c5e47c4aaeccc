package secretinput

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// TestRead checks that a secret is read completely from the environment or a file, and
// never from an argument, and that the error does not repeat the argument.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Setenv("A_TOKEN", "from the environment\n")
	os.Unsetenv("NO_TOKEN") //nolint:errcheck // nobody sets it
	for name, c := range map[string]struct {
		from, want string
		code       int
		says       string
	}{
		"environment":    {"env:A_TOKEN", "from the environment\n", 0, ""},
		"file":           {"@" + write("one", "line"), "line", 0, ""},
		"last line end":  {"@" + write("end", "line\n"), "line", 0, ""},
		"only the last":  {"@" + write("ends", "a\nb\n\n"), "a\nb\n", 0, ""},
		"Windows's":      {"@" + write("crlf", "line\r\n"), "line", 0, ""},
		"not there":      {"env:NO_TOKEN", "", exitcode.Usage, "token: environment variable NO_TOKEN is not set"},
		"no file":        {"@" + filepath.Join(dir, "none"), "", exitcode.Usage, "none"},
		"a directory":    {"@" + dir, "", exitcode.Usage, "token: "},
		"in an argument": {"hush", "", exitcode.Usage, "env:NAME or @FILE"},
		"no terminal":    {"", "", exitcode.Usage, "token: no terminal to prompt on"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			got, err := Read(t.Context(),
				&console.Console{In: strings.NewReader("from a pipe\n"), Out: &out, Err: &out}, "token", c.from)
			if exitcode.CodeOf(err) != c.code || string(got.Reveal()) != c.want {
				t.Fatalf("read %q, %v", got.Reveal(), err)
			}
			if err != nil && (!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hush")) {
				t.Errorf("says %q, want %q", err, c.says)
			}
			if out.Len() > 0 {
				t.Errorf("printed %q", out.String())
			}
		})
	}
}

// TestReadAPipeIsNoTerminal checks that Read does not prompt if standard input is a pipe.
func TestReadAPipeIsNoTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // only read
	defer w.Close() //nolint:errcheck // nothing was written
	if _, err := Read(t.Context(), &console.Console{In: r, Err: &strings.Builder{}}, "token",
		""); exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("ended with %v", err)
	}
}

// keys is a fake control plane with its own sealing key and one for each install. It
// records the credentials that it receives.
func keys(t *testing.T, own map[string]seal.Identity, kept *api.NewCredential) *cmdenv.Env {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/sealing-key", func(w http.ResponseWriter, r *http.Request) {
		key := own[r.URL.Query().Get("install")]
		recipient := ""
		if !key.IsZero() {
			recipient = key.Recipient().String()
		}
		_ = json.NewEncoder(w).Encode(api.SealingKey{KeyID: "k", Recipient: recipient, Org: "org_1"})
	})
	mux.HandleFunc("POST /v1/credentials", func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(kept); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(api.Credential{Name: kept.Name, Username: kept.Username})
	})
	mux.HandleFunc("PATCH /v1/credentials/{name}", func(w http.ResponseWriter, r *http.Request) {
		var change api.CredentialUpdate
		if err := json.NewDecoder(r.Body).Decode(&change); err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(api.Credential{Name: r.PathValue("name"), Repositories: change.AddRepositories})
	})
	hook := func(w http.ResponseWriter, r *http.Request, sent *api.Sealed) {
		made := api.Webhook{ID: "whk_1", Path: "/hooks/whk_1", Secret: "s3cret"}
		if sent != nil {
			opened, err := own[""].Open(*sent, seal.WebhookContext("org_1"))
			if err != nil {
				t.Errorf("%s: %v", r.URL, err)
			}
			made.Secret = string(opened.Reveal())
		}
		_ = json.NewEncoder(w).Encode(made)
	}
	mux.HandleFunc("POST /v1/webhooks", func(w http.ResponseWriter, r *http.Request) {
		var n api.NewWebhook
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusCreated)
		hook(w, r, n.Secret)
	})
	mux.HandleFunc("POST /v1/webhooks/whk_1/rotate", func(w http.ResponseWriter, r *http.Request) {
		var n api.WebhookRotation
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil || !n.AtOnce {
			t.Errorf("%+v, %v", n, err)
		}
		hook(w, r, n.Secret)
	})
	mux.HandleFunc("GET /v1/webhooks/whk_1", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(api.KnownWebhook{ID: "whk_1", Path: "/hooks/whk_1", LastDeliveryAt: time.Now(),
			LastResult: "GitHub push: polling"})
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	t.Setenv("NUON_URL", s.URL+"/")
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	return &cmdenv.Env{Console: &console.Console{In: strings.NewReader(""), Out: &strings.Builder{},
		Err: &strings.Builder{}, Output: "table"}}
}

func identity(t *testing.T) seal.Identity {
	t.Helper()
	i, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestSeal checks that a value sealed for an install opens only with the install's
// key, and one sealed for no install only with the control plane's.
func TestSeal(t *testing.T) {
	own := map[string]seal.Identity{"": identity(t), "acme": identity(t)}
	keys(t, own, nil)
	c, err := contexts.Select("")
	if err != nil {
		t.Fatal(err)
	}
	client, err := apiclient.New(c)
	if err != nil {
		t.Fatal(err)
	}
	use := seal.InputContext("ins_1", "token")
	for of, other := range map[string]string{"": "acme", "acme": ""} {
		key, err := FetchKey(t.Context(), client, api.GetSealingKeyParams{Install: of})
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := key.Seal(use, seal.NewSecret([]byte("hush")))
		if err != nil {
			t.Fatal(err)
		}
		if opened, err := own[of].Open(sealed, use); err != nil || string(opened.Reveal()) != "hush" {
			t.Errorf("%q opened %q, %v", of, opened.Reveal(), err)
		}
		if _, err := own[other].Open(sealed, use); err == nil {
			t.Errorf("what is for %q is open to %q", of, other)
		}
	}
	if _, err := FetchKey(t.Context(), client, api.GetSealingKeyParams{Install: "has none"}); err == nil {
		t.Errorf("without a key it ended with %v", err)
	}
}

// TestCreateCredential checks that the token is sent sealed, and that the output does
// not contain it.
func TestCreateCredential(t *testing.T) {
	own := map[string]seal.Identity{"": identity(t)}
	var kept api.NewCredential
	e := keys(t, own, &kept)
	t.Setenv("GIT_TOKEN", "hush")
	c := NewCredentials(e)
	c.SetArgs([]string{"create", "github", "--username", "bot", "--from", "env:GIT_TOKEN", "--repository",
		"https://git.example/a/*"})
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	opened, err := own[""].Open(kept.Password, seal.CredentialContext("org_1", "github"))
	if err != nil || string(opened.Reveal()) != "hush" || kept.Name != "github" || kept.Username != "bot" ||
		!slices.Equal(kept.Repositories, []string{"https://git.example/a/*"}) {
		t.Errorf("kept %+v (%q), %v", kept, opened.Reveal(), err)
	}
	printed := fmt.Sprint(e.Console.Out, e.Console.Err)
	if strings.Contains(printed, "hush") || !strings.Contains(printed, "--credential github") {
		t.Errorf("printed %q", printed)
	}
}

func TestUpdateCredential(t *testing.T) {
	e := keys(t, nil, nil)
	c := NewCredentials(e)
	c.SetArgs([]string{"update", "github", "--add-repository", "https://git.example/a/b", "--add-repository",
		"https://git.example/c/*"})
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "credential github may be used for:\n  https://git.example/a/b\n  https://git.example/c/*\n"
	if got := fmt.Sprint(e.Console.Out); got != want {
		t.Errorf("printed %q", got)
	}
	c = NewCredentials(e)
	c.SetArgs([]string{"update", "github"})
	if err := c.ExecuteContext(t.Context()); exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("a change of nothing: %v", err)
	}
}

// TestWebhookCommands checks that the URL is printed in full, that the secret is printed when
// the webhook is created, and that --forge prints both as the fields of that forge's form.
func TestWebhookCommands(t *testing.T) {
	t.Setenv("OWN", "hush")
	for line, want := range map[string][]string{
		"create": {"webhook  whk_1\nURL      ADDRESS\nsecret   s3cret\n"},
		"create --forge github": {"GitHub: Settings > Webhooks", "  Payload URL       ADDRESS\n",
			"  Secret            s3cret\n", "Just the push event\n"},
		"create --forge bitbucket-dc": {"Bitbucket Data Center: ", "  URL      ADDRESS\n", "  Secret   s3cret\n",
			"does not sign it.\n"},
		"create --from env:OWN":             {"secret   hush\n"},
		"rotate whk_1 --now":                {"URL      ADDRESS\nsecret   s3cret\n"},
		"rotate whk_1 --now --from env:OWN": {"secret   hush\n"},
		"get whk_1":                         {"URL            ADDRESS\n", "result         GitHub push: polling\n"},
		"get whk_1 --forge gitlab": {"  URL               ADDRESS\n",
			"  Secret token      the secret that was shown at its creation\n"},
		"create --forge gitlab --from env:NONE": nil,
		"create --forge sourceforge":            nil,
	} {
		e := keys(t, map[string]seal.Identity{"": identity(t)}, nil)
		c := NewWebhooks(e)
		c.SetArgs(strings.Fields(line))
		c.SilenceErrors, c.SilenceUsage = true, true
		err := c.ExecuteContext(t.Context())
		if (err == nil) != (want != nil) || err != nil && exitcode.CodeOf(err) != exitcode.Usage {
			t.Errorf("%s: %v", line, err)
		}
		for _, text := range want {
			text = strings.ReplaceAll(text, "ADDRESS", strings.TrimSuffix(os.Getenv("NUON_URL"), "/")+"/hooks/whk_1")
			if got := fmt.Sprint(e.Console.Out); !strings.Contains(got, text) {
				t.Errorf("%s printed %q, want %q", line, got, text)
			}
		}
	}
}
