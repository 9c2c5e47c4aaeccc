package format

// Repository is a [public_repo] or a [connected_repo]: the git repository with the code.
type Repository struct {
	// owner/name on GitHub, or a URL for git clone. "." is the repository of the app, at the commit
	// that the config was read from; this value is an addition of nuon.
	Repo string `toml:"repo" json:"repo,omitempty" config:"required" example:"acme/infra"`
	// Directory in the repository; "." is its root.
	Directory string `toml:"directory" json:"directory,omitempty" config:"required" example:"modules/web"`
	// Branch, tag or full commit. Required unless repo is ".".
	Branch string `toml:"branch" json:"branch,omitempty" example:"main"`
}

// Repositories is the origin of code: exactly one of the two, if one is required.
type Repositories struct {
	// A repository that anyone can read.
	PublicRepo *Repository `toml:"public_repo" json:"public_repo,omitempty"`
	// A repository that is read with the org's credentials.
	ConnectedRepo *Repository `toml:"connected_repo" json:"connected_repo,omitempty"`
}

// OperationRole is the role that one operation runs with.
type OperationRole struct {
	// deploy or teardown for a component; provision, reprovision or deprovision for the sandbox.
	Operation string `toml:"operation" json:"operation,omitempty" config:"required,one=deploy|teardown|provision|reprovision|deprovision"`
	// Name of a role, as it is written in permissions.
	Role string `toml:"role" json:"role,omitempty" config:"required,template" example:"{{.nuon.install.id}}-deploy"`
}

// VarFile is a file of Terraform variables.
type VarFile struct {
	// The variables, as HCL or JSON.
	Contents string `toml:"contents" json:"contents,omitempty" config:"required,template,file" example:"./web.tfvars"`
}
