package standin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// Kinds of code.
const (
	Module        = "module"
	Chart         = "chart"
	Kustomization = "kustomization"
	Script        = "script"
)

// Code is a directory of a repository as apps use it.
type Code struct {
	Kind       string
	Repository string // as in the config: owner/name or a URL
	Branch     string
	Directory  string // a slash path below the repository's root
	// Users are the components and actions that use it.
	Users []string
	// Cloud is that of the app: aws, azure or gcp.
	Cloud string
	// Variables are those that the app sets, and Outputs the paths that others read, of a module.
	Variables []string
	Outputs   [][]string
	// Files are the scripts that are run.
	Files []string
}

// Collect returns the code outside of the app's own repository that an app uses, sorted, except
// for its sandbox.
func Collect(app *appconfig.App) []Code {
	found := map[string]*Code{}
	add := func(kind, user, dir string, source *appconfig.Source) *Code {
		at := path.Join(source.Directory, dir)
		key := source.Repo + "\x00" + at
		code := found[key]
		if code == nil {
			code = &Code{Kind: kind, Repository: source.Repo, Branch: source.Branch, Directory: at, Cloud: Cloud(app)}
			found[key] = code
		}
		code.Users = append(code.Users, user)
		return code
	}
	for i := range app.Components {
		c := &app.Components[i]
		switch {
		case c.Source == nil || c.Source.IsAppRepository():
		case c.Terraform != nil:
			code := add(Module, c.Name, "", c.Source)
			code.Variables = append(code.Variables, variables(c.Terraform)...)
			code.Outputs = append(code.Outputs, Outputs(app, c.Name)...)
		case c.Helm != nil:
			add(Chart, c.Name, "", c.Source)
		case c.Manifest != nil && c.Manifest.Kustomize != nil:
			add(Kustomization, c.Name, c.Manifest.Kustomize.Path, c.Source)
		}
	}
	for _, action := range app.Actions {
		for _, step := range action.Steps {
			if step.Source == nil || step.Source.IsAppRepository() || step.Command == "" {
				continue
			}
			code := add(Script, action.Name, "", step.Source)
			program, _, _ := strings.Cut(strings.TrimSpace(step.Command), " ")
			code.Files = append(code.Files, path.Clean(program))
		}
	}
	var sorted []Code
	for _, code := range found {
		code.Normalize()
		sorted = append(sorted, *code)
	}
	slices.SortFunc(sorted, func(a, b Code) int {
		return cmp.Or(strings.Compare(a.Repository, b.Repository), strings.Compare(a.Directory, b.Directory))
	})
	return sorted
}

// Normalize sorts lists and removes duplicates.
func (c *Code) Normalize() {
	c.Variables = slices.Compact(slices.Sorted(slices.Values(c.Variables)))
	c.Files = slices.Compact(slices.Sorted(slices.Values(c.Files)))
	c.Outputs = slices.CompactFunc(slices.SortedFunc(slices.Values(c.Outputs), slices.Compare), slices.Equal)
}

// Cloud returns the cloud of an app.
func Cloud(app *appconfig.App) string {
	if app.Runner == nil {
		return ""
	}
	cloud, _, _ := strings.Cut(app.Runner.Type, "-")
	return cloud
}

// assigned finds the names that a tfvars file sets. Templates in it do not matter.
var assigned = regexp.MustCompile(`(?m)^([A-Za-z_][A-Za-z0-9_-]*)[ \t]*=`)

// variables returns the names of the variables that a component sets.
func variables(t *appconfig.Terraform) (names []string) {
	for name := range t.Vars {
		names = append(names, name)
	}
	for _, text := range t.VarFiles {
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &object) == nil {
			for name := range object {
				names = append(names, name)
			}
			continue
		}
		for _, match := range assigned.FindAllStringSubmatch(text, -1) {
			names = append(names, match[1])
		}
	}
	return names
}

// Outputs returns the paths of the outputs of a component that the app's templates read.
func Outputs(app *appconfig.App, component string) (paths [][]string) {
	add := func(refs []string) {
		if len(refs) > 3 && refs[0] == "components" && refs[1] == component && refs[2] == "outputs" {
			paths = append(paths, refs[3:])
		}
	}
	for i := range app.Components {
		for _, ref := range app.Components[i].Refs() {
			add(ref)
		}
	}
	for i := range app.Actions {
		for _, ref := range app.Actions[i].Refs() {
			add(ref)
		}
	}
	for _, context := range app.KubernetesContexts {
		if context.Component == component {
			paths = append(paths, []string{"cluster", "name"}, []string{"cluster", "endpoint"},
				[]string{"cluster", "certificate_authority_data"})
		}
	}
	return paths
}

// IsPlaceholder reports whether a file has no content but a mark that its content was not published.
func IsPlaceholder(content []byte) bool {
	return string(bytes.TrimSpace(bytes.TrimLeft(content, "#"))) == "placeholder"
}
