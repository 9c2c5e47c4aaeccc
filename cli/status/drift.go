package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// driftItems returns the components that others changed since the last apply, as their newest plan
// found. A plan that waits for an approval is an action item already.
func (s snapshot) driftItems() []ActionItem {
	var g itemMerger
	for _, i := range s.installs {
		for _, d := range i.Drift {
			if s.asked(i, d.Component) {
				continue
			}
			g.add(ActionItem{
				Kind: KindDrift, App: i.App, Component: d.Component, What: d.Component + " has drifted", Why: driftReason(d),
				Command: console.CommandLine("nuon", "deploy", s.installName(i.App, i.Name), d.Component, "--redeploy"),
			}, i.Name, d.At)
		}
	}
	return g.items()
}

// asked reports whether a plan of a component waits for an approval.
func (s snapshot) asked(i api.InstallSummary, component string) bool {
	return slices.ContainsFunc(s.approvals, func(a api.Approval) bool {
		return a.InstallID == i.ID && a.Component == component
	})
}

// driftReason describes what others changed.
func driftReason(d api.Drift) string {
	why := "others changed " + diff.Plural(d.Changes, "object", "objects") + " since the last apply"
	if len(d.Objects) == 0 {
		return why
	}
	why += ": " + strings.Join(d.Objects, ", ")
	if more := d.Changes - len(d.Objects); more > 0 {
		why += fmt.Sprintf(" and %d more", more)
	}
	return why
}
