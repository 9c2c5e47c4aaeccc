package format

// Runner is runner.toml: the machine in the customer's account that runs the jobs.
type Runner struct {
	// The cloud and the type of machine.
	Type string `toml:"runner_type" json:"runner_type,omitempty" config:"required,one=aws|azure|gcp|aws-eks|aws-ecs|azure-aks|azure-acs|local"`
	// Environment variables of the runner.
	EnvVars map[string]string `toml:"env_vars" json:"env_vars,omitempty" config:"template,idle" example:"LOG_LEVEL=info"`
	// Where Helm stores its release records, unless a component sets storage_driver. nuon means the
	// same as configmap.
	HelmDriver string `toml:"helm_driver" json:"helm_driver,omitempty" config:"one=configmap|secret|nuon"`
	// Script that the machine runs when it boots.
	InitScriptURL string `toml:"init_script_url" json:"init_script_url,omitempty" config:"url,idle" example:"https://templates.example.com/init.sh"`
	// Size of the machine in the install stack.
	InstanceType string `toml:"instance_type" json:"instance_type,omitempty" config:"default=t3a.medium"`
	// A second TOML file whose keys override those of this file.
	Source string `toml:"source" json:"source,omitempty" example:"./shared.toml"`

	EnvVar Removed `toml:"env_var" json:"-" hint:"write an [env_vars] table"`
}

// Stack is stack.toml: the infrastructure template that the customer applies first, to create the
// runner.
type Stack struct {
	// Tool that applies the stack. aws-terraform and azure-terraform are Terraform modules that deploy the template of
	// CloudFormation and of Azure.
	Type string `toml:"type" json:"type,omitempty" config:"one=aws-cloudformation|aws-terraform|azure-bicep|azure-terraform|gcp-terraform"`
	// Name of the stack.
	Name string `toml:"name" json:"name,omitempty" config:"required,template" example:"ledger-{{.nuon.install.id}}"`
	// Description for the customer.
	Description string `toml:"description" json:"description,omitempty" config:"required,template" example:"Lets the runner of {{.nuon.install.id}} in"`
	// Template of the network, which the template of nuon replaces. If the address contains byo-vpc, the customer
	// names an existing network.
	VPCNestedTemplateURL string `toml:"vpc_nested_template_url" json:"vpc_nested_template_url,omitempty" config:"template,url" example:"https://templates.example.com/vpc.yaml"`
	// Template of the runner's machines, which the template of nuon replaces.
	RunnerNestedTemplateURL string `toml:"runner_nested_template_url" json:"runner_nested_template_url,omitempty" config:"template,url" example:"https://templates.example.com/runner.yaml"`
	// More templates. Their outputs are .nuon.install_stack.outputs.custom_nested_stacks.NAME.
	CustomNestedStacks []NestedStack `toml:"custom_nested_stacks" json:"custom_nested_stacks,omitempty" config:"sorted=name"`
	// Scope of an Azure deployment.
	DeploymentScope string `toml:"deployment_scope" json:"deployment_scope,omitempty" config:"idle" example:"subscription"`
}

// NestedStack is an additional template of the stack.
type NestedStack struct {
	// Name, by which templates read its outputs.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"database"`
	// An S3 URL on AWS, an https URL on Azure, REPO//gcp/modules/NAME on GCP.
	TemplateURL string `toml:"template_url" json:"template_url,omitempty" config:"required,template" example:"https://templates.example.com/database.yaml"`
	// Digest of the template, which must not change without it: sha256: and 64 digits.
	Digest string `toml:"digest" json:"digest,omitempty" example:"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`
	// Position in the order of creation, which must be unique.
	Index *int `toml:"index" json:"index,omitempty"`
	// Parameters. Their templates can read only the install's ID, the inputs, the app and the org.
	Parameters map[string]string `toml:"parameters" json:"parameters,omitempty" config:"template" example:"Size={{.nuon.inputs.inputs.size}}"`
}
