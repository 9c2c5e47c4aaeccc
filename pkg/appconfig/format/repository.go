package format

// Repository is a [public_repo] or a [connected_repo]: where the code of something comes from.
type Repository struct {
	// owner/name on GitHub, or the URL that git clones. "." is the repository that the app itself lives in, at the very commit
	// that the config was read from; that value is an addition of nuon.
	Repo string `toml:"repo" json:"repo,omitempty" config:"required" example:"acme/infra"`
	// The directory below the root of the repository; "." is the root.
	Directory string `toml:"directory" json:"directory,omitempty" config:"required" example:"modules/web"`
	// Branch, tag or full commit. Not used when repo is ".", else needed.
	Branch string `toml:"branch" json:"branch,omitempty" example:"main"`
}

// Repositories is how a file names where its code comes from: exactly one of the two, where one is needed.
type Repositories struct {
	// A repository that anybody can read.
	PublicRepo *Repository `toml:"public_repo" json:"public_repo,omitempty"`
	// A repository that is read with the org's own access.
	ConnectedRepo *Repository `toml:"connected_repo" json:"connected_repo,omitempty"`
}

// OperationRole is the role that one operation runs with.
type OperationRole struct {
	// Of a component deploy or teardown; of the sandbox provision, reprovision or deprovision.
	Operation string `toml:"operation" json:"operation,omitempty" config:"required,one=deploy|teardown|provision|reprovision|deprovision"`
	// Name of a role that permissions declare, as it is written there.
	Role string `toml:"role" json:"role,omitempty" config:"required,template" example:"{{.nuon.install.id}}-deploy"`
}

// VarFile is a file of Terraform variables.
type VarFile struct {
	// The variables, as HCL or JSON.
	Contents string `toml:"contents" json:"contents,omitempty" config:"required,template,file" example:"./web.tfvars"`
}
