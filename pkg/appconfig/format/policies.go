package format

// Policies is policies.toml: checks that plans and manifests must pass.
type Policies struct {
	// The policies.
	Policies []Policy `toml:"policy" json:"policy,omitempty"`
}

// Policy is a check that plans must pass; a file below policies/ contains a single one.
type Policy struct {
	// Name. The default is the name of its file.
	Name string `toml:"name" json:"name,omitempty" example:"no-public-endpoint"`
	// What is checked.
	Type string `toml:"type" json:"type,omitempty" config:"required,known=kubernetes_cluster|sandbox|terraform_module|helm_chart|kubernetes_manifest|docker_build|container_image|pulumi" values:"runner_job_terraform_deploy=terraform_module,runner_job_helm_deploy=helm_chart"`
	// Language of the policy.
	Engine string `toml:"engine" json:"engine,omitempty" config:"one=kyverno|opa,default=kyverno"`
	// Names of the components that are checked, or "*".
	Components []string `toml:"components" json:"components,omitempty" config:"set" example:"database"`
	// A ClusterPolicy of Kyverno, or Rego in package nuon with deny, warn and pass.
	Contents string `toml:"contents" json:"contents,omitempty" config:"required,template,file" example:"./policies/no-public-endpoint.rego"`
}
