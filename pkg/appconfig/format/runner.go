package format

// Runner is runner.toml: the machine in the customer's account that does the work.
type Runner struct {
	// The cloud, and what kind of machine.
	Type string `toml:"runner_type" json:"runner_type,omitempty" config:"required,one=aws|azure|gcp|aws-eks|aws-ecs|azure-aks|azure-acs|local"`
	// Environment of the runner.
	EnvVars map[string]string `toml:"env_vars" json:"env_vars,omitempty" config:"template,idle" example:"LOG_LEVEL=info"`
	// Where Helm keeps its release records, unless a component's storage_driver says otherwise: nuon is the same as configmap.
	HelmDriver string `toml:"helm_driver" json:"helm_driver,omitempty" config:"one=configmap|secret|nuon"`
	// Script that the machine boots with.
	InitScriptURL string `toml:"init_script_url" json:"init_script_url,omitempty" config:"url,idle" example:"https://templates.example.com/init.sh"`
	// Size of the machine.
	InstanceType string `toml:"instance_type" json:"instance_type,omitempty" config:"default=t3a.medium,idle"`
	// A second TOML file whose keys are laid over this one's.
	Source string `toml:"source" json:"source,omitempty" example:"./shared.toml"`

	EnvVar Removed `toml:"env_var" json:"-" hint:"write an [env_vars] table"`
}

// Stack is stack.toml: what the customer runs first, by hand, to let the runner in.
type Stack struct {
	// Who runs it.
	Type string `toml:"type" json:"type,omitempty" config:"one=aws-cloudformation|aws-terraform|azure-bicep|gcp-terraform"`
	// Name of the stack.
	Name string `toml:"name" json:"name,omitempty" config:"required,template" example:"ledger-{{.nuon.install.id}}"`
	// What the customer reads about it.
	Description string `toml:"description" json:"description,omitempty" config:"required,template" example:"Lets the runner of {{.nuon.install.id}} in"`
	// Template of the network; needed on AWS.
	VPCNestedTemplateURL string `toml:"vpc_nested_template_url" json:"vpc_nested_template_url,omitempty" config:"template,url" example:"https://templates.example.com/vpc.yaml"`
	// Template of the runner's machines; needed on AWS.
	RunnerNestedTemplateURL string `toml:"runner_nested_template_url" json:"runner_nested_template_url,omitempty" config:"template,url" example:"https://templates.example.com/runner.yaml"`
	// More templates; their outputs are .nuon.install_stack.outputs.custom_nested_stacks.NAME.
	CustomNestedStacks []NestedStack `toml:"custom_nested_stacks" json:"custom_nested_stacks,omitempty" config:"sorted=name"`
	// What an Azure deployment is made in.
	DeploymentScope string `toml:"deployment_scope" json:"deployment_scope,omitempty" example:"subscription"`
}

// NestedStack is one more template of the stack.
type NestedStack struct {
	// Name, by which its outputs are found.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"database"`
	// An S3 address on AWS, https on Azure, REPO//gcp/modules/NAME on GCP.
	TemplateURL string `toml:"template_url" json:"template_url,omitempty" config:"required,template" example:"https://templates.example.com/database.yaml"`
	// Place in the order of creation; no two are the same.
	Index *int `toml:"index" json:"index,omitempty"`
	// Parameters. They can read the install's id, inputs, the app and the org, nothing else.
	Parameters map[string]string `toml:"parameters" json:"parameters,omitempty" config:"template" example:"Size={{.nuon.inputs.inputs.size}}"`
}
