package format

// Action is a file below actions/: scripts that run in an install.
type Action struct {
	// Name of the action: lower-case letters, digits, underscores and dashes.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"rotate_key"`
	// What it does.
	Description string `toml:"description" json:"description,omitempty" example:"Gives the API a new key"`
	// How long a run may take, at most 1h.
	Timeout string `toml:"timeout" json:"timeout,omitempty" config:"duration,default=5m"`
	// Parameters of each run. This is an addition of nuon.
	Inputs []ActionInput `toml:"inputs" json:"inputs,omitempty"`
	// When it runs.
	Triggers []Trigger `toml:"triggers" json:"triggers,omitempty" config:"required"`
	// Its steps, in the order in which they run.
	Steps []Step `toml:"steps" json:"steps,omitempty" config:"required"`
	// Components that must be deployed first.
	Dependencies []string `toml:"dependencies" json:"dependencies,omitempty" config:"set,idle" example:"api"`
	// Name of the role that it runs with. The default is the maintenance role.
	Role string `toml:"role" json:"role,omitempty" config:"template" example:"{{.nuon.install.id}}-maintenance"`
	// Name of the break-glass role that it runs with. This is the older form of role.
	BreakGlassRole string `toml:"break_glass_role" json:"break_glass_role,omitempty" config:"template" example:"{{.nuon.install.id}}-bucket-repair"`
	// Give its steps access to the cluster: the one that the runner is configured with, or that of
	// the sandbox's outputs. The default is no access.
	EnableKubeConfig bool `toml:"enable_kube_config" json:"enable_kube_config,omitempty"`
	// Name of the cluster that its steps connect to. The default is the cluster of the sandbox.
	KubernetesContext string `toml:"kubernetes_context" json:"kubernetes_context,omitempty" example:"edge"`
	// Container image that the steps run in.
	Image Any `toml:"image" json:"image,omitempty" config:"idle"`
	// Labels, for searching.
	Labels map[string]string `toml:"labels" json:"labels,omitempty" config:"idle" example:"team=ledger"`

	Label Unsupported `toml:"label" json:"-" hint:"write a [labels] table"`
}

// ActionInput is a parameter of an action: a value that each run receives.
type ActionInput struct {
	// Name of the input. Steps read the value from the environment variable NUON_INPUT_NAME.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"reason"`
	// What it does.
	Description string `toml:"description" json:"description,omitempty" example:"Why the key is rotated"`
	// Type of the value.
	Type string `toml:"type" json:"type,omitempty" config:"one=string|number|bool|json,default=string"`
	// Every run must set it.
	Required bool `toml:"required" json:"required,omitempty"`
	// Value of runs that do not set it.
	Default *string `toml:"default" json:"default,omitempty" example:"routine"`

	Sensitive Removed `toml:"sensitive" json:"-" hint:"declare a sensitive input of the app instead: the values of action inputs are stored and shown in plain text"`
}

// Trigger is an event after or before which an action runs.
type Trigger struct {
	// The event. Events of one component require component_name. An action can have many triggers.
	// Schedules, reprovisions, syncs of secrets and changes of roles do not start actions yet.
	Type string `toml:"type" json:"type,omitempty" config:"required,known=manual|cron|pre-provision|post-provision|pre-reprovision|post-reprovision|pre-deprovision|post-deprovision|pre-deploy-all-components|post-deploy-all-components|pre-teardown-all-components|post-teardown-all-components|post-provision-sandbox|pre-reprovision-sandbox|post-reprovision-sandbox|pre-deprovision-sandbox|post-deprovision-sandbox|pre-update-inputs|post-update-inputs|pre-secrets-sync|post-secrets-sync|pre-deploy-component|post-deploy-component|pre-teardown-component|post-teardown-component|pre-enable-component|post-enable-component|pre-disable-component|post-disable-component|role-enabled|role-disabled" example:"post-deploy-component" values:"pre-component-deploy=pre-deploy-component,post-component-deploy=post-deploy-component"`
	// The component of the event, if the event concerns one component.
	ComponentName string `toml:"component_name" json:"component_name,omitempty" example:"api"`
	// Schedule for type cron, in five fields. Actions do not start on a schedule yet.
	CronSchedule string `toml:"cron_schedule" json:"cron_schedule,omitempty" config:"cron,idle" example:"0 3 * * *"`
	// Position among the actions of the same event; lower numbers run first.
	Index int `toml:"index" json:"index,omitempty"`

	Schedule Unsupported `toml:"schedule" json:"-" hint:"write cron_schedule"`
}

// Step is one script or command of an action.
type Step struct {
	// Name, by which templates read its outputs: any text on one line.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"rotate"`
	// A script, including its #! line. Set this or command.
	InlineContents string `toml:"inline_contents" json:"inline_contents,omitempty" config:"template,file" example:"./scripts/check.sh"`
	// A program with its arguments: a file in the directory of the repository, such as ./check.sh, or one on
	// the runner's PATH.
	Command string `toml:"command" json:"command,omitempty" config:"template" example:"./check.sh --all"`
	// Environment variables of the step.
	EnvVars map[string]string `toml:"env_vars" json:"env_vars,omitempty" config:"template" example:"REGION={{.nuon.install_stack.outputs.region}}"`
	Repositories

	EnableKubeConfig Unsupported `toml:"enable_kube_config" json:"-" hint:"write it on the action, not on a step"`
}
