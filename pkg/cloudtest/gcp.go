package cloudtest

import (
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// GCP is the part of a cloud that stands for Google Cloud: the keys of its identity tokens, and metadata servers.
type GCP struct {
	cloud  *Cloud
	issuer *issuer
	logins logins
}

// Machine is a virtual machine of a project on GCP.
type Machine struct {
	Project, Zone, ServiceAccount, ID, Name string
	// Attributes are custom metadata, by name.
	Attributes map[string]string
}

func newGCP(c *Cloud) *GCP {
	g := &GCP{cloud: c, issuer: &issuer{URL: "https://accounts.google.com"}}
	c.hosts["www.googleapis.com"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/oauth2/v3/certs" {
			http.NotFound(w, r)
			return
		}
		g.issuer.serveKeys(w, r)
	})
	return g
}

// SignToken returns a token of Google with any claims, as Google itself would never sign them.
func (g *GCP) SignToken(claims map[string]any) string { return g.issuer.sign(jose.RS256, claims) }

// IdentityToken returns the identity token of a machine for an audience.
func (g *GCP) IdentityToken(m Machine, audience string) string {
	now := g.cloud.Now()
	return g.SignToken(map[string]any{
		"iss": g.issuer.URL, "aud": audience, "azp": "100", "sub": "100", "email": m.ServiceAccount, "email_verified": true,
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"google": map[string]any{"compute_engine": map[string]any{
			"project_id": m.Project, "project_number": 1, "zone": m.Zone, "instance_id": m.ID, "instance_name": m.Name,
			"instance_creation_timestamp": now.Add(-time.Hour).Unix(),
		}},
	})
}

// StartMachine starts the metadata server of a machine. It returns the variables by which the libraries in a program
// find it, and a function that sets a custom attribute.
func (g *GCP) StartMachine(m Machine) (environ []string, set func(name, value string), err error) {
	var mu sync.Mutex
	attributes := map[string]string{}
	for name, value := range m.Attributes {
		attributes[name] = value
	}
	mux := http.NewServeMux()
	text := func(value string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(value)) }
	}
	const base = "GET /computeMetadata/v1/"
	mux.HandleFunc("GET /{$}", text("computeMetadata/"))
	mux.HandleFunc(base+"project/project-id", text(m.Project))
	mux.HandleFunc(base+"instance/id", text(m.ID))
	mux.HandleFunc(base+"instance/zone", text("projects/1/zones/"+m.Zone))
	mux.HandleFunc(base+"instance/service-accounts/default/email", text(m.ServiceAccount))
	mux.HandleFunc(base+"instance/service-accounts/default/identity", func(w http.ResponseWriter, r *http.Request) {
		audience := r.URL.Query().Get("audience")
		if audience == "" {
			http.Error(w, "non-empty audience parameter required", http.StatusBadRequest)
			return
		}
		_, _ = w.Write([]byte(g.IdentityToken(m, audience)))
	})
	mux.HandleFunc(base+"instance/service-accounts/default/token", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"access_token": g.AccessToken(m), "token_type": "Bearer",
			"expires_in": int(googleLife.Seconds())})
	})
	mux.HandleFunc(base+"instance/attributes/{name}", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		value, found := attributes[r.PathValue("name")]
		mu.Unlock()
		if !found {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(value))
	})
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Metadata-Flavor", "Google")
		if r.URL.Path != "/" && r.Header.Get("Metadata-Flavor") != "Google" {
			http.Error(w, "Missing Metadata-Flavor:Google header.", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
	address, err := g.cloud.servePlain(guarded)
	set = func(name, value string) {
		mu.Lock()
		defer mu.Unlock()
		attributes[name] = value
	}
	return []string{"GCE_METADATA_HOST=" + address}, set, err
}
