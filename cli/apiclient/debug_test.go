package apiclient

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// planted are the secrets of TestDebugShowsNoSecret, none of which may appear
// in the log in any form.
var planted = map[string]string{
	"token": "nuont_planted-token-51d2", "password": "planted-password-8c3e", "once": "planted-secret-once-77aa",
	"env":   "planted-env-9e01",
	"input": "planted-input-4b4b", "url": "planted-url-2f2f", "registration": "nuong_planted-6d6d",
	"default": "planted-default-3a3a", "info": "planted-info-1c1c", "run": "planted-run-0d0d",
}

// talkative is a fake control plane whose responses contain secrets in every
// possible place, including the token.
func talkative(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(pattern string, status int, value any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set(version.HeaderNumber, "9.9.9")
			w.Header().Set(version.HeaderAPI, "1")
			w.Header().Set("X-Request-Id", "req_1")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(value)
		})
	}
	answer("POST /v1/credentials", 201, api.Credential{Name: "github"})
	answer("POST /v1/webhooks", 201, api.Webhook{ID: "whk_1", Path: "/hooks/whk_1", Secret: planted["once"]})
	answer("POST /v1/tokens", 201, api.CreatedToken{Token: api.Token{Name: "ci"}, Secret: planted["once"]})
	answer("POST /v1/runners", 201,
		api.CreatedRunner{Runner: api.Runner{Name: "berlin"}, RegistrationToken: planted["registration"]})
	answer("GET /v1/installs/acme", 200,
		map[string]any{"name": "acme", "inputs": []map[string]any{{"name": "size", "value": "large"},
			{"name": "key", "sensitive": true, "value": planted["input"]}}})
	answer("GET /v1/apps/hello", 200,
		api.App{Name: "hello", Repository: "https://bot:" + planted["url"] + "@git.example/x"})
	answer("GET /v1/apps/hello/config", 200,
		map[string]any{"inputs": []map[string]any{{"name": "key", "sensitive": true, "default": planted["default"]}}})
	answer("POST /v1/installs/acme/workflows", 409,
		api.Problem{Code: "odd", Title: "the token " + planted["token"] + " may not"})
	answer("GET /v1/installs/acme/states", 200,
		map[string]any{
			"items": []any{map[string]any{"lock": map[string]any{"info": map[string]any{"Who": planted["info"]}}}}})
	mux.HandleFunc("GET /v1/whoami", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprintln(w, "you sent", r.Header.Get("Authorization"))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// TestDebugShowsNoSecret checks that the log shows each exchange with its duration and
// bodies, and no secrets.
func TestDebugShowsNoSecret(t *testing.T) {
	s := talkative(t)
	var seen strings.Builder
	client, err := New(contexts.Context{URL: s.URL, Token: planted["token"]}, Debug(&seen, planted["token"]))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	sealed := seal.Sealed{KeyID: "key-1", Ciphertext: []byte("sealed-planted-5e5e")}
	_, _ = Decode[api.Credential](client.CreateCredential(ctx, api.NewCredential{Name: "github", Password: sealed}))
	hook, err := Decode[api.Webhook](client.CreateWebhook(ctx, api.NewWebhook{}))
	if err != nil || hook.Secret != planted["once"] {
		t.Errorf("what is masked on the screen is %q for the command, %v", hook.Secret, err)
	}
	_, _ = Decode[api.CreatedToken](client.CreateToken(ctx, api.NewToken{Name: "ci"}))
	_, _ = Decode[api.CreatedRunner](client.CreateRunner(ctx, api.NewRunner{Name: "berlin"}))
	_, _ = Decode[api.Install](client.GetInstall(ctx, "acme"))
	_, _ = Decode[api.App](client.GetApp(ctx, "hello"))
	_, _ = Decode[api.AppConfig](client.GetAppConfig(ctx, "hello", &api.GetAppConfigParams{}))
	_, _ = Decode[json.RawMessage](client.ListStates(ctx, "acme"))
	_, _ = Decode[api.Whoami](client.Whoami(ctx))
	_, _ = Decode[api.Asked](
		client.CreateWorkflow(ctx, "acme", &api.CreateWorkflowParams{},
			api.NewWorkflow{Kind: "action", Action: "migrate", Env: map[string]string{"A": planted["env"]},
				Inputs: map[string]string{"x": planted["run"]}}))
	_, _ = Decode[api.Install](
		client.UpdateInstallWithBody(ctx, "acme", "application/json",
			strings.NewReader(
				`{"inputs":[{"name":"key","sensitive":true,"value":"`+planted["input"]+`"}],"password":"`+planted["password"]+
					`"}`)))
	text := seen.String()
	for name, secret := range planted {
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))} {
			if strings.Contains(text, form) {
				t.Errorf("shows the planted %s", name)
			}
		}
	}
	if strings.Contains(text, base64.StdEncoding.EncodeToString(sealed.Ciphertext)) {
		t.Error("shows what is sealed")
	}
	for _, want := range []string{
		"> POST " + s.URL + "/v1/credentials (", `"name":"github"`, `"key_id":"key-1"`, `"ciphertext":"(masked)"`,
		"< 201 Created after ", ", by version 9.9.9 (API generation 1), request req_1", "bytes\n  {",
		`"value":"large"`, `"registration_token":"(masked)"`, "https://(masked)@git.example/x",
		"< 409 Conflict", `"action":"migrate"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("does not show %q in\n%s", want, text)
		}
	}
}

// TestDebugIsBounded checks that large and binary bodies are not logged, and
// that the log contains no control sequences.
func TestDebugIsBounded(t *testing.T) {
	kind, body := "", ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	}))
	defer s.Close()
	for name, c := range map[string]struct{ kind, body, want string }{
		"a page":         {"text/html", "<html>a \x1b[2Jproxy\n</html>", "\n  <html>a  [2Jproxy\n</html>\n"},
		"too large":      {"application/json", `{"a":"` + strings.Repeat("x", bodyKept) + `"}`, ", too large to show\n"},
		"long":           {"application/json", `{"a":"` + strings.Repeat("x", 3*bodyShown) + `"}`, "xxx…\n"},
		"no text":        {"application/gzip", "\x1f\x8b", ", application/gzip\n"},
		"cut off":        {"application/json", `{"password":"hus`, ", not JSON\n"},
		"not what it is": {"application/json", "<html>hush</html>", ", not JSON\n"},
	} {
		t.Run(name, func(t *testing.T) {
			kind, body = c.kind, c.body
			var seen strings.Builder
			client, err := New(contexts.Context{URL: s.URL, Token: "tok"}, Debug(&seen, "tok"))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = Decode[map[string]string](client.Whoami(t.Context()))
			if !strings.HasSuffix(seen.String(), c.want) || len(seen.String()) > 2*bodyShown ||
				strings.Contains(seen.String(), "hus") {
				t.Errorf("shows %.400q", seen.String())
			}
		})
	}
}

// TestDebugOfNoAnswer checks that the log shows why a request got no response.
func TestDebugOfNoAnswer(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close() // so that nothing listens on its address
	var seen strings.Builder
	client, err := New(contexts.Context{URL: s.URL}, Debug(&seen, ""))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Decode[api.Whoami](client.Whoami(t.Context()))
	if exitcode.CodeOf(err) != exitcode.Unreachable || !strings.Contains(seen.String(), "< no response after ") ||
		!strings.Contains(seen.String(), "refused") {
		t.Errorf("shows %q, %v", seen.String(), err)
	}
}
