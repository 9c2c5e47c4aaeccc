package workflow

import (
	"fmt"

	"github.com/nuon-toolkit/nuon/diff"
)

// mostGroupedBytes bounds the reports that are compared with those of other installs: a report is looked through once for every name
// of its install, while the install's row is locked.
const mostGroupedBytes = 4 << 20

// alike names what this plan has in common with those of other installs that a person may answer with it: they are of one component of
// one app, made from the same artifact, with reports of which the gist is equal but for each install's own name and ids. What an install
// was given (inputs) is not its own name. The group only gathers: what is approved is still each plan by its own content digest.
//
// It is empty for a plan that is like no other: a restore is about versions of one install's state, and a report that is too large to
// be compared is read by itself. So is a report with a finding that requires an approval by itself.
func (e jobEnd) alike(target Target, report *diff.Report) string {
	if target.restores() || len(e.result.Plan.Report) > mostGroupedBytes || report.NeedsIndividualApproval() {
		return ""
	}
	said := report.Gist().GroupDigest(e.install.Name, e.install.ID, e.install.RunnerID, *e.step.InstallComponentID)
	return Hash(fmt.Appendf(nil, "nuon plan group 1\n%s\n%s\n%s\n%t %t\n%s\n", e.install.AppID, e.step.Component, target.Deploy.Artifact.Digest,
		e.step.Destroy, e.result.Plan.Destructive, said))
}
