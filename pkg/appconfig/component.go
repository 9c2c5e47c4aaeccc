package appconfig

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/render"
)

// SandboxName and KindSandbox are the name and kind of the sandbox when it is treated as a
// component; no other component may have the name. The other kinds are those that nuon deploys so
// far.
const (
	SandboxName            = "sandbox"
	KindSandbox            = "sandbox"
	KindTerraformModule    = format.KindTerraformModule
	KindHelmChart          = format.KindHelmChart
	KindKubernetesManifest = format.KindKubernetesManifest
	KindContainerImage     = format.KindContainerImage
	KindDockerBuild        = format.KindDockerBuild
)

// Component is one part of an app that is built and deployed: the sandbox or a file of components/.
// Exactly one of the fields from Terraform to Pulumi is set, by kind; the sandbox has Terraform or
// Pulumi.
type Component struct {
	Name string `json:"name"`
	// Kind is KindSandbox, or a kind of package format.
	Kind string `json:"type"`
	// Dependencies are the listed ones, sorted; App.DependsOn returns all.
	Dependencies                 []string               `json:"dependencies,omitempty"`
	VarName                      string                 `json:"var_name,omitempty"`
	MaxAutoRetries               int                    `json:"max_auto_retries,omitempty"`
	SkipNoops                    bool                   `json:"skip_noops,omitempty"`
	AutoApproveOnPoliciesPassing bool                   `json:"auto_approve_on_policies_passing,omitempty"`
	BuildTimeout                 string                 `json:"build_timeout,omitempty"`
	DeployTimeout                string                 `json:"deploy_timeout,omitempty"`
	DriftSchedule                string                 `json:"drift_schedule,omitempty"`
	OperationRoles               []format.OperationRole `json:"operation_roles,omitempty"`
	// Toggleable allows each install to disable and enable it.
	Toggleable bool `json:"toggleable,omitempty"`
	// DefaultEnabled enables a toggleable component unless an install disables it.
	DefaultEnabled    bool              `json:"default_enabled,omitempty"`
	KubernetesContext string            `json:"kubernetes_context,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`

	Source  *Source           `json:"source,omitempty"`   // nil without a repository
	EnvVars map[string]string `json:"env_vars,omitempty"` // templates; empty for docker_build

	Terraform *Terraform `json:"terraform,omitempty"`
	Helm      *Helm      `json:"helm,omitempty"`
	Image     *Image     `json:"image,omitempty"`
	Docker    *Docker    `json:"docker,omitempty"`
	Manifest  *Manifest  `json:"manifest,omitempty"`
	Pulumi    *Pulumi    `json:"pulumi,omitempty"`

	// Override is set only in the App that App.Overridden returns for an install.
	Override Override `json:"-"`
}

// Terraform configures the module of a terraform_module or of the sandbox. Vars, VarFiles and ClusterPolicies are
// templates.
type Terraform struct {
	Version  string            `json:"terraform_version"`  // exact, such as 1.11.4
	Vars     map[string]string `json:"vars,omitempty"`     // Terraform variables
	VarFiles []string          `json:"var_file,omitempty"` // tfvars texts; later ones win, all win over Vars

	// ClusterPolicies are files in ClusterPolicyDir beside the module of a sandbox that declares a variable for it.
	ClusterPolicies map[string]string `json:"-"`
}

// Helm configures the release of a helm_chart. Namespace, StorageDriver, the strings of Values and
// ValuesFiles are templates.
type Helm struct {
	ChartName     string                 `json:"chart_name"`          // name of the release
	Repository    *format.HelmRepository `json:"helm_repo,omitempty"` // nil if the chart is in the component's Source
	Namespace     string                 `json:"namespace"`
	StorageDriver string                 `json:"storage_driver"`        // once rendered: configmap or secret
	Values        format.Scalars         `json:"values,omitempty"`      // by path as in helm --set
	ValuesFiles   []string               `json:"values_file,omitempty"` // YAML texts; later ones win, Values wins
	TakeOwnership bool                   `json:"take_ownership,omitempty"`
}

// Image is the source of a container_image: exactly one of the four.
type Image struct {
	Public *format.PublicImage `json:"public,omitempty"`
	AWSECR *format.ECRImage    `json:"aws_ecr,omitempty"`
	GCPGAR *format.GARImage    `json:"gcp_gar,omitempty"`

	AzureACR *format.ACRImage `json:"azure_acr,omitempty"`
	// RequireSignature allows only images that one of Keys signed, which are public keys in PEM, or one of Identities,
	// by the word of those that TrustedRoot names.
	RequireSignature bool             `json:"require_signature,omitempty"`
	Keys             []string         `json:"keys,omitempty"`
	Identities       []SignerIdentity `json:"identities,omitempty"`
	TrustedRoot      string           `json:"trusted_root,omitempty"`
}

// SignerIdentity is who may sign an image with a certificate instead of a key: whom Issuer knows by Subject, or by a
// name that SubjectRegexp matches.
type SignerIdentity struct {
	Issuer        string `json:"issuer"`
	Subject       string `json:"subject,omitempty"`
	SubjectRegexp string `json:"subject_regexp,omitempty"`
}

// Address returns the repository, and the tag or the policy that selects one.
func (i *Image) Address() (repository, tag, policy string) {
	switch {
	case i.Public != nil:
		return i.Public.ImageURL, i.Public.Tag, i.Public.UpdatePolicy
	case i.AWSECR != nil:
		return i.AWSECR.ImageURL, i.AWSECR.Tag, i.AWSECR.UpdatePolicy
	case i.GCPGAR != nil:
		return i.GCPGAR.ImageURL, i.GCPGAR.Tag, i.GCPGAR.UpdatePolicy
	case i.AzureACR != nil:
		return i.AzureACR.ImageURL, i.AzureACR.Tag, i.AzureACR.UpdatePolicy
	}
	return "", "", ""
}

// Docker is what an image is built from, besides the build context, which is the Source.
type Docker struct {
	Dockerfile string            `json:"dockerfile,omitempty"` // slash path below the source's directory; empty if Contents is set
	Contents   string            `json:"contents,omitempty"`
	Target     string            `json:"target,omitempty"` // a stage; empty for the last one
	Args       map[string]string `json:"build_args,omitempty"`
	Platforms  []string          `json:"platforms,omitempty"` // sorted; empty for that of the build runner
	// Secrets are names of variables of the build runner.
	Secrets []string `json:"secrets,omitempty"`
}

// Manifest is what a kubernetes_manifest applies: exactly one of Text and Kustomize. Text and
// Namespace are templates.
type Manifest struct {
	Text      string            `json:"manifest,omitempty"` // YAML documents
	Namespace string            `json:"namespace"`          // of objects without one
	Kustomize *format.Kustomize `json:"kustomize,omitempty"`
}

// Pulumi configures the Pulumi program of a component or of the sandbox. The values of Config are
// templates.
type Pulumi struct {
	Runtime string            `json:"runtime,omitempty"`
	Version string            `json:"pulumi_version,omitempty"` // empty: the latest
	Config  map[string]string `json:"config,omitempty"`         // by namespace:key
}

// Deployable reports whether nuon deploys components of this kind so far. All others are read,
// checked and stored.
func (c *Component) Deployable() bool {
	return deploys(c.Kind) && c.Pulumi == nil
}

// deploys reports whether nuon deploys components of a kind so far. Component.Deployable also
// excludes a Pulumi sandbox.
func deploys(kind string) bool {
	switch kind {
	case KindSandbox, KindTerraformModule, KindHelmChart, KindKubernetesManifest, KindContainerImage, KindDockerBuild:
		return true
	}
	return false
}

// Enabled reports whether the component is enabled on an install with these toggles.
func (c *Component) Enabled(toggles map[string]bool) bool {
	return isEnabled(c.Name, c.Toggleable, c.DefaultEnabled, toggles)
}

// isEnabled reports whether a component is enabled: toggles override its default, and a component
// that is not toggleable is always enabled.
func isEnabled(name string, toggleable, byDefault bool, toggles map[string]bool) bool {
	enabled, set := toggles[name]
	if !set {
		enabled = byDefault
	}
	return enabled || !toggleable
}

// Source is the origin of code.
type Source struct {
	// Repo is owner/name on GitHub, an https:// or file:// URL, or "." for the repository that
	// holds the app itself, at the app's own commit.
	Repo      string `json:"repo"`
	Directory string `json:"directory"`           // slash path below the repository's root; "." is the root
	Branch    string `json:"branch,omitempty"`    // branch, tag or full commit; unused for "."
	Connected bool   `json:"connected,omitempty"` // fetching it requires the org's own access
}

// IsAppRepository reports whether the source is the app's own repository at the app's own commit.
func (s Source) IsAppRepository() bool { return s.Repo == "." }

// IsIn reports whether the code is in a checkout of the repository's branch: the source is the
// app's own, or it names the same repository and branch. An empty branch means unknown.
func (s Source) IsIn(repository, branch string) bool {
	return s.IsAppRepository() || branch != "" && s.Branch == branch && sameRepository(s.Repo, repository)
}

// URL returns the URL that git clones: https://github.com/owner/name.git for owner/name, a full
// URL as written. It is empty for the app's own repository.
func (s Source) URL() string {
	switch {
	case s.IsAppRepository():
		return ""
	case shortRepo.MatchString(s.Repo):
		return "https://github.com/" + strings.TrimSuffix(s.Repo, ".git") + ".git"
	}
	return s.Repo
}

// Templates returns every text that a deploy renders, by key path, such as vars.cidr,
// values."image.tag" or var_file[0].contents.
func (c *Component) Templates() map[string]string {
	texts := textsByPath{}
	texts.addMap("env_vars", c.EnvVars)
	if t := c.Terraform; t != nil {
		texts.addMap("vars", t.Vars)
		texts.addFiles("var_file", t.VarFiles)
		texts.addMap("kyverno_policies", t.ClusterPolicies)
		texts.add(keyTFVars, c.Override.TFVars)
	}
	if h := c.Helm; h != nil {
		texts.add("namespace", h.Namespace)
		texts.add("storage_driver", h.StorageDriver)
		for key, value := range h.Values {
			if text, ok := value.(string); ok {
				texts[syntax.Join("values", key)] = text
			}
		}
		texts.addFiles("values_file", h.ValuesFiles)
		texts.add(keyHelmValues, c.Override.HelmValues)
	}
	if m := c.Manifest; m != nil {
		texts.add("manifest", m.Text)
		texts.add("namespace", m.Namespace)
	}
	if p := c.Pulumi; p != nil && c.Kind == KindSandbox {
		texts.addMap("pulumi_config", p.Config)
	} else if p != nil {
		texts.addMap("config", p.Config)
	}
	return texts
}

// textsByPath maps key paths to texts.
type textsByPath map[string]string

func (t textsByPath) add(path, text string) {
	if text != "" {
		t[path] = text
	}
}

func (t textsByPath) addMap(path string, values map[string]string) {
	for name, text := range values {
		t[syntax.Join(path, name)] = text
	}
}

func (t textsByPath) addFiles(path string, files []string) {
	for i, text := range files {
		t[syntax.JoinIndex(path, i)+".contents"] = text
	}
}

// Refs returns the paths below .nuon that a deploy reads: canonical, sorted, unique. A text that
// is no valid template adds none; Load rejects those.
func (c *Component) Refs() []render.Path { return refsOf(c.Templates()) }

func refsOf(texts map[string]string) []render.Path {
	var refs []render.Path
	for name, text := range texts {
		if !strings.Contains(text, ".nuon") {
			continue
		}
		if tmpl, err := render.Parse(name, text); err == nil {
			refs = append(refs, tmpl.Refs()...)
		}
	}
	slices.SortFunc(refs, slices.Compare[render.Path])
	return slices.CompactFunc(refs, slices.Equal[render.Path])
}
