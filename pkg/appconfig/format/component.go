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

// Component has the keys that all files below components/ have in common.
type Component struct {
	// The kind.
	Type string `toml:"type" json:"type,omitempty" config:"required,one=terraform_module|helm_chart|container_image|docker_build|kubernetes_manifest|pulumi" values:"external_image=container_image"`
	// Name, by which templates and other components refer to it: lower-case letters, digits and
	// underscores.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"api"`
	// Another name for its outputs.
	VarName string `toml:"var_name" json:"var_name,omitempty" config:"idle" example:"backend"`
	// Components that must be deployed first, in addition to those whose outputs its templates
	// read.
	Dependencies []string `toml:"dependencies" json:"dependencies,omitempty" config:"set" example:"database"`
	// Number of automatic retries of a failed step.
	MaxAutoRetries int `toml:"max_auto_retries" json:"max_auto_retries,omitempty" config:"default=0"`
	// Skip the apply if the plan has no changes. nuon always does this: true and false mean the
	// same.
	SkipNoops bool `toml:"skip_noops" json:"skip_noops,omitempty" config:"idle"`
	// Approve automatically if all policies pass.
	AutoApproveOnPoliciesPassing bool `toml:"auto_approve_on_policies_passing" json:"auto_approve_on_policies_passing,omitempty" config:"idle"`
	// How long a build may take, at most 1h. The default of docker_build is 1h.
	BuildTimeout string `toml:"build_timeout" json:"build_timeout,omitempty" config:"duration,default=5m"`
	// How long a deploy may take, at most 1h. This limits the plan, and the apply with the wait
	// until everything is ready. The default is 30m for a chart, 15m for a manifest, and 1h for
	// Terraform and Pulumi.
	DeployTimeout string `toml:"deploy_timeout" json:"deploy_timeout,omitempty" config:"duration" example:"30m"`
	// When to check for drift.
	DriftSchedule string `toml:"drift_schedule" json:"drift_schedule,omitempty" config:"cron,idle" example:"0 3 * * *"`
	// Roles that its operations run with.
	OperationRoles []OperationRole `toml:"operation_roles" json:"operation_roles,omitempty" config:"sorted=operation"`
	// Installs can disable and enable it.
	Toggleable bool `toml:"toggleable" json:"toggleable,omitempty"`
	// Whether a toggleable component is enabled by default.
	DefaultEnabled bool `toml:"default_enabled" json:"default_enabled,omitempty"`
	// Name of the cluster that it is deployed to, from kubernetes_contexts.toml. It is deployed
	// after the component that creates the cluster. The default is sandbox, the cluster of the
	// sandbox.
	KubernetesContext string `toml:"kubernetes_context" json:"kubernetes_context,omitempty" example:"edge"`
	// Labels, for searching.
	Labels map[string]string `toml:"labels" json:"labels,omitempty" config:"idle" example:"team=ledger"`
	// How its health is checked. Its content is not checked.
	Health Any `toml:"health" json:"health,omitempty" config:"idle"`
	// A second TOML file whose keys override those of this file.
	Source string `toml:"source" json:"source,omitempty" example:"./shared.toml"`

	Timeout Unsupported `toml:"timeout" json:"-" hint:"write deploy_timeout or build_timeout"`
}

// TerraformModule is a component of type terraform_module: a module that is planned and applied in
// the customer's account. It may call modules of registries, git repositories and https archives: the
// build packs them (docs/terraform.md).
type TerraformModule struct {
	Component
	// Exact version of Terraform, which the runner downloads.
	TerraformVersion string `toml:"terraform_version" json:"terraform_version,omitempty" config:"required" example:"1.11.4"`
	Repositories
	// Terraform variables. Terraform receives each as a string and converts it to a number or a
	// bool, but not to a list or an object: put those into a var_file.
	Vars map[string]string `toml:"vars" json:"vars,omitempty" config:"template" example:"vpc_id={{.nuon.install_stack.outputs.vpc_id}}"`
	// Environment variables of the process.
	EnvVars map[string]string `toml:"env_vars" json:"env_vars,omitempty" config:"template" example:"DATADOG_HOST=https://api.datadoghq.eu"`
	// Files of Terraform variables. Later files override earlier ones, and all of them override
	// vars.
	VarFiles []VarFile `toml:"var_file" json:"var_file,omitempty"`

	Var    Removed `toml:"var" json:"-" hint:"write a [vars] table"`
	EnvVar Removed `toml:"env_var" json:"-" hint:"write an [env_vars] table"`
}

// HelmChart is a component of type helm_chart: a chart that is installed as one release. Set
// exactly one of public_repo, connected_repo and helm_repo.
type HelmChart struct {
	Component
	// Name of the Helm release: an RFC 1035 label of 5 to 53 characters.
	ChartName string `toml:"chart_name" json:"chart_name,omitempty" config:"required" example:"ledger-api"`
	Repositories
	// A chart repository, instead of a git repository.
	HelmRepo *HelmRepository `toml:"helm_repo" json:"helm_repo,omitempty"`
	// Namespace of the release, which is created if it does not exist.
	Namespace string `toml:"namespace" json:"namespace,omitempty" config:"template,default={{.nuon.install.id}}"`
	// Where Helm stores its release records, in the namespace of the release. nuon means the same
	// as configmap. The default is helm_driver of runner.toml.
	StorageDriver string `toml:"storage_driver" json:"storage_driver,omitempty" config:"template,one=configmap|secret|nuon,default=configmap"`
	// Values. Keys are dotted paths, as in helm --set; quote a key to use it literally. Each value
	// is one scalar with its TOML type: true, 3 and "3" are a bool, a number and a string, and
	// nothing is split at commas. If a string consists of a single expression, the value has the
	// type of what the expression reads, so an input of type number or bool becomes a number or a
	// bool. Any other string with expressions stays a string.
	Values Scalars `toml:"values" json:"values,omitempty" config:"template" example:"image.tag={{.nuon.components.api_image.outputs.image.tag}}"`
	// Files of values. Later files override earlier ones, and values overrides all of them.
	ValuesFiles []ValuesFile `toml:"values_file" json:"values_file,omitempty"`
	// Adopt objects that already exist.
	TakeOwnership bool `toml:"take_ownership" json:"take_ownership,omitempty"`

	Value Removed `toml:"value" json:"-" hint:"write a [values] table"`
}

// HelmRepository is a chart in a chart repository.
type HelmRepository struct {
	// URL of the repository: https:// with an index, or oci://.
	RepoURL string `toml:"repo_url" json:"repo_url,omitempty" config:"required" example:"https://charts.example.com"`
	// Name of the chart in it.
	Chart string `toml:"chart" json:"chart,omitempty" config:"required" example:"ledger-api"`
	// Version, or a range of versions. The default is the newest version at the time of the first
	// build, until the config changes.
	Version string `toml:"version" json:"version,omitempty" example:"1.4.0"`
}

// ValuesFile is a file of Helm values. Set contents or path, not both.
type ValuesFile struct {
	// The values, as YAML.
	Contents string `toml:"contents" json:"contents,omitempty" config:"template,file,was=source" example:"./values/api.yaml"`
	// Path of the file with the values.
	Path string `toml:"path" json:"path,omitempty" config:"template" example:"./values/api.yaml"`
}

// ContainerImage is a component of type container_image: an existing image that is copied into the
// registry of each install. Set exactly one of public, aws_ecr, gcp_gar and azure_acr.
type ContainerImage struct {
	Component
	// An image that anyone can pull, or that a stored credential opens.
	Public *PublicImage `toml:"public" json:"public,omitempty"`
	// An image in a registry on AWS.
	AWSECR *ECRImage `toml:"aws_ecr" json:"aws_ecr,omitempty"`
	// An image in a registry on GCP.
	GCPGAR *GARImage `toml:"gcp_gar" json:"gcp_gar,omitempty"`
	// An image in a registry on Azure.
	AzureACR *ACRImage `toml:"azure_acr" json:"azure_acr,omitempty"`
	// The signature that the image must have.
	Verification *Verification `toml:"verification" json:"verification,omitempty"`

	Device Unsupported `toml:"device" json:"-" hint:"remove it"`
}

// PublicImage is an image that anyone can pull, or that a stored credential opens.
type PublicImage struct {
	// Repository of the image, without the tag.
	ImageURL string `toml:"image_url" json:"image_url,omitempty" config:"required" example:"ghcr.io/acme/ledger-api"`
	// Tag, or digest, or both (1.4@sha256:…). Set this or update_policy.
	Tag string `toml:"tag" json:"tag,omitempty" example:"2.3.1"`
	// Versions of which the newest is taken, instead of a tag. Tags such as 1.10.3 and v1.10.3 count.
	UpdatePolicy string `toml:"update_policy" json:"update_policy,omitempty" example:"~1.10.0"`
}

// Verification is the signature that an image must have before it is copied.
type Verification struct {
	// Build the image only if one of the authorities signed it.
	RequireSignature bool `toml:"require_signature" json:"require_signature,omitempty"`
	// Who may sign the image.
	Authorities []Authority `toml:"authorities" json:"authorities,omitempty"`
	// For keyless: whom to trust, the trusted_root.json of Sigstore's public instance or of your own.
	TrustedRoot string `toml:"trusted_root" json:"trusted_root,omitempty" config:"file" example:"./trusted_root.json"`
}

// The types of authorities.
const (
	AuthorityKeyless   = "keyless"
	AuthorityPublicKey = "public_key"
)

// Authority is who may sign an image.
type Authority struct {
	// public_key, or keyless for an identity that Sigstore issues certificates to.
	Type string `toml:"type" json:"type,omitempty" config:"required,one=keyless|public_key" example:"public_key"`
	// The public key, in PEM, as cosign generate-key-pair writes it.
	PublicKey string `toml:"public_key" json:"public_key,omitempty" config:"file" example:"./cosign.pub"`
	// For keyless: the issuer of the identity.
	Issuer string `toml:"issuer" json:"issuer,omitempty" example:"https://token.actions.githubusercontent.com"`
	// For keyless: the identity.
	Subject string `toml:"subject" json:"subject,omitempty" example:"https://github.com/acme/api/.github/workflows/release.yml@refs/heads/main"`
	// For keyless: a regular expression of identities, instead of subject. Start it with ^ and end it with $.
	SubjectRegexp string `toml:"subject_regexp" json:"subject_regexp,omitempty" config:"regexp" example:"^https://github.com/acme/"`
}

// ECRImage is an image in Amazon ECR.
type ECRImage struct {
	// Role that the build runner assumes to pull the image, with the id of the org as external id.
	IAMRoleARN string `toml:"iam_role_arn" json:"iam_role_arn,omitempty" config:"required" example:"arn:aws:iam::123456789012:role/pull"`
	// Cloud connection that pulls the image.
	Connection string `toml:"connection" json:"connection,omitempty" config:"idle" example:"acme-images"`
	// Region of the registry, as in image_url.
	Region string `toml:"region" json:"region,omitempty" config:"required" example:"eu-central-1"`
	// Repository of the image.
	ImageURL string `toml:"image_url" json:"image_url,omitempty" config:"required" example:"123456789012.dkr.ecr.eu-central-1.amazonaws.com/ledger-api"`
	// Tag, or digest, or both (1.4@sha256:…). Set this or update_policy.
	Tag string `toml:"tag" json:"tag,omitempty" example:"2.3.1"`
	// Versions of which the newest is taken, instead of a tag. Tags such as 1.10.3 and v1.10.3 count.
	UpdatePolicy string `toml:"update_policy" json:"update_policy,omitempty" example:"~1.10.0"`
}

// GARImage is an image in Google Artifact Registry.
type GARImage struct {
	// Project of the registry, as in image_url.
	ProjectID string `toml:"gcp_project_id" json:"gcp_project_id,omitempty" config:"required" example:"acme-images"`
	// Region of the registry, as in image_url.
	Region string `toml:"region" json:"region,omitempty" config:"required" example:"europe-west3"`
	// Repository of the image.
	ImageURL string `toml:"image_url" json:"image_url,omitempty" config:"required" example:"europe-west3-docker.pkg.dev/acme-images/ledger/api"`
	// Tag, or digest, or both (1.4@sha256:…). Set this or update_policy.
	Tag string `toml:"tag" json:"tag,omitempty" example:"2.3.1"`
	// Versions of which the newest is taken, instead of a tag. Tags such as 1.10.3 and v1.10.3 count.
	UpdatePolicy string `toml:"update_policy" json:"update_policy,omitempty" example:"~1.10.0"`
	// Service account that the build runner acts as to pull the image. The default is its own identity.
	ServiceAccountEmail string `toml:"service_account_email" json:"service_account_email,omitempty" example:"pull@acme-images.iam.gserviceaccount.com"`
	// Workload identity provider that accepts a build runner on AWS, with or without a service account.
	WorkloadIdentityProvider string `toml:"workload_identity_provider" json:"workload_identity_provider,omitempty" example:"projects/1/locations/global/workloadIdentityPools/nuon/providers/runner"`
}

// ACRImage is an image in an Azure container registry. The credentials are names of app variables, never values.
// Without them, the build runner's managed or workload identity pulls the image.
type ACRImage struct {
	// Repository of the image.
	ImageURL string `toml:"image_url" json:"image_url,omitempty" config:"required" example:"acme.azurecr.io/ledger-api"`
	// Address of the registry, as in image_url.
	RegistryURL string `toml:"registry_url" json:"registry_url,omitempty" config:"required" example:"acme.azurecr.io"`
	// Tag, or digest, or both (1.4@sha256:…). Set this or update_policy.
	Tag string `toml:"tag" json:"tag,omitempty" example:"2.3.1"`
	// Versions of which the newest is taken, instead of a tag. Tags such as 1.10.3 and v1.10.3 count.
	UpdatePolicy string `toml:"update_policy" json:"update_policy,omitempty" example:"~1.10.0"`
	// Variable of the app with the tenant.
	TenantID string `toml:"tenant_id" json:"tenant_id,omitempty" example:"acr_tenant"`
	// Variable of the app with the client.
	ClientID string `toml:"client_id" json:"client_id,omitempty" example:"acr_client"`
	// Variable of the app with the secret of the client.
	ClientSecretName string `toml:"client_secret_name" json:"client_secret_name,omitempty" example:"acr_secret"`
	// Variable of the app with the certificate of the client and its key, in PEM, instead of the secret.
	ClientCertificateName string `toml:"client_certificate_name" json:"client_certificate_name,omitempty" example:"acr_certificate"`
}

// DockerBuild is a component of type docker_build: an image that nuon builds. The build context is
// the directory of the repository, without what its .dockerignore lists.
type DockerBuild struct {
	Component
	// Path of the Dockerfile below the directory, or a reference to a file with its text.
	Dockerfile string `toml:"dockerfile" json:"dockerfile,omitempty" config:"required" example:"Dockerfile"`
	Repositories
	// Stage of the Dockerfile that is built. The default is the last one.
	Target string `toml:"target" json:"target,omitempty" example:"release"`
	// Build arguments. They are visible in the image's history: no secrets.
	BuildArgs map[string]string `toml:"build_args" json:"build_args,omitempty" example:"GO_VERSION=1.26"`
	// Platforms of the image. The default is that of the build runner.
	Platforms []string `toml:"platforms" json:"platforms,omitempty" config:"set" example:"linux/amd64"`
	// Variables of the build runner (--pass-env) that the Dockerfile mounts as secrets.
	Secrets []string `toml:"secrets" json:"secrets,omitempty" config:"set" example:"NPM_TOKEN"`
	// More build arguments; those of build_args win.
	EnvVars map[string]string `toml:"env_vars" json:"env_vars,omitempty" example:"GO_VERSION=1.26"`

	EnvVar Removed `toml:"env_var" json:"-" hint:"write a [build_args] table"`
}

// KubernetesManifest is a component of type kubernetes_manifest: Kubernetes objects that are
// applied as written. Set exactly one of manifest and kustomize, and a repository only with
// kustomize.
type KubernetesManifest struct {
	Component
	// The objects, as one or more YAML documents.
	Manifest string `toml:"manifest" json:"manifest,omitempty" config:"template,file" example:"./manifests/quota.yaml"`
	// Namespace of objects without a namespace.
	Namespace string `toml:"namespace" json:"namespace,omitempty" config:"required,template" example:"ledger"`
	// Build the objects with kustomize.
	Kustomize *Kustomize `toml:"kustomize" json:"kustomize,omitempty"`
	Repositories
}

// Kustomize is the kustomization that the objects are built from.
type Kustomize struct {
	// Directory of the kustomization, relative to the directory of the repository.
	Path string `toml:"path" json:"path,omitempty" config:"required" example:"deploy/overlays/customer"`
	// Patch files that are applied to it, relative to the same directory.
	Patches []string `toml:"patches" json:"patches,omitempty" example:"patches/replicas.yaml"`
	// Let kustomize render Helm charts. This has no effect: use a component of type helm_chart for
	// a chart.
	EnableHelm bool `toml:"enable_helm" json:"enable_helm,omitempty"`
	// Which files kustomize may read.
	LoadRestrictor string `toml:"load_restrictor" json:"load_restrictor,omitempty" config:"one=rootOnly|none,default=rootOnly"`
}

// Pulumi is a component of type pulumi: a Pulumi program that is previewed and applied in the
// customer's account.
type Pulumi struct {
	Component
	// Language of the program.
	Runtime string `toml:"runtime" json:"runtime,omitempty" config:"required,one=go|nodejs|python"`
	// Version of Pulumi. The default is the latest version.
	PulumiVersion string `toml:"pulumi_version" json:"pulumi_version,omitempty" example:"3.190.0"`
	Repositories
	// Stack configuration; keys have the form namespace:key.
	Config map[string]string `toml:"config" json:"config,omitempty" config:"template" example:"aws:region={{.nuon.install_stack.outputs.region}}"`
	// Environment variables of the process.
	EnvVars map[string]string `toml:"env_vars" json:"env_vars,omitempty" config:"template" example:"AWS_REGION={{.nuon.install_stack.outputs.region}}"`
}
