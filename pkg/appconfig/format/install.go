package format

// Install is a file below installs/: an install that should exist, and how.
type Install struct {
	// Name; no two installs of an app have the same.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"globex-prod"`
	// Who approves what changes it.
	ApprovalOption string `toml:"approval_option" json:"approval_option,omitempty" config:"one=prompt|approve-all,default=prompt" values:"auto=approve-all"`
	// With approve-all, let deletions through as well. This is an addition of nuon.
	AllowDestroy bool `toml:"allow_destroy" json:"allow_destroy,omitempty"`
	// The account on AWS.
	AWSAccount *AWSAccount `toml:"aws_account" json:"aws_account,omitempty"`
	// The account on Azure.
	AzureAccount *AzureAccount `toml:"azure_account" json:"azure_account,omitempty"`
	// The account on GCP.
	GCPAccount *GCPAccount `toml:"gcp_account" json:"gcp_account,omitempty"`
	// Values of inputs. Those of sensitive inputs are not read from files.
	Inputs Values `toml:"inputs" json:"inputs,omitempty" example:"min_nodes=3"`
	// Labels, by which branches choose their installs.
	Labels map[string]string `toml:"labels" json:"labels,omitempty" example:"ring=0"`
	// Toggleable components that it switches on or off.
	ComponentToggles map[string]bool `toml:"component_toggles" json:"component_toggles,omitempty" example:"cache=true"`
	// Keys of the stack that are other for this install.
	StackOverrides Any `toml:"stack_overrides" json:"stack_overrides,omitempty" config:"idle"`
}

// AWSAccount is where an install is on AWS.
type AWSAccount struct {
	// Region, which never changes.
	Region string `toml:"region" json:"region,omitempty" example:"eu-central-1"`
}

// AzureAccount is where an install is on Azure.
type AzureAccount struct {
	// Location, which never changes.
	Location string `toml:"location" json:"location,omitempty" example:"germanywestcentral"`
}

// GCPAccount is where an install is on GCP.
type GCPAccount struct {
	// Project, which never changes.
	ProjectID string `toml:"project_id" json:"project_id,omitempty" example:"globex-ledger"`
	// Region, which never changes.
	Region string `toml:"region" json:"region,omitempty" example:"europe-west3"`
}

// InstallSource is installs.toml: where the files of installs are, if not in the app's repository.
type InstallSource struct {
	Repositories
}
