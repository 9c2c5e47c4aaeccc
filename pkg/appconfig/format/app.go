package format

// SingleFile is nuon.APP.toml: a whole app in one file, the older form. Each section is a table, or an array of tables, that holds
// what the section's own file would.
type SingleFile struct {
	// Version of the format. Both mean the same; v2 is current.
	Version string `toml:"version" config:"one=v2|v1"`
	// Name for people, as in metadata.toml.
	DisplayName string `toml:"display_name" example:"Ledger"`
	// What the app is, in a sentence, as in metadata.toml.
	Description string `toml:"description" example:"Double-entry bookkeeping in your own account"`
	// Markdown, rendered for each install, as in metadata.toml.
	Readme string `toml:"readme" config:"template,file" example:"./README.md"`
	// Texts that stand for {{.KEY}} everywhere in the file.
	ConfigVars map[string]string `toml:"config_vars" example:"region=eu-central-1"`

	// What would be in inputs.toml.
	Inputs *Inputs `toml:"inputs"`
	// What would be in sandbox.toml.
	Sandbox *Sandbox `toml:"sandbox"`
	// What would be in runner.toml.
	Runner *Runner `toml:"runner"`
	// What would be in stack.toml.
	Stack *Stack `toml:"stack"`
	// What would be in secrets.toml.
	Secrets *Secrets `toml:"secrets"`
	// What would be in permissions.toml.
	Permissions *Permissions `toml:"permissions"`
	// What would be in break_glass.toml.
	BreakGlass *BreakGlass `toml:"break_glass"`
	// What would be in operation_roles.toml.
	OperationRoles *OperationRoles `toml:"operation_roles"`
	// What would be in kubernetes_contexts.toml.
	KubernetesContexts *KubernetesContexts `toml:"kubernetes_contexts"`
	// What would be in policies.toml.
	Policies *Policies `toml:"policies"`
	// What would be in installer.toml.
	Installer *Installer `toml:"installer"`
	// What would be in branch.toml.
	Branch *Branch `toml:"branch"`
	// What would be in the files below components/. The keys of the component's type stand in a table below it that is called like the
	// type, such as [components.helm_chart].
	Components []Component `toml:"components"`
	// What would be in the files below actions/.
	Actions []Action `toml:"actions"`
	// What would be in the files below runbooks/.
	Runbooks []Runbook `toml:"runbooks"`
	// What would be in the files below installs/.
	Installs []Install `toml:"installs"`
}
