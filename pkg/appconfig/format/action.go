package format

// Action is a file below actions/: scripts that run in an install.
type Action struct {
	// Name: lower-case letters, digits, underscores and dashes.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"rotate_key"`
	// What it does.
	Description string `toml:"description" json:"description,omitempty" example:"Gives the API a new key"`
	// How long a run may take, at most 1h.
	Timeout string `toml:"timeout" json:"timeout,omitempty" config:"duration,default=5m"`
	// What each run is given. This is an addition of nuon.
	Inputs []ActionInput `toml:"inputs" json:"inputs,omitempty"`
	// When it runs.
	Triggers []Trigger `toml:"triggers" json:"triggers,omitempty" config:"required"`
	// What it does, in this order.
	Steps []Step `toml:"steps" json:"steps,omitempty" config:"required"`
	// Components that must be deployed.
	Dependencies []string `toml:"dependencies" json:"dependencies,omitempty" config:"set,idle" example:"api"`
	// Name of the role that it runs with; that of maintenance if left out.
	Role string `toml:"role" json:"role,omitempty" config:"template,idle" example:"{{.nuon.install.id}}-maintenance"`
	// Name of the break-glass role that it runs with. An older form of role.
	BreakGlassRole string `toml:"break_glass_role" json:"break_glass_role,omitempty" config:"template,idle" example:"{{.nuon.install.id}}-bucket-repair"`
	// Its steps get access to the cluster: the one that the runner was given, or that of the sandbox's outputs. Only an action that says so does.
	EnableKubeConfig bool `toml:"enable_kube_config" json:"enable_kube_config,omitempty"`
	// Name of the cluster that its steps reach; the sandbox's if left out.
	KubernetesContext string `toml:"kubernetes_context" json:"kubernetes_context,omitempty" example:"edge"`
	// Container image that the steps run in.
	Image Any `toml:"image" json:"image,omitempty" config:"idle"`
	// Labels, by which people find it.
	Labels map[string]string `toml:"labels" json:"labels,omitempty" config:"idle" example:"team=ledger"`
}

// ActionInput is a parameter of an action: a value that each run is given.
type ActionInput struct {
	// Name. Steps see the value as NUON_INPUT_NAME.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"reason"`
	// What it does.
	Description string `toml:"description" json:"description,omitempty" example:"Why the key is rotated"`
	// What the value must look like.
	Type string `toml:"type" json:"type,omitempty" config:"one=string|number|bool|json,default=string"`
	// A run cannot do without.
	Required bool `toml:"required" json:"required,omitempty"`
	// Value of a run that gives none.
	Default *string `toml:"default" json:"default,omitempty" example:"routine"`

	Sensitive Removed `toml:"sensitive" json:"-" hint:"declare a sensitive input of the app instead: what is asked for with a run is kept and shown as it is"`
}

// Trigger is an occasion on which an action runs.
type Trigger struct {
	// The occasion. Those of one component name it in component_name. An action can have many. Those of a schedule, a reprovision, the
	// sync of secrets and the switch of a role start nothing yet.
	Type string `toml:"type" json:"type,omitempty" config:"required,known=manual|cron|pre-provision|post-provision|pre-reprovision|post-reprovision|pre-deprovision|post-deprovision|pre-deploy-all-components|post-deploy-all-components|pre-teardown-all-components|post-teardown-all-components|post-provision-sandbox|pre-reprovision-sandbox|post-reprovision-sandbox|pre-deprovision-sandbox|post-deprovision-sandbox|pre-update-inputs|post-update-inputs|pre-secrets-sync|post-secrets-sync|pre-deploy-component|post-deploy-component|pre-teardown-component|post-teardown-component|pre-enable-component|post-enable-component|pre-disable-component|post-disable-component|role-enabled|role-disabled" example:"post-deploy-component" values:"pre-component-deploy=pre-deploy-component,post-component-deploy=post-deploy-component"`
	// The component that it is about, where it is about one.
	ComponentName string `toml:"component_name" json:"component_name,omitempty" example:"api"`
	// When, for type cron: five fields. Nothing starts on a schedule yet.
	CronSchedule string `toml:"cron_schedule" json:"cron_schedule,omitempty" config:"cron,idle" example:"0 3 * * *"`
	// Place among the actions of one occasion.
	Index int `toml:"index" json:"index,omitempty"`

	Schedule Unsupported `toml:"schedule" json:"-" hint:"write cron_schedule"`
}

// Step is one script or command of an action.
type Step struct {
	// Name, by which its outputs are found.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"rotate"`
	// A script, with its #! line. Either this or command.
	InlineContents string `toml:"inline_contents" json:"inline_contents,omitempty" config:"template,file" example:"./scripts/check.sh"`
	// A program of the repository with its arguments.
	Command string `toml:"command" json:"command,omitempty" config:"template" example:"./check.sh --all"`
	// Environment of the step.
	EnvVars map[string]string `toml:"env_vars" json:"env_vars,omitempty" config:"template" example:"REGION={{.nuon.install_stack.outputs.region}}"`
	Repositories

	EnableKubeConfig Unsupported `toml:"enable_kube_config" json:"-" hint:"write it on the action, not on a step"`
}
