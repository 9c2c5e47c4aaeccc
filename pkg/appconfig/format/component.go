package format

// The kinds of component.
const (
	KindTerraformModule    = "terraform_module"
	KindHelmChart          = "helm_chart"
	KindContainerImage     = "container_image"
	KindDockerBuild        = "docker_build"
	KindKubernetesManifest = "kubernetes_manifest"
	KindPulumi             = "pulumi"
)

// Component is what all files below components/ have in common, whatever their type.
type Component struct {
	// The kind.
	Type string `toml:"type" json:"type,omitempty" config:"required,one=terraform_module|helm_chart|container_image|docker_build|kubernetes_manifest|pulumi" values:"external_image=container_image"`
	// Name, by which templates and other components know it: lower-case letters, digits and underscores.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"api"`
	// Another name for its outputs.
	VarName string `toml:"var_name" json:"var_name,omitempty" config:"idle" example:"backend"`
	// Components that must be deployed before, besides those whose outputs its templates read.
	Dependencies []string `toml:"dependencies" json:"dependencies,omitempty" config:"set" example:"database"`
	// How often a failed step is tried again by itself.
	MaxAutoRetries int `toml:"max_auto_retries" json:"max_auto_retries,omitempty" config:"default=0"`
	// Leave the apply out when the plan changes nothing. That is so in any case: true and false are the same.
	SkipNoops bool `toml:"skip_noops" json:"skip_noops,omitempty" config:"idle"`
	// Approve by rule when all policies pass.
	AutoApproveOnPoliciesPassing bool `toml:"auto_approve_on_policies_passing" json:"auto_approve_on_policies_passing,omitempty" config:"idle"`
	// How long a build may take, at most 1h.
	BuildTimeout string `toml:"build_timeout" json:"build_timeout,omitempty" config:"duration,default=5m"`
	// How long a deploy may take, at most 1h: its plan, and its apply with the wait until all is ready. If left out, 30m for a chart, 15m for
	// a manifest, 1h for Terraform and Pulumi.
	DeployTimeout string `toml:"deploy_timeout" json:"deploy_timeout,omitempty" config:"duration" example:"30m"`
	// When to look for drift.
	DriftSchedule string `toml:"drift_schedule" json:"drift_schedule,omitempty" config:"cron,idle" example:"0 3 * * *"`
	// Roles that operations run with.
	OperationRoles []OperationRole `toml:"operation_roles" json:"operation_roles,omitempty" config:"sorted=operation,idle"`
	// An install may switch it off and on.
	Toggleable bool `toml:"toggleable" json:"toggleable,omitempty"`
	// Of a toggleable one: it is on unless an install switches it off.
	DefaultEnabled bool `toml:"default_enabled" json:"default_enabled,omitempty"`
	// Name of the cluster that it goes to, of kubernetes_contexts.toml. It is deployed after the component that makes the cluster. The sandbox's
	// cluster, which is called sandbox, if left out.
	KubernetesContext string `toml:"kubernetes_context" json:"kubernetes_context,omitempty" example:"edge"`
	// Labels, by which people find it.
	Labels map[string]string `toml:"labels" json:"labels,omitempty" config:"idle" example:"team=ledger"`
	// A second TOML file whose keys are laid over this one's.
	Source string `toml:"source" json:"source,omitempty" example:"./shared.toml"`

	Timeout Unsupported `toml:"timeout" json:"-" hint:"write deploy_timeout or build_timeout"`
}

// TerraformModule is a component of type terraform_module: a module that is planned and applied in the customer's account.
type TerraformModule struct {
	Component
	// Exact version of Terraform; the runner gets it by itself.
	TerraformVersion string `toml:"terraform_version" json:"terraform_version,omitempty" config:"required" example:"1.11.4"`
	Repositories
	// Terraform variables. Each is given as a string, which Terraform converts to a number or a bool, but not to a list or an object: those go
	// into a var_file.
	Vars map[string]string `toml:"vars" json:"vars,omitempty" config:"template" example:"vpc_id={{.nuon.install_stack.outputs.vpc_id}}"`
	// Environment of the process.
	EnvVars map[string]string `toml:"env_vars" json:"env_vars,omitempty" config:"template" example:"DATADOG_HOST=https://api.datadoghq.eu"`
	// Files of Terraform variables; later ones win over earlier ones, and all of them over vars.
	VarFiles []VarFile `toml:"var_file" json:"var_file,omitempty"`

	Var    Removed `toml:"var" json:"-" hint:"write a [vars] table"`
	EnvVar Removed `toml:"env_var" json:"-" hint:"write an [env_vars] table"`
}

// HelmChart is a component of type helm_chart: a chart that is installed as one release. Its code comes from exactly one of public_repo,
// connected_repo and helm_repo.
type HelmChart struct {
	Component
	// Name of the Helm release: an RFC 1035 label of 5 to 53 characters.
	ChartName string `toml:"chart_name" json:"chart_name,omitempty" config:"required" example:"ledger-api"`
	Repositories
	// A chart repository, instead of a git repository.
	HelmRepo *HelmRepository `toml:"helm_repo" json:"helm_repo,omitempty"`
	// Namespace of the release, which is made if it is missing.
	Namespace string `toml:"namespace" json:"namespace,omitempty" config:"template,default={{.nuon.install.id}}"`
	// Where Helm keeps its release records, in the namespace of the release: nuon is the same as configmap. If left out, it is what
	// helm_driver of runner.toml says.
	StorageDriver string `toml:"storage_driver" json:"storage_driver,omitempty" config:"template,one=configmap|secret|nuon,default=configmap"`
	// Values, with keys as helm --set has them: dotted paths, quoted for literal keys. A value is one scalar, and keeps its type: true, 3 and
	// "3" are a bool, a number and a text, and none is split at commas. A text that is nothing but one expression keeps the type of what the
	// expression reads, so that an input of type number or bool becomes one. Any other text with expressions is a text.
	Values Scalars `toml:"values" json:"values,omitempty" config:"template" example:"image.tag={{.nuon.components.api_image.outputs.image.tag}}"`
	// Files of values; later ones win over earlier ones, and values over all of them.
	ValuesFiles []ValuesFile `toml:"values_file" json:"values_file,omitempty"`
	// Adopt objects that are already there.
	TakeOwnership bool `toml:"take_ownership" json:"take_ownership,omitempty"`

	Value Removed `toml:"value" json:"-" hint:"write a [values] table"`
}

// HelmRepository is a chart in a chart repository.
type HelmRepository struct {
	// Address of the repository: https:// with an index, or oci://.
	RepoURL string `toml:"repo_url" json:"repo_url,omitempty" config:"required" example:"https://charts.example.com"`
	// Name of the chart in it.
	Chart string `toml:"chart" json:"chart,omitempty" config:"required" example:"ledger-api"`
	// Version, or a range of them. If left out, the newest there is when it is built; it stays that until the config asks for another one.
	Version string `toml:"version" json:"version,omitempty" example:"1.4.0"`
}

// ValuesFile is a file of Helm values. Contents or path, not both.
type ValuesFile struct {
	// The values, as YAML.
	Contents string `toml:"contents" json:"contents,omitempty" config:"template,file,was=source" example:"./values/api.yaml"`
	// The file that holds them.
	Path string `toml:"path" json:"path,omitempty" config:"template" example:"./values/api.yaml"`
}

// ContainerImage is a component of type container_image: an image that others made, copied into the registry of each install. Exactly
// one of public, aws_ecr and gcp_gar.
type ContainerImage struct {
	Component
	// An image that anybody can pull.
	Public *PublicImage `toml:"public" json:"public,omitempty"`
	// An image in a registry on AWS.
	AWSECR *ECRImage `toml:"aws_ecr" json:"aws_ecr,omitempty"`
	// An image in a registry on GCP.
	GCPGAR *GARImage `toml:"gcp_gar" json:"gcp_gar,omitempty"`

	Device Unsupported `toml:"device" json:"-" hint:"remove it"`
}

// PublicImage is an image that anybody can pull.
type PublicImage struct {
	// Repository of the image, without the tag.
	ImageURL string `toml:"image_url" json:"image_url,omitempty" config:"required" example:"ghcr.io/acme/ledger-api"`
	// Tag.
	Tag string `toml:"tag" json:"tag,omitempty" config:"required" example:"2.3.1"`
}

// ECRImage is an image in Amazon's registry.
type ECRImage struct {
	// Role with which it is pulled.
	IAMRoleARN string `toml:"iam_role_arn" json:"iam_role_arn,omitempty" config:"required" example:"arn:aws:iam::123456789012:role/pull"`
	// Region of the registry.
	Region string `toml:"region" json:"region,omitempty" config:"required" example:"eu-central-1"`
	// Repository of the image.
	ImageURL string `toml:"image_url" json:"image_url,omitempty" config:"required" example:"123456789012.dkr.ecr.eu-central-1.amazonaws.com/ledger-api"`
	// Tag.
	Tag string `toml:"tag" json:"tag,omitempty" config:"required" example:"2.3.1"`
}

// GARImage is an image in Google's registry.
type GARImage struct {
	// Project of the registry.
	ProjectID string `toml:"gcp_project_id" json:"gcp_project_id,omitempty" config:"required" example:"acme-images"`
	// Region of the registry.
	Region string `toml:"region" json:"region,omitempty" config:"required" example:"europe-west3"`
	// Repository of the image.
	ImageURL string `toml:"image_url" json:"image_url,omitempty" config:"required" example:"europe-west3-docker.pkg.dev/acme-images/ledger/api"`
	// Tag.
	Tag string `toml:"tag" json:"tag,omitempty" config:"required" example:"2.3.1"`
	// Account with which it is pulled.
	ServiceAccountEmail string `toml:"service_account_email" json:"service_account_email,omitempty" example:"pull@acme-images.iam.gserviceaccount.com"`
	// Where its identity comes from.
	WorkloadIdentityProvider string `toml:"workload_identity_provider" json:"workload_identity_provider,omitempty" example:"projects/1/locations/global/workloadIdentityPools/nuon/providers/runner"`
}

// DockerBuild is a component of type docker_build: an image that is built. The build context is the directory of the repository.
type DockerBuild struct {
	Component
	// Path below the directory, or the text of the file itself by reference.
	Dockerfile string `toml:"dockerfile" json:"dockerfile,omitempty" config:"required" example:"Dockerfile"`
	Repositories
	// Build arguments.
	EnvVars map[string]string `toml:"env_vars" json:"env_vars,omitempty" example:"GO_VERSION=1.26"`

	EnvVar    Removed `toml:"env_var" json:"-" hint:"write an [env_vars] table"`
	Target    Removed `toml:"target" json:"-" hint:"make the wanted stage the last one of the Dockerfile"`
	BuildArgs Removed `toml:"build_args" json:"-" hint:"write an [env_vars] table"`
}

// KubernetesManifest is a component of type kubernetes_manifest: objects as they are written. Exactly one of manifest and kustomize; a
// repository with kustomize only.
type KubernetesManifest struct {
	Component
	// The objects, as YAML of one or many documents.
	Manifest string `toml:"manifest" json:"manifest,omitempty" config:"template,file" example:"./manifests/quota.yaml"`
	// Namespace of objects that name none.
	Namespace string `toml:"namespace" json:"namespace,omitempty" config:"required,template" example:"ledger"`
	// Make the objects with kustomize.
	Kustomize *Kustomize `toml:"kustomize" json:"kustomize,omitempty"`
	Repositories
}

// Kustomize is what kustomize makes the objects from.
type Kustomize struct {
	// The kustomization's directory, as a path from the directory of the repository block.
	Path string `toml:"path" json:"path,omitempty" config:"required" example:"deploy/overlays/customer"`
	// Files of patches that are laid over it, as paths from the same directory.
	Patches []string `toml:"patches" json:"patches,omitempty" example:"patches/replicas.yaml"`
	// Let it inflate charts, which is not done here: make a chart a component of type helm_chart.
	EnableHelm bool `toml:"enable_helm" json:"enable_helm,omitempty"`
	// What it may read.
	LoadRestrictor string `toml:"load_restrictor" json:"load_restrictor,omitempty" config:"one=rootOnly|none,default=rootOnly"`
}

// Pulumi is a component of type pulumi: a program of Pulumi that is planned and applied in the customer's account.
type Pulumi struct {
	Component
	// Language of the program.
	Runtime string `toml:"runtime" json:"runtime,omitempty" config:"required,one=go|nodejs|python"`
	// Version of Pulumi; the latest if left out.
	PulumiVersion string `toml:"pulumi_version" json:"pulumi_version,omitempty" example:"3.190.0"`
	Repositories
	// Stack configuration, as namespace:key.
	Config map[string]string `toml:"config" json:"config,omitempty" config:"template" example:"aws:region={{.nuon.install_stack.outputs.region}}"`
	// Environment of the process.
	EnvVars map[string]string `toml:"env_vars" json:"env_vars,omitempty" config:"template" example:"AWS_REGION={{.nuon.install_stack.outputs.region}}"`
}
