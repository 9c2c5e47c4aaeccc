package builds

import (
	"fmt"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// ModuleLines returns a line for each module from outside of its repository that a build packed.
func ModuleLines(made api.ModuleResolution) []string {
	var lines []string
	for _, m := range made.Modules {
		lines = append(lines, console.Line(fmt.Sprintf("%s: %s %s", m.Key, m.Source, moduleVersion(m))))
	}
	return lines
}

// moduleVersion returns the version of a module, or its commit or digest, with the constraint.
func moduleVersion(m api.ResolvedModule) string {
	version := m.Version
	switch {
	case version != "":
	case m.Commit != "":
		version = fmt.Sprintf("at %.12s", m.Commit)
	default:
		version = console.Short(m.Tree)
	}
	if m.Constraint != "" && m.Constraint != m.Version {
		version += " (" + m.Constraint + ")"
	}
	return version
}
