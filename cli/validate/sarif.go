package validate

import (
	"path"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic/sarif"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// report returns the diagnostics in the format of code hosts. Its file names are
// relative to the root of the repository, as code hosts require; outside a repository,
// they are the same as in the other formats.
func report(all []config) sarif.Log {
	tool := sarif.Tool{Name: "nuon", Version: version.Number}
	for _, r := range appconfig.Rules() {
		tool.Rules = append(tool.Rules, sarif.Rule{Name: r.Name, Summary: r.Summary, Warns: r.Warns})
	}
	var found diagnostic.Diagnostics
	var lines []*string // nil if the line cannot be read
	for i := range all {
		one := &all[i]
		text := newSource(one.dir)
		for _, d := range one.found {
			var known *string
			if line, ok := text.line(d.File, d.Line); ok {
				known = &line
			}
			lines = append(lines, known)
			d.File = path.Join(one.place(), d.File)
			found = append(found, d)
		}
		text.close()
	}
	return sarif.New(tool, found, func(i int) (string, bool) {
		if lines[i] == nil {
			return "", false
		}
		return *lines[i], true
	})
}

// place returns the directory as a code host names it.
func (c *config) place() string {
	if c.inGit {
		return c.root
	}
	return path.Clean(c.prefix)
}
