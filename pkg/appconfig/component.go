package appconfig

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/render"
)

// SandboxName is the name, and KindSandbox the kind, of the sandbox when it is treated as a component. No component may be called so.
// The other kinds are those that nuon deploys so far.
const (
	SandboxName            = "sandbox"
	KindSandbox            = "sandbox"
	KindTerraformModule    = format.KindTerraformModule
	KindHelmChart          = format.KindHelmChart
	KindKubernetesManifest = format.KindKubernetesManifest
)

// Component is one part of an app that is built and deployed: the sandbox or a file of components/. Exactly one of Terraform to Pulumi
// is set, by its kind; the sandbox has Terraform or Pulumi.
type Component struct {
	Name                         string                 `json:"name"`
	Kind                         string                 `json:"type"`                   // KindSandbox, or format's names of the kinds
	Dependencies                 []string               `json:"dependencies,omitempty"` // as written, sorted; App.DependsOn gives all
	VarName                      string                 `json:"var_name,omitempty"`
	MaxAutoRetries               int                    `json:"max_auto_retries,omitempty"`
	SkipNoops                    bool                   `json:"skip_noops,omitempty"`
	AutoApproveOnPoliciesPassing bool                   `json:"auto_approve_on_policies_passing,omitempty"`
	BuildTimeout                 string                 `json:"build_timeout,omitempty"`
	DeployTimeout                string                 `json:"deploy_timeout,omitempty"`
	DriftSchedule                string                 `json:"drift_schedule,omitempty"`
	OperationRoles               []format.OperationRole `json:"operation_roles,omitempty"`
	Toggleable                   bool                   `json:"toggleable,omitempty"`      // each install may switch it off and on
	DefaultEnabled               bool                   `json:"default_enabled,omitempty"` // of a toggleable one: it is on unless an install switches it off
	KubernetesContext            string                 `json:"kubernetes_context,omitempty"`
	Labels                       map[string]string      `json:"labels,omitempty"`

	Source  *Source           `json:"source,omitempty"`   // nil for what comes from no repository
	EnvVars map[string]string `json:"env_vars,omitempty"` // environment of the process, or of the build; templates but for docker_build

	Terraform *Terraform `json:"terraform,omitempty"`
	Helm      *Helm      `json:"helm,omitempty"`
	Image     *Image     `json:"image,omitempty"`
	Docker    *Docker    `json:"docker,omitempty"`
	Manifest  *Manifest  `json:"manifest,omitempty"`
	Pulumi    *Pulumi    `json:"pulumi,omitempty"`
}

// Terraform is what a module is applied with: of a terraform_module or of the sandbox. Vars and VarFiles are templates.
type Terraform struct {
	Version  string            `json:"terraform_version"`  // exact, such as 1.11.4
	Vars     map[string]string `json:"vars,omitempty"`     // Terraform variables
	VarFiles []string          `json:"var_file,omitempty"` // contents of tfvars files; later ones win, all win over Vars
}

// Helm is what a helm_chart is released with. Namespace, StorageDriver, the strings of Values and ValuesFiles are templates.
type Helm struct {
	ChartName     string                 `json:"chart_name"`          // name of the release
	Repository    *format.HelmRepository `json:"helm_repo,omitempty"` // nil if the chart is in the component's Source
	Namespace     string                 `json:"namespace"`
	StorageDriver string                 `json:"storage_driver"`        // configmap or secret, once it is rendered
	Values        format.Scalars         `json:"values,omitempty"`      // by paths as helm --set has them; the strings are templates
	ValuesFiles   []string               `json:"values_file,omitempty"` // YAML texts; later ones win, Values wins over all of them
	TakeOwnership bool                   `json:"take_ownership,omitempty"`
}

// Image is what a container_image copies: exactly one of the three.
type Image struct {
	Public *format.PublicImage `json:"public,omitempty"`
	AWSECR *format.ECRImage    `json:"aws_ecr,omitempty"`
	GCPGAR *format.GARImage    `json:"gcp_gar,omitempty"`
}

// Docker is what a docker_build builds.
type Docker struct {
	Dockerfile string `json:"dockerfile,omitempty"` // slash path below the source's directory; empty if Contents is the file
	Contents   string `json:"contents,omitempty"`
}

// Manifest is what a kubernetes_manifest applies: exactly one of Text and Kustomize. Text and Namespace are templates.
type Manifest struct {
	Text      string            `json:"manifest,omitempty"` // YAML documents
	Namespace string            `json:"namespace"`          // of objects that name none
	Kustomize *format.Kustomize `json:"kustomize,omitempty"`
}

// Pulumi is what a Pulumi program runs with: of a component or of the sandbox. Config are templates.
type Pulumi struct {
	Runtime string            `json:"runtime,omitempty"`
	Version string            `json:"pulumi_version,omitempty"` // the latest if empty
	Config  map[string]string `json:"config,omitempty"`         // by namespace:key
}

// Deployable says whether nuon deploys components of its kind so far. All others are read, checked and kept.
func (c *Component) Deployable() bool {
	return deploys(c.Kind) && c.Pulumi == nil
}

// deploys says whether nuon deploys components of a kind so far; a sandbox only if Terraform makes it.
func deploys(kind string) bool {
	switch kind {
	case KindSandbox, KindTerraformModule, KindHelmChart, KindKubernetesManifest:
		return true
	}
	return false
}

// On says whether the component is there on an install with these toggles.
func (c *Component) On(toggles map[string]bool) bool {
	on, said := toggles[c.Name]
	if !said {
		on = c.DefaultEnabled
	}
	return on || !c.Toggleable
}

// Source is where code comes from.
type Source struct {
	// Repo is owner/name on GitHub, an https:// or file:// URL, or "." for the repository that the app itself lives in, at the
	// app's own commit.
	Repo      string `json:"repo"`
	Directory string `json:"directory"`           // slash path below the repository's root; "." is the root
	Branch    string `json:"branch,omitempty"`    // branch, tag or full commit; not used for "."
	Connected bool   `json:"connected,omitempty"` // the org's own access is needed to fetch it
}

// Own says whether the source is the app's own repository at its own commit.
func (s Source) Own() bool { return s.Repo == "." }

// In reports whether the code is in a tree of a repository that has a branch checked out: the app's own, or one that the source names
// with the same branch. The branch is empty when none is known.
func (s Source) In(repository, branch string) bool {
	return s.Own() || branch != "" && s.Branch == branch && sameRepository(s.Repo, repository)
}

// URL is what git clones: https://github.com/owner/name.git for owner/name, a full URL as it is written. It is empty for the
// app's own repository, which has no URL of its own.
func (s Source) URL() string {
	switch {
	case s.Own():
		return ""
	case shortRepo.MatchString(s.Repo):
		return "https://github.com/" + strings.TrimSuffix(s.Repo, ".git") + ".git"
	}
	return s.Repo
}

// Templates gives every text that is rendered at a deploy, by its key path, such as vars.cidr, values."image.tag" or
// var_file[0].contents.
func (c *Component) Templates() map[string]string {
	texts := textsBy{}
	if c.Docker == nil {
		texts.addMap("env_vars", c.EnvVars)
	}
	if t := c.Terraform; t != nil {
		texts.addMap("vars", t.Vars)
		texts.addFiles("var_file", t.VarFiles)
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

// textsBy are texts by their key paths.
type textsBy map[string]string

func (t textsBy) add(path, text string) {
	if text != "" {
		t[path] = text
	}
}

func (t textsBy) addMap(path string, values map[string]string) {
	for name, text := range values {
		t[syntax.Join(path, name)] = text
	}
}

func (t textsBy) addFiles(path string, files []string) {
	for i, text := range files {
		t[syntax.Item(path, i)+".contents"] = text
	}
}

// Refs are the paths below .nuon that a deploy reads, canonical, sorted, unique. A text that is no valid template adds none; Load
// refuses those.
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
