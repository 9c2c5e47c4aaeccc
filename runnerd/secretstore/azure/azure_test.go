package azure_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/azure"
)

// vault is a stand-in for a Key Vault, and for the services that give tokens for it.
type vault struct {
	*testing.T
	url       string
	mutex     sync.Mutex
	secrets   map[string][]version
	deleted   map[string][]version
	throttled int
	denied    bool
	tokens    int // how many were given; only the last is accepted
	requests  []string
}

type version struct {
	value   string
	created int64
	enabled bool
}

func newVault(t *testing.T) (*vault, *azure.Store) {
	t.Helper()
	v := &vault{T: t, secrets: map[string][]version{}, deleted: map[string][]version{}}
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	v.url = server.URL
	t.Setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", server.URL)
	t.Setenv("AZURE_FEDERATED_TOKEN_FILE", "")
	t.Setenv("AZURE_CLIENT_ID", "")
	store, err := azure.OpenForTest(server.URL, time.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	return v, store
}

func (v *vault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	fail := func(code int, name, message string) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"code": name, "message": message}})
	}
	v.requests = append(v.requests, r.Method+" "+r.URL.Path)
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/metadata/identity/oauth2/token":
		if r.Header.Get("Metadata") != "true" || r.URL.Query().Get("resource") != "https://vault.azure.net" {
			v.Errorf("%v %v", r.Header, r.URL)
		}
		v.tokens++
		_ = json.NewEncoder(w).Encode(map[string]string{"access_token": fmt.Sprint("token-", v.tokens)})
		return
	case r.URL.Path == "/tenant-1/oauth2/v2.0/token":
		if r.FormValue("client_assertion") != "signed" || r.FormValue("scope") != "https://vault.azure.net/.default" {
			v.Errorf("%v", r.Form)
		}
		v.tokens++
		_ = json.NewEncoder(w).Encode(map[string]string{"access_token": fmt.Sprint("token-", v.tokens)})
		return
	case r.Header.Get("Authorization") != fmt.Sprint("Bearer token-", v.tokens):
		fail(http.StatusUnauthorized, "Unauthorized", "AKV10000: Request is missing a Bearer or PoP token.")
		return
	case r.URL.Query().Get("api-version") == "":
		fail(http.StatusBadRequest, "BadParameter", "api-version must be specified")
		return
	case v.throttled > 0:
		v.throttled--
		w.Header().Set("Retry-After", "0")
		fail(http.StatusTooManyRequests, "Throttled", "Request was not processed because too many requests were received.")
		return
	case v.denied:
		fail(http.StatusForbidden, "Forbidden", "Caller is not authorized to perform action on resource.")
		return
	}
	v.serve(w, r, parts[0], parts[1], len(parts) > 2, fail)
}

func (v *vault) serve(w http.ResponseWriter, r *http.Request, collection, name string, deeper bool,
	fail func(int, string, string)) {
	id := func(i int) string { return fmt.Sprintf("%s/secrets/%s/%032x", v.url, name, i+1) }
	all := v.secrets[name]
	switch {
	case collection == "deletedsecrets":
		v.secrets[name], v.deleted[name] = v.deleted[name], nil
		_, _ = w.Write([]byte("{}"))
	case r.Method == http.MethodPut && len(v.deleted[name]) > 0:
		fail(http.StatusConflict, "Conflict", "Secret is currently in a deleted but recoverable state")
	case r.Method == http.MethodPut:
		var body struct{ Value string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		v.secrets[name] = append(all, version{body.Value, int64(1000 + len(all)), true})
		_, _ = w.Write([]byte("{}"))
	case len(all) == 0:
		fail(http.StatusNotFound, "SecretNotFound", "A secret with (name/id) "+name+" was not found in this key vault.")
	case deeper: // its versions, one on a page, the newest first
		at := len(all) - 1
		if skip := r.URL.Query().Get("$skiptoken"); skip != "" {
			_, _ = fmt.Sscan(skip, &at)
		}
		page := map[string]any{"value": []any{map[string]any{"id": id(at),
			"attributes": map[string]any{"enabled": all[at].enabled, "created": all[at].created}}}}
		if at > 0 {
			page["nextLink"] = fmt.Sprintf("%s/secrets/%s/versions?api-version=7.4&$skiptoken=%d", v.url, name, at-1)
		}
		_ = json.NewEncoder(w).Encode(page)
	case r.Method == http.MethodDelete:
		v.deleted[name], v.secrets[name] = all, nil
		_, _ = w.Write([]byte("{}"))
	case !all[len(all)-1].enabled:
		fail(http.StatusForbidden, "Forbidden", "Operation get is not allowed on a disabled secret.")
	default:
		_ = json.NewEncoder(w).Encode(map[string]string{"id": id(len(all) - 1), "value": all[len(all)-1].value})
	}
}

var mail = secretstore.Name{Install: "ins_1", Secret: "smtp_password"}

const inVault = "ins-1-smtp-password"

func TestKeyVault(t *testing.T) {
	v, store := newVault(t)
	if _, err := store.Version(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) {
		t.Fatalf("of a secret that does not exist: %v", err)
	}
	for _, value := range []string{"one", "two"} {
		if err := store.Set(t.Context(), mail, seal.NewSecret([]byte(value))); err != nil {
			t.Fatal(err)
		}
	}
	v.requests = nil
	version, err := store.Version(t.Context(), mail)
	if err != nil || !strings.HasSuffix(version, "2") {
		t.Fatal(version, err)
	}
	for _, request := range v.requests {
		if request != "GET /secrets/"+inVault+"/versions" {
			t.Errorf("the version was found with %s", request)
		}
	}
	found, err := store.Get(t.Context(), mail)
	if err != nil || string(found.Secret.Reveal()) != "two" || found.Version != version {
		t.Fatal(found.Version, err)
	}
}

func TestDeletedSecret(t *testing.T) {
	v, store := newVault(t)
	v.secrets[inVault] = []version{{"a", 1, true}}
	if err := store.Delete(t.Context(), mail); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Get(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) {
		t.Error(err)
	}
	err := store.Set(t.Context(), mail, seal.NewSecret([]byte("b")))
	if err == nil || !strings.Contains(err.Error(), "being recovered; set it again") {
		t.Errorf("set after it was deleted: %v", err)
	}
	if err := store.Set(t.Context(), mail, seal.NewSecret([]byte("b"))); err != nil {
		t.Errorf("set again: %v", err)
	}
}

func TestTroubles(t *testing.T) {
	v, store := newVault(t)
	v.secrets[inVault] = []version{{"a", 1, true}}
	if _, err := store.Version(t.Context(), mail); err != nil {
		t.Fatal(err)
	}
	v.tokens++ // the one that the store has is not accepted any more
	if _, err := store.Version(t.Context(), mail); err != nil {
		t.Errorf("with a token that has expired: %v", err)
	}
	v.throttled = 3
	if _, err := store.Version(t.Context(), mail); err != nil {
		t.Errorf("throttled: %v", err)
	}
	v.denied = true
	if _, err := store.Version(t.Context(), mail); !errors.Is(err, secretstore.ErrNotPermitted) {
		t.Errorf("denied: %v", err)
	}
	v.denied, v.secrets[inVault][0].enabled = false, false
	if _, err := store.Version(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) {
		t.Errorf("the version of a disabled secret: %v", err)
	}
	if _, err := store.Get(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) ||
		errors.Is(err, secretstore.ErrNotPermitted) {
		t.Errorf("the value of a disabled secret: %v", err)
	}
}

// TestVersionsOfOneSecond checks that each of several versions of the same second changes what Version returns.
func TestVersionsOfOneSecond(t *testing.T) {
	v, store := newVault(t)
	seen := map[string]bool{}
	for i := range 3 {
		v.secrets[inVault] = append(v.secrets[inVault], version{fmt.Sprint(i), 1000, true})
		found, err := store.Version(t.Context(), mail)
		if err != nil || seen[found] {
			t.Errorf("%q %v", found, err)
		}
		seen[found] = true
	}
}

func TestWorkloadIdentity(t *testing.T) {
	v, store := newVault(t)
	v.secrets[inVault] = []version{{"a", 1, true}}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("signed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AZURE_FEDERATED_TOKEN_FILE", file)
	t.Setenv("AZURE_AUTHORITY_HOST", v.url)
	t.Setenv("AZURE_TENANT_ID", "tenant-1")
	if _, err := store.Get(t.Context(), mail); err != nil {
		t.Error(err)
	}
}

func TestAddresses(t *testing.T) {
	for _, wrong := range []string{"", "http://acme.vault.azure.net", "https://acme.example.com",
		"https://acme.vault.azure.net.example.com", "https://a@acme.vault.azure.net"} {
		if _, err := azure.Open(azure.Options{Vault: wrong}); err == nil {
			t.Errorf("%q is the address of a vault", wrong)
		}
	}
	v, store := newVault(t)
	for _, wrong := range []string{"https://other.vault.azure.net/secrets/x", v.url + "/secrets/a/b", v.url +
		"/secrets/a?b"} {
		if _, err := store.Get(t.Context(), secretstore.Name{Install: "ins_1", Secret: "db", Address: wrong}); err == nil {
			t.Errorf("%q is a secret of the vault", wrong)
		}
	}
}
