package appconfig

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
)

// rootFiles are the files that count at the root of a config directory, beside nuon.APP.toml.
var rootFiles = []string{
	"metadata.toml", "sandbox.toml", "runner.toml", "stack.toml", "inputs.toml", "secrets.toml", "permissions.toml", "break_glass.toml",
	"operation_roles.toml", "kubernetes_contexts.toml", "policies.toml", "installer.toml", "branch.toml", "installs.toml", "triggers.toml",
}

// sectionNames are the directories that count there. Other directories hold payload.
var sectionNames = []string{
	"components", "actions", "runbooks", "installs", "inputs", "input_groups", "secrets", "permissions", "break_glass",
	"kubernetes_contexts", "policies", "branches",
}

func isRootFile(name string) bool { return slices.Contains(rootFiles, name) }
func isSection(name string) bool  { return slices.Contains(sectionNames, name) }

// isSingleFile says whether a file at the root is a whole app in the older form.
func isSingleFile(name string) bool {
	return strings.HasPrefix(name, "nuon.") && strings.HasSuffix(name, ".toml") && len(name) > len("nuon..toml")
}

// rootForm gives the file that holds the same as a section directory. Others have a directory only; installs.toml is something else
// than installs/, and branch.toml holds one branch beside those of branches/.
func rootForm(section string) string {
	switch section {
	case "inputs", "input_groups":
		return "inputs.toml"
	case "secrets", "permissions", "break_glass", "kubernetes_contexts", "policies":
		return section + ".toml"
	}
	return ""
}

// mayBeEmpty says whether a file that says nothing is no mistake: nothing must be in it, or it has no bytes at all.
func mayBeEmpty(section string, empty bool) bool {
	switch section {
	case "metadata", "sandbox":
		return false
	case "components", "actions", "runbooks", "installs", "inputs", "input_groups", "branches":
		return empty || section == "inputs"
	}
	return true
}

// noEffect names the sections of which nothing comes yet. What they say is read, checked and kept all the same.
func noEffect(section string) string {
	switch section {
	case "secrets", "permissions", "policies", "runbooks":
		return section
	case "stack":
		return "the install stack"
	case "break_glass":
		return "break-glass roles"
	case "operation_roles":
		return "operation roles"
	case "installer":
		return "the installer page"
	case "branch", "branches":
		return "branches"
	case "installs.toml":
		return "a repository of installs"
	case "triggers":
		return "triggers of branch runs"
	}
	return ""
}

// singleFile gives the nuon.APP.toml that is the app: the only one, in a directory without the files that it would stand for.
func (l *loader) singleFile(entries []fs.DirEntry, present map[string]bool) string {
	found := ""
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case entry.IsDir() || !isSingleFile(name):
		case present["metadata.toml"]:
			l.warnf(ruleBothForms, syntax.Start(name), "remove one of them", "%s is not read, because metadata.toml is there", name)
		case found != "":
			l.errorf(ruleBothForms, syntax.Start(name), "put each app into a directory of its own", "both %s and %s are there", found, name)
		default:
			found = name
		}
	}
	return found
}
