package format

// Runbook is a file below runbooks/: steps that a person performs on an install.
type Runbook struct {
	// Name.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"roll_forward"`
	// What it is for.
	Description string `toml:"description" json:"description,omitempty" example:"Deploy the API and check it"`
	// Markdown, rendered for each install.
	Readme string `toml:"readme" json:"readme,omitempty" config:"template,file" example:"./runbooks/roll_forward.md"`
	// Labels, for searching.
	Labels map[string]string `toml:"labels" json:"labels,omitempty" example:"team=ledger"`
	// The steps, in this order.
	Steps []RunbookStep `toml:"steps" json:"steps,omitempty"`
	// Components that must be deployed first.
	Dependencies []string `toml:"dependencies" json:"dependencies,omitempty" config:"set" example:"api"`
	// Values that a run asks for. Their content is not checked.
	Input Any `toml:"input" json:"input,omitempty"`
	// The steps as notebook cells.
	Cells Any `toml:"cells" json:"cells,omitempty"`
}

// RunbookStep is one step of a runbook.
type RunbookStep struct {
	// Name.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"Deploy the API"`
	// What is done.
	Type string `toml:"type" json:"type,omitempty" config:"required,one=component_deploy|component_tear_down|action|sandbox_reprovision|sandbox_deprovision" values:"deploy=component_deploy"`
	// The component of the step, if its type requires one.
	ComponentName string `toml:"component_name" json:"component_name,omitempty" example:"api"`
	// Also deploy the components that depend on it.
	DeployDependents bool `toml:"deploy_dependents" json:"deploy_dependents,omitempty" config:"was=deploy_dependencies"`
	// Also tear down the components that depend on it.
	TearDownDependents bool `toml:"tear_down_dependents" json:"tear_down_dependents,omitempty"`
	// Do not deploy the components after the sandbox was reprovisioned.
	SkipComponentDeploys bool `toml:"skip_component_deploys" json:"skip_component_deploys,omitempty"`
	// Plan without applying.
	PlanOnly bool `toml:"plan_only" json:"plan_only,omitempty"`
	// The action of a step of type action, unless the step has a script or a command.
	ActionName string `toml:"action_name" json:"action_name,omitempty" example:"rotate_key"`
	// A program with its arguments, as in a step of an action.
	Command string `toml:"command" json:"command,omitempty" config:"template" example:"./check.sh --all"`
	// A script, including its #! line.
	InlineContents string `toml:"inline_contents" json:"inline_contents,omitempty" config:"template,file" example:"./scripts/check.sh"`
	// Environment variables of the script or command.
	EnvVars map[string]string `toml:"env_vars" json:"env_vars,omitempty" config:"template" example:"REGION={{.nuon.install_stack.outputs.region}}"`
	// How long it may take.
	Timeout string `toml:"timeout" json:"timeout,omitempty" config:"duration" example:"5m"`
	// Name of the role that it runs with.
	Role string `toml:"role" json:"role,omitempty" config:"template" example:"{{.nuon.install.id}}-maintenance"`
	Repositories
}
