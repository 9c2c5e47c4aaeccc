package gcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/gcp"
)

const base = "/v1/projects/acme-prod/secrets"

// manager is a stand-in for Secret Manager.
type manager struct {
	*testing.T
	mutex     sync.Mutex
	secrets   map[string][]string // the payloads of the versions, by the name of the secret
	disabled  map[string]bool
	denied    map[string]bool
	throttled int
	token     string // the token that is accepted
	requests  []string
}

func newManager(t *testing.T) (*manager, *gcp.Store) {
	t.Helper()
	m := &manager{T: t, secrets: map[string][]string{}, disabled: map[string]bool{}, denied: map[string]bool{},
		token: "first"}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	store, err := gcp.Open(gcp.Options{Project: "acme-prod", Endpoint: server.URL, FirstPause: time.Microsecond,
		Token: func(_ context.Context, renew bool) (string, error) {
			if renew {
				return "second", nil
			}
			return "first", nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return m, store
}

func (m *manager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	path := strings.TrimPrefix(r.URL.Path, base)
	m.requests = append(m.requests, r.Method+" "+path)
	fail := func(code int, status, message string) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": code, "status": status,
			"message": message}})
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	name, verb, _ := strings.Cut(name, ":")
	versions, known := m.secrets[name]
	switch {
	case r.Header.Get("Authorization") != "Bearer "+m.token:
		fail(http.StatusUnauthorized, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
	case m.throttled > 0:
		m.throttled--
		fail(http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Access requests'")
	case m.denied[name]:
		fail(http.StatusForbidden, "PERMISSION_DENIED", "Permission 'secretmanager.versions.access' denied")
	case r.Method == http.MethodPost && path == "":
		if body := decode(r); body["replication"] == nil {
			fail(http.StatusBadRequest, "INVALID_ARGUMENT", "Secret.replication must be provided.")
			return
		}
		m.secrets[r.URL.Query().Get("secretId")] = []string{}
	case !known || rest != "" && len(versions) == 0:
		fail(http.StatusNotFound, "NOT_FOUND", "Secret ["+name+"] not found or has no versions.")
	case verb == "addVersion":
		payload, _ := decode(r)["payload"].(map[string]any)
		m.secrets[name] = append(versions, fmt.Sprint(payload["data"]))
	case rest == "versions/latest":
		state := "ENABLED"
		if m.disabled[name] {
			state = "DISABLED"
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"state": state,
			"name": fmt.Sprintf("projects/77/secrets/%s/versions/%d", name, len(versions))})
	case rest == "versions/latest:access" && m.disabled[name]:
		fail(http.StatusBadRequest, "FAILED_PRECONDITION", "Secret Version is in DISABLED state.")
	case rest == "versions/latest:access":
		_ = json.NewEncoder(w).Encode(map[string]any{"payload": map[string]string{"data": versions[len(versions)-1]},
			"name": fmt.Sprintf("projects/77/secrets/%s/versions/%d", name, len(versions))})
	case r.Method == http.MethodDelete:
		delete(m.secrets, name)
	default:
		m.Errorf("%s %s", r.Method, r.URL)
	}
}

func decode(r *http.Request) map[string]any {
	body := map[string]any{}
	_ = json.NewDecoder(r.Body).Decode(&body)
	return body
}

var mail = secretstore.Name{Install: "ins_1", Secret: "smtp_password"}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func TestSecretManager(t *testing.T) {
	m, store := newManager(t)
	if _, err := store.Version(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) {
		t.Fatalf("of a secret that does not exist: %v", err)
	}
	for _, value := range []string{"one", "two"} {
		if err := store.Set(t.Context(), mail, seal.NewSecret([]byte(value))); err != nil {
			t.Fatal(err)
		}
	}
	if version, err := store.Version(t.Context(), mail); err != nil || version != "2" {
		t.Fatal(version, err)
	}
	if got := m.secrets["ins_1-smtp_password"]; len(got) != 2 {
		t.Errorf("the secret is not named as the install stack names it: %v", m.secrets)
	}
	found, err := store.Get(t.Context(), mail)
	if err != nil || string(found.Secret.Reveal()) != "two" || found.Version != "2" {
		t.Fatal(found.Version, err)
	}
	if err := store.Delete(t.Context(), mail); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Get(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) {
		t.Error(err)
	}
}

// TestVersionReadsNoValue checks that a change is found without the value.
func TestVersionReadsNoValue(t *testing.T) {
	m, store := newManager(t)
	m.secrets["ins_1-smtp_password"] = []string{encoded("a")}
	if version, err := store.Version(t.Context(), mail); err != nil || version != "1" {
		t.Fatal(version, err)
	}
	if got := strings.Join(m.requests, "; "); got != "GET /ins_1-smtp_password/versions/latest" {
		t.Error(got)
	}
}

func TestTroubles(t *testing.T) {
	m, store := newManager(t)
	m.secrets["ins_1-smtp_password"] = []string{encoded("a")}
	m.throttled = 3
	if version, err := store.Version(t.Context(), mail); err != nil || version != "1" {
		t.Errorf("throttled: %s %v", version, err)
	}
	m.token = "second"
	if version, err := store.Version(t.Context(), mail); err != nil || version != "1" {
		t.Errorf("with a token that has expired: %s %v", version, err)
	}
	m.token = "third"
	if _, err := store.Version(t.Context(), mail); err == nil || errors.Is(err, secretstore.ErrNotPermitted) {
		t.Errorf("with a token that is never accepted: %v", err)
	}
	m.token, m.disabled["ins_1-smtp_password"] = "first", true
	if _, err := store.Version(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) {
		t.Errorf("the version of a disabled secret: %v", err)
	}
	if _, err := store.Get(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) {
		t.Errorf("the value of a disabled secret: %v", err)
	}
	m.denied["ins_1-smtp_password"] = true
	if _, err := store.Get(t.Context(), mail); !errors.Is(err, secretstore.ErrNotPermitted) || errors.Is(err,
		secretstore.ErrMissing) {
		t.Errorf("denied: %v", err)
	}
}

func TestNames(t *testing.T) {
	m, store := newManager(t)
	for _, name := range []secretstore.Name{{Install: "ins_1", Secret: "a.b"},
		{Install: "ins_1", Secret: "db", Address: "projects/other/secrets/x/versions/1:access?"}} {
		if _, err := store.Get(t.Context(), name); err == nil {
			t.Errorf("%v is accepted", name)
		}
	}
	if len(m.requests) > 0 {
		t.Errorf("%q", m.requests)
	}
	if _, err := gcp.Open(gcp.Options{Project: "a/b"}); err == nil {
		t.Error("a/b is a project")
	}
}
