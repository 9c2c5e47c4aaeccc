package format

// Secrets is secrets.toml: the secrets of the app.
type Secrets struct {
	// The secrets.
	Secrets []Secret `toml:"secret" json:"secret,omitempty" config:"sorted=name"`
}

// Secret is a value that exists only in the store of secrets of the customer's account or cluster; a file below
// secrets/ contains a single one. Templates read it as .nuon.install.secrets.NAME; only the runner renders it.
type Secret struct {
	// Name of the secret. Its ARN is the stack output NAME_arn.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"smtp_password"`
	// Name that people see.
	DisplayName string `toml:"display_name" json:"display_name,omitempty" config:"template" example:"SMTP password"`
	// What it is for.
	Description string `toml:"description" json:"description,omitempty" config:"required,template" example:"Used to send mail"`
	// The customer must set it.
	Required bool `toml:"required" json:"required,omitempty"`
	// Generate the value in the customer's account: 63 characters without punctuation. Not with
	// required or default.
	AutoGenerate bool `toml:"auto_generate" json:"auto_generate,omitempty"`
	// Encoding of the value; base64 is decoded before the value is copied.
	Format string `toml:"format" json:"format,omitempty" config:"one=|base64"`
	// Value if the customer does not set one. Not with required or auto_generate.
	Default string `toml:"default" json:"default,omitempty" config:"template" example:"changeme"`
	// Copy it into the cluster.
	KubernetesSync bool `toml:"kubernetes_sync" json:"kubernetes_sync,omitempty"`
	// Namespace of the copy; required with kubernetes_sync.
	KubernetesSecretNamespace string `toml:"kubernetes_secret_namespace" json:"kubernetes_secret_namespace,omitempty" config:"template" example:"ledger"`
	// Name of the copy, in which the key is named value; required with kubernetes_sync.
	KubernetesSecretName string `toml:"kubernetes_secret_name" json:"kubernetes_secret_name,omitempty" config:"template" example:"smtp-password"`
	// Address of a secret that exists already, as an output of a component has it, for example that of a database which
	// manages its own password. Nothing but the output: {{ .nuon.components.NAME.outputs.OUTPUT }}. Not with required,
	// auto_generate or customer_managed.
	Address string `toml:"address" json:"address,omitempty" config:"template" example:"{{ .nuon.components.database.outputs.password_arn }}"`
	// The customer stores the value; the stack does not create it.
	CustomerManaged bool `toml:"customer_managed" json:"customer_managed,omitempty"`
	// More copies, each with a different destination.
	KubernetesSyncTargets []SyncTarget `toml:"kubernetes_sync_targets" json:"kubernetes_sync_targets,omitempty"`

	UserConfigurable Unsupported `toml:"user_configurable" json:"-" hint:"remove it: secrets are always the customer's"`
}

// SyncTarget is a Kubernetes secret that a secret is copied to.
type SyncTarget struct {
	// Namespaces of the copies.
	Namespaces []string `toml:"namespaces" json:"namespaces,omitempty" config:"required,set,template" example:"ledger"`
	// Name of the copies.
	Name string `toml:"name" json:"name,omitempty" config:"required,template" example:"smtp-password"`
	// Key in the copies.
	Key string `toml:"key" json:"key,omitempty" config:"template,default=value"`
}
