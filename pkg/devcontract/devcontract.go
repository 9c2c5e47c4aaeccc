// Package devcontract defines what the reconciler reports to the program that starts it, as JSON: its
// addresses (the ready file of `reconciler serve`) and the first credentials (the output of
// `reconciler bootstrap -o json`). It contains only these formats. The reconciler writes them, and
// `nuon dev` reads them.
package devcontract

import "time"

// The two namespaces of the embedded registry, which `nuon dev` also uses below the path of an
// external registry: for vendors' artifacts, and for the sealed plans of installs.
const (
	VendorNamespace  = "vendor"
	InstallNamespace = "install"
)

// Ready reports the addresses of all listeners, which are open.
type Ready struct {
	ControlURL string `json:"control_url"`
	RunnerURL  string `json:"runner_url"`
	// Registry is host:port of the embedded registry, or host/path of the external one.
	Registry string `json:"registry"`
	// MetricsURL is the URL of metrics and status; empty if they are disabled.
	MetricsURL string `json:"metrics_url,omitempty"`
}

// BootstrapCredentials contains the first credentials. It is a secret.
type BootstrapCredentials struct {
	Org      string `json:"org"`   // the org's name
	Token    string `json:"token"` // an admin's token
	Registry struct {
		Vendor  RegistryAccess `json:"vendor"`
		Install RegistryAccess `json:"install"`
	} `json:"registry"`
}

// RegistryAccess is one namespace of the registry with the credential for it.
type RegistryAccess struct {
	Prefix   string `json:"repository_prefix"`
	Username string `json:"username"`
	Password string `json:"password"`
	// Expires is the expiry of the credential; zero if it is unknown.
	Expires time.Time `json:"expires_at,omitzero"`
}
