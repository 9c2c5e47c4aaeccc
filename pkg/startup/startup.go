// Package startup is what the reconciler tells whoever starts it, as JSON: where it listens (the ready file of `reconciler serve`)
// and how to get in (what `reconciler bootstrap -o json` prints). It holds only these forms. The reconciler writes them; `nuon dev`
// reads them.
package startup

import "time"

// The two namespaces of the embedded registry, and those that `nuon dev` uses below an external one's path: vendor's artifacts,
// and installs' sealed plans.
const (
	VendorNamespace  = "vendor"
	InstallNamespace = "install"
)

// Ready says that all listeners are up, and where.
type Ready struct {
	ControlURL string `json:"control_url"`
	RunnerURL  string `json:"runner_url"`
	// Registry is host:port of the embedded registry, or the host/path of the external one.
	Registry string `json:"registry"`
	// InsightURL is where metrics and status are; empty when nobody asked for them.
	InsightURL string `json:"insight_url,omitempty"`
}

// Admission is how to get in. It is a secret.
type Admission struct {
	Org      string `json:"org"`   // the org's name
	Token    string `json:"token"` // of an admin
	Registry struct {
		Vendor  RegistryAccess `json:"vendor"`
		Install RegistryAccess `json:"install"`
	} `json:"registry"`
}

// RegistryAccess is one namespace of the registry and the credential for it.
type RegistryAccess struct {
	Prefix   string `json:"repository_prefix"`
	Username string `json:"username"`
	Password string `json:"password"`
	// Expires is when the credential ends; zero when it does not say.
	Expires time.Time `json:"expires_at,omitzero"`
}
