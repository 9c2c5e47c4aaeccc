package format

// Sandbox is sandbox.toml: the infrastructure that is provisioned first in each install, before all
// components. Every app has one.
type Sandbox struct {
	// The engine.
	Type string `toml:"type" json:"type,omitempty" config:"one=terraform|pulumi,default=terraform"`
	// Exact version of Terraform, which the runner downloads. Required if the engine is terraform.
	TerraformVersion string `toml:"terraform_version" json:"terraform_version,omitempty" example:"1.11.4"`
	Repositories
	// Terraform variables.
	Vars map[string]string `toml:"vars" json:"vars,omitempty" config:"template" example:"cluster_name=n-{{.nuon.install.id}}"`
	// Environment variables of the process.
	EnvVars map[string]string `toml:"env_vars" json:"env_vars,omitempty" config:"template" example:"DATADOG_HOST=https://api.datadoghq.eu"`
	// Files of Terraform variables. Later files override earlier ones, and all of them override
	// vars.
	VarFiles []VarFile `toml:"var_file" json:"var_file,omitempty"`
	// Language of a Pulumi program.
	Runtime string `toml:"runtime" json:"runtime,omitempty" config:"one=go|nodejs|python,idle"`
	// Stack configuration of a Pulumi program; keys have the form namespace:key.
	PulumiConfig map[string]string `toml:"pulumi_config" json:"pulumi_config,omitempty" config:"template,idle" example:"aws:region={{.nuon.install_stack.outputs.region}}"`
	// Number of automatic retries of a failed run.
	MaxAutoRetries int `toml:"max_auto_retries" json:"max_auto_retries,omitempty" config:"default=0"`
	// Roles that its operations run with.
	OperationRoles []OperationRole `toml:"operation_roles" json:"operation_roles,omitempty" config:"sorted=operation"`
	// When to check for drift.
	DriftSchedule string `toml:"drift_schedule" json:"drift_schedule,omitempty" config:"cron,idle" example:"0 3 * * *"`
	// Skip the apply if the plan has no changes. nuon always does this: true and false mean the
	// same.
	SkipNoops bool `toml:"skip_noops" json:"skip_noops,omitempty" config:"idle"`
	// Approve automatically if all policies pass.
	AutoApproveOnPoliciesPassing bool `toml:"auto_approve_on_policies_passing" json:"auto_approve_on_policies_passing,omitempty" config:"idle"`
	// A second TOML file whose keys override those of this file.
	Source string `toml:"source" json:"source,omitempty" example:"./shared.toml"`

	Var    Removed `toml:"var" json:"-" hint:"write a [vars] table"`
	EnvVar Removed `toml:"env_var" json:"-" hint:"write an [env_vars] table"`
}
