package azureidentity_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/azureidentity"
)

const audience = "https://vault.azure.net"

// azure is a stand-in of both services that give tokens. It answers each request with the next answer.
type azure struct {
	*httptest.Server
	requests []*http.Request
	forms    []url.Values
	answers  []string
}

func newAzure(t *testing.T, answers ...string) *azure {
	t.Helper()
	a := &azure{answers: answers}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		a.requests, a.forms = append(a.requests, r), append(a.forms, r.Form)
		_, _ = fmt.Fprint(w, a.answers[min(len(a.requests), len(a.answers))-1])
	}))
	t.Cleanup(a.Close)
	for _, name := range []string{"AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", a.URL+"/")
	t.Setenv("AZURE_AUTHORITY_HOST", a.URL+"/")
	return a
}

func token(n int) string { return fmt.Sprintf(`{"access_token": "token-%d"}`, n) }

// TestMachine checks the request to the metadata service, and when a new token is requested.
func TestMachine(t *testing.T) {
	a := newAzure(t, token(1), token(2))
	t.Setenv("AZURE_CLIENT_ID", "client-1")
	identity := azureidentity.New(audience)
	for i, c := range []struct {
		renew bool
		want  string
	}{{false, "token-1"}, {false, "token-1"}, {true, "token-2"}, {false, "token-2"}} {
		if got, err := identity.Token(t.Context(), c.renew); got != c.want || err != nil {
			t.Errorf("token %d: %q, %v", i, got, err)
		}
	}
	if len(a.requests) != 2 {
		t.Fatalf("%d requests", len(a.requests))
	}
	first := a.requests[0]
	if first.Method != http.MethodGet || first.URL.Path != "/metadata/identity/oauth2/token" ||
		first.Header.Get("Metadata") != "true" || a.forms[0].Get("resource") != audience ||
		a.forms[0].Get("client_id") != "client-1" {
		t.Errorf("%s %s %v", first.Method, first.URL, first.Header)
	}
}

// TestWorkload checks that the token of a service account, which Kubernetes renews in its file, is read each time.
func TestWorkload(t *testing.T) {
	a := newAzure(t, token(1))
	file := filepath.Join(t.TempDir(), "token")
	t.Setenv("AZURE_FEDERATED_TOKEN_FILE", file)
	t.Setenv("AZURE_TENANT_ID", "a/../b")
	identity := azureidentity.New(audience)
	if _, err := identity.Token(t.Context(), false); err == nil {
		t.Error("a token without the file")
	}
	for _, assertion := range []string{"first", "second"} {
		if err := os.WriteFile(file, []byte(assertion+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := identity.Token(t.Context(), true); got != "token-1" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		last := a.forms[len(a.forms)-1]
		if last.Get("client_assertion") != assertion || last.Get("scope") != audience+"/.default" {
			t.Errorf("sent %v", last)
		}
	}
	if got := a.requests[0].URL.EscapedPath(); got != "/a%2F..%2Fb/oauth2/v2.0/token" {
		t.Errorf("the tenant is a part of the path: %s", got)
	}
}

// TestWrongAnswers checks that an answer without a token is an error that says what is wrong, in one line, and that
// no earlier token is used then.
func TestWrongAnswers(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"an error": {`{"error": "invalid_client", "error_description": "AADSTS7000215: wrong\nsecret"}`, "invalid_client AADSTS"},
		"nothing":  {"", "without JSON"}, "HTML": {"<html>", "without JSON"}, "no token": {"{}", "without a token"},
		"an empty token": {`{"access_token": ""}`, "without a token"}, "a long error": {
			`{"error": "` + strings.Repeat("x", 10_000) + `"}`, "xxx"},
		"too much": {`{"access_token": "` + strings.Repeat("x", 70<<10) + `"}`, "without JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			newAzure(t, token(1), c.answer, token(3))
			identity := azureidentity.New(audience)
			if _, err := identity.Token(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			got, err := identity.Token(t.Context(), true)
			if err == nil || got != "" || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n\r") ||
				len(err.Error()) > 1000 {
				t.Errorf("%q, %.200v", got, err)
			}
			if got, err := identity.Token(t.Context(), false); got != "token-3" || err != nil {
				t.Errorf("afterwards: %q, %v", got, err)
			}
		})
	}
}
