package workflow

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// maxDriftObjects is the maximum number of objects that a component's drift names, and maxDriftAddress
// the maximum length of a name: a runner wrote the report.
const (
	maxDriftObjects = 3
	maxDriftAddress = 200
)

// saveDrift stores what the plan found changed by others since the component's last apply. The next
// apply ends it.
func (e jobEnd) saveDrift(ctx context.Context, report *diff.Report) error {
	var raw json.RawMessage
	if found := driftOf(report); found.Changes > 0 {
		found.Workflow, found.At = e.step.WorkflowID, time.Now()
		var err error
		if raw, err = encode(found); err != nil {
			return err
		}
	}
	return e.tx.SetDrift(ctx, raw, e.tx.Org, *e.step.InstallComponentID)
}

// driftOf counts the objects that others changed, and names the first ones.
func driftOf(report *diff.Report) api.Drift {
	var found api.Drift
	if report == nil {
		return found
	}
	found.Changes = len(report.Drift)
	for i := range report.Drift {
		if at := report.Drift[i].Address; len(at) <= maxDriftAddress && len(found.Objects) < maxDriftObjects {
			found.Objects = append(found.Objects, at)
		}
	}
	return found
}
