package appconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/render"
)

// Component is one part of an app that is built and deployed: the sandbox or a file of components/. Values of Vars, EnvVars and
// VarFiles are templates.
type Component struct {
	Name             string            `json:"name"`
	Kind             string            `json:"kind"`                   // KindSandbox or KindTerraformModule
	Dependencies     []string          `json:"dependencies,omitempty"` // as written, sorted; DependsOn gives all
	TerraformVersion string            `json:"terraform_version"`      // exact, such as 1.11.4
	Source           Source            `json:"source"`
	Vars             map[string]string `json:"vars,omitempty"`      // Terraform variables
	EnvVars          map[string]string `json:"env_vars,omitempty"`  // environment of the process
	VarFiles         []string          `json:"var_files,omitempty"` // contents of tfvars files; later ones win, all win over Vars
	MaxAutoRetries   int               `json:"max_auto_retries,omitempty"`
	Toggleable       bool              `json:"toggleable,omitempty"`      // each install may switch it off and on
	DefaultEnabled   bool              `json:"default_enabled,omitempty"` // of a toggleable one: it is on unless an install switches it off
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

// Templates gives every text that is rendered at a deploy, by its key path:
// vars.<name>, env_vars.<name>, var_file[<index>].contents.
func (c *Component) Templates() map[string]string {
	texts := map[string]string{}
	for name, text := range c.Vars {
		texts["vars."+name] = text
	}
	for name, text := range c.EnvVars {
		texts["env_vars."+name] = text
	}
	for i, text := range c.VarFiles {
		texts[fmt.Sprintf("var_file[%d].contents", i)] = text
	}
	return texts
}

// Refs are the paths below .nuon that a deploy reads, canonical, sorted, unique. A text that is no valid template adds none; Load
// refuses those.
func (c *Component) Refs() []render.Path { return refsOf(c.Templates()) }

func refsOf(texts map[string]string) []render.Path {
	var refs []render.Path
	for name, text := range texts {
		if tmpl, err := render.Parse(name, text); err == nil {
			refs = append(refs, tmpl.Refs()...)
		}
	}
	slices.SortFunc(refs, slices.Compare[render.Path])
	return slices.CompactFunc(refs, slices.Equal[render.Path])
}
