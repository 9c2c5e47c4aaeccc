package workflow

import (
	"fmt"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// maxGroupedReportBytes bounds the reports that are compared with those of other installs: a report is
// searched once for every name of its install while the install's row is locked.
const maxGroupedReportBytes = 4 << 20

// groupDigest returns the group key that this plan shares with plans of other installs
// which a person may answer together with it. They are for one component of one app,
// made from the same artifact, and the gists of their reports are equal except for
// each install's own name and ids. An install's inputs do not count as its own name.
// The key only groups plans: each plan is still approved by its own content digest.
//
// It is empty for a plan that is grouped with no other: a restore (it is
// about versions of one install's state), a report that is too large to
// compare, and a report with a finding that requires individual approval.
func (e jobEnd) groupDigest(target Target, report *diff.Report) string {
	if target.restores() || len(e.result.Plan.Report) > maxGroupedReportBytes || report.NeedsIndividualApproval() {
		return ""
	}
	gist := report.ComparableForm().GroupDigest(e.install.Name, e.install.ID, e.install.RunnerID,
		*e.step.InstallComponentID)
	return sha256digest.Of(fmt.Appendf(nil, "nuon plan group 1\n%s\n%s\n%s\n%t %t\n%s\n", e.install.AppID,
		e.step.Component, target.Deploy.Artifact.Digest,
		e.step.Destroy, e.result.Plan.Destructive, gist))
}
