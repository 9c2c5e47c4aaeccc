package format

// Secrets is secrets.toml: the secrets of the app.
type Secrets struct {
	// The secrets.
	Secrets []Secret `toml:"secret" json:"secret,omitempty" config:"sorted=name"`
}

// Secret is a value that exists in the customer's account only, in its secret manager; alone in a file below secrets/. No template
// can read it.
type Secret struct {
	// Name. Its address is the stack output NAME_arn.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"smtp_password"`
	// Name for people.
	DisplayName string `toml:"display_name" json:"display_name,omitempty" config:"template" example:"SMTP password"`
	// What it is for.
	Description string `toml:"description" json:"description,omitempty" config:"required,template" example:"Used to send mail"`
	// The customer must give it.
	Required bool `toml:"required" json:"required,omitempty"`
	// It is made in the customer's account: 63 characters without punctuation. Not with required or default.
	AutoGenerate bool `toml:"auto_generate" json:"auto_generate,omitempty"`
	// How the value is written; base64 is decoded before it is copied.
	Format string `toml:"format" json:"format,omitempty" config:"one=|base64"`
	// Value if the customer gives none. Not with required or auto_generate.
	Default string `toml:"default" json:"default,omitempty" config:"template" example:"changeme"`
	// Copy it into the cluster.
	KubernetesSync bool `toml:"kubernetes_sync" json:"kubernetes_sync,omitempty"`
	// Namespace of the copy; needed with kubernetes_sync.
	KubernetesSecretNamespace string `toml:"kubernetes_secret_namespace" json:"kubernetes_secret_namespace,omitempty" config:"template" example:"ledger"`
	// Name of the copy, in which its key is value; needed with kubernetes_sync.
	KubernetesSecretName string `toml:"kubernetes_secret_name" json:"kubernetes_secret_name,omitempty" config:"template" example:"smtp-password"`
	// More copies; no two to the same place.
	KubernetesSyncTargets []SyncTarget `toml:"kubernetes_sync_targets" json:"kubernetes_sync_targets,omitempty"`

	UserConfigurable Unsupported `toml:"user_configurable" json:"-" hint:"remove it: secrets are always the customer's"`
}

// SyncTarget is a place in the cluster that a secret is copied to.
type SyncTarget struct {
	// Namespaces of the copies.
	Namespaces []string `toml:"namespaces" json:"namespaces,omitempty" config:"required,set,template" example:"ledger"`
	// Name of the copies.
	Name string `toml:"name" json:"name,omitempty" config:"required,template" example:"smtp-password"`
	// Key in them.
	Key string `toml:"key" json:"key,omitempty" config:"template,default=value"`
}
