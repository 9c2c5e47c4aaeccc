package format

// SingleFile is nuon.APP.toml: a whole app in one file, the older form. Each section is a table, or
// an array of tables, with the content of the section's separate file.
type SingleFile struct {
	// Version of the format. Both mean the same; v2 is current.
	Version string `toml:"version" config:"one=v2|v1"`
	// Name that people see, as in metadata.toml.
	DisplayName string `toml:"display_name" example:"Ledger"`
	// What the app is, in one sentence, as in metadata.toml.
	Description string `toml:"description" example:"Double-entry bookkeeping in your own account"`
	// Markdown, rendered for each install, as in metadata.toml.
	Readme string `toml:"readme" config:"template,file" example:"./README.md"`
	// Texts that replace {{.KEY}} everywhere in the file.
	ConfigVars map[string]string `toml:"config_vars" example:"region=eu-central-1"`

	// The content of inputs.toml.
	Inputs *Inputs `toml:"inputs"`
	// The content of sandbox.toml.
	Sandbox *Sandbox `toml:"sandbox"`
	// The content of runner.toml.
	Runner *Runner `toml:"runner"`
	// The content of stack.toml.
	Stack *Stack `toml:"stack"`
	// The content of secrets.toml.
	Secrets *Secrets `toml:"secrets"`
	// The content of permissions.toml.
	Permissions *Permissions `toml:"permissions"`
	// The content of break_glass.toml.
	BreakGlass *BreakGlass `toml:"break_glass"`
	// The content of operation_roles.toml.
	OperationRoles *OperationRoles `toml:"operation_roles"`
	// The content of kubernetes_contexts.toml.
	KubernetesContexts *KubernetesContexts `toml:"kubernetes_contexts"`
	// The content of policies.toml.
	Policies *Policies `toml:"policies"`
	// The content of installer.toml.
	Installer *Installer `toml:"installer"`
	// The content of branch.toml.
	Branch *Branch `toml:"branch"`
	// The content of the files below components/. The keys of the component's type are in a nested
	// table that is named after the type, such as [components.helm_chart].
	Components []Component `toml:"components"`
	// The content of the files below actions/.
	Actions []Action `toml:"actions"`
	// The content of the files below runbooks/.
	Runbooks []Runbook `toml:"runbooks"`
	// The content of the files below installs/.
	Installs []Install `toml:"installs"`
}
