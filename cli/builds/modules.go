package builds

import (
	"fmt"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/image"
)

// Resolved is what a build got from outside of its repository: "module" or "image", and which one.
type Resolved struct{ Kind, Text string }

// ResolvedLines returns a line for the image of a build, or for each module that it packed.
func ResolvedLines(made api.ModuleResolution) []Resolved {
	var lines []Resolved
	for _, m := range made.Modules {
		line := Resolved{"module", console.Line(fmt.Sprintf("%s: %s %s", m.Key, m.Source, moduleVersion(m)))}
		if made.Tool == image.Tool {
			line = Resolved{"image", console.Line(fmt.Sprintf("%s %s %s", m.Source, moduleVersion(m), m.Tree))}
		}
		lines = append(lines, line)
	}
	return lines
}

// moduleVersion returns the version of a module or image, or its commit or digest, with the constraint.
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
