package format

// Install is a file below installs/: an install that should exist, with its settings.
type Install struct {
	// Name, which must be unique among the installs of the app.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"globex-prod"`
	// Who approves its changes.
	ApprovalOption string `toml:"approval_option" json:"approval_option,omitempty" config:"one=prompt|approve-all,default=prompt" values:"auto=approve-all"`
	// Let approve-all approve deletions too. This is an addition of nuon.
	AllowDestroy bool `toml:"allow_destroy" json:"allow_destroy,omitempty"`
	// The account on AWS.
	AWSAccount *AWSAccount `toml:"aws_account" json:"aws_account,omitempty"`
	// The account on Azure.
	AzureAccount *AzureAccount `toml:"azure_account" json:"azure_account,omitempty"`
	// The account on GCP.
	GCPAccount *GCPAccount `toml:"gcp_account" json:"gcp_account,omitempty"`
	// Values of inputs. Those of sensitive inputs are not read from files.
	Inputs Values `toml:"inputs" json:"inputs,omitempty" example:"min_nodes=3"`
	// Labels, by which branches select their installs.
	Labels map[string]string `toml:"labels" json:"labels,omitempty" example:"ring=0"`
	// Toggleable components that it enables or disables.
	ComponentToggles map[string]bool `toml:"component_toggles" json:"component_toggles,omitempty" example:"cache=true"`
	// Values of components that differ for this install. Below [components.NAME], helm_values of a helm_chart is
	// YAML that is merged over all other values, and tf_vars of a terraform_module is a tfvars text (HCL or JSON)
	// whose variables override all others. Both are templates like those of the component.
	Components Any `toml:"components" json:"components,omitempty"`
	// Keys of the stack that differ for this install.
	StackOverrides Any `toml:"stack_overrides" json:"stack_overrides,omitempty" config:"idle"`
}

// AWSAccount is the location of an install on AWS.
type AWSAccount struct {
	// Account, which cannot change once it is set. The stack can be created in no other, and only machines in it can
	// register by their identity. Without it, a person of the vendor confirms the first account that reports.
	AccountID string `toml:"account_id" json:"account_id,omitempty" example:"123456789012"`
	// Region, which cannot change.
	Region string `toml:"region" json:"region,omitempty" example:"eu-central-1"`
}

// AzureAccount is the location of an install on Azure.
type AzureAccount struct {
	// Subscription, which cannot change once it is set.
	SubscriptionID string `toml:"subscription_id" json:"subscription_id,omitempty" example:"0b1f6471-1bf0-4dda-aec3-cb9272f09590"`
	// Tenant of the subscription, which cannot change once it is set.
	TenantID string `toml:"tenant_id" json:"tenant_id,omitempty" example:"72f988bf-86f1-41af-91ab-2d7cd011db47"`
	// Location, which cannot change.
	Location string `toml:"location" json:"location,omitempty" example:"germanywestcentral"`
}

// GCPAccount is the location of an install on GCP.
type GCPAccount struct {
	// Project, which cannot change.
	ProjectID string `toml:"project_id" json:"project_id,omitempty" example:"globex-ledger"`
	// Region, which cannot change.
	Region string `toml:"region" json:"region,omitempty" example:"europe-west3"`
}

// InstallSource is installs.toml: the repository with the install files, if it is not that of the
// app.
type InstallSource struct {
	Repositories
}
