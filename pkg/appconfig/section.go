package appconfig

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
)

// rootFiles are the files that count at the root of a config directory, besides nuon.APP.toml.
var rootFiles = []string{
	"metadata.toml", "sandbox.toml", "runner.toml", "stack.toml", "inputs.toml", "secrets.toml", "permissions.toml",
	"break_glass.toml",
	"operation_roles.toml", "kubernetes_contexts.toml", "policies.toml", "installer.toml", "branch.toml",
	"installs.toml", "triggers.toml",
}

// sectionNames are the directories that count there. Other directories are payload.
var sectionNames = []string{
	"components", "actions", "runbooks", "installs", "inputs", "input_groups", "secrets", "permissions", "break_glass",
	"kubernetes_contexts", "policies", "branches",
}

func isRootFile(name string) bool { return slices.Contains(rootFiles, name) }
func isSection(name string) bool  { return slices.Contains(sectionNames, name) }

// isSingleFile reports whether a file at the root is a whole app in the older form.
func isSingleFile(name string) bool {
	return strings.HasPrefix(name, "nuon.") && strings.HasSuffix(name, ".toml") && len(name) > len("nuon..toml")
}

// rootForm returns the file that is the alternative to a section directory. Other sections have
// only a directory: installs.toml differs from installs/, and branch.toml holds one branch in
// addition to those of branches/.
func rootForm(section string) string {
	switch section {
	case "inputs", "input_groups":
		return "inputs.toml"
	case "secrets", "permissions", "break_glass", "kubernetes_contexts", "policies":
		return section + ".toml"
	}
	return ""
}

// mayBeEmpty reports whether a file without content is allowed: the section requires none, or the
// file has zero bytes.
func mayBeEmpty(section string, empty bool) bool {
	switch section {
	case "metadata", "sandbox":
		return false
	case "components", "actions", "runbooks", "installs", "inputs", "input_groups", "branches":
		return empty || section == "inputs"
	}
	return true
}

// noEffect describes the sections that have no effect yet, for messages. Their files are still
// read, checked and stored.
func noEffect(section string) string {
	switch section {
	case "runbooks":
		return section
	case "installer":
		return "the installer page"
	case "branch", "branches":
		return "branches"
	case "triggers":
		return "triggers of branch runs"
	}
	return ""
}

// singleFile returns the nuon.APP.toml that is the app: the only one, in a directory without
// metadata.toml.
func (l *loader) singleFile(entries []fs.DirEntry, present map[string]bool) string {
	found := ""
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case entry.IsDir() || !isSingleFile(name):
		case present["metadata.toml"]:
			l.warnf(ruleBothForms, syntax.Start(name), "remove one of them",
				"%s is not read, because metadata.toml is there", name)
		case found != "":
			l.errorf(ruleBothForms, syntax.Start(name), "put each app into a directory of its own",
				"both %s and %s are there", found, name)
		default:
			found = name
		}
	}
	return found
}
