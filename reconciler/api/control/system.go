package control

import (
	"context"

	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// GetSystem implements GET /v1/system: the control plane's own health, and the open work of the
// caller's org.
func (s *Server) GetSystem(ctx context.Context, _ GetSystemRequestObject) (GetSystemResponseObject, error) {
	system, err := s.services.Health(ctx)
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		work := system.Work
		work.JobsWaiting, work.JobsRunning, work.AttemptsOutOfContact = 0, 0, 0
		open, err := tx.OpenJobs(ctx, tx.Org)
		if err != nil {
			return err
		}
		for _, j := range open {
			if j.Status == string(jobs.JobQueued) {
				work.JobsWaiting += int(j.Jobs)
			} else {
				work.JobsRunning += int(j.Jobs)
			}
			work.AttemptsOutOfContact += int(j.Silent)
		}
		contested, err := tx.ContestedComponents(ctx, tx.Org)
		if err != nil {
			return err
		}
		work.Contested = int(contested)
		system.Work = work
		runners, err := tx.RunnersByState(ctx, timing.Online.Seconds(), tx.Org)
		counts := map[string]int{}
		for _, r := range runners {
			counts[r.State] = int(r.Runners)
		}
		system.Runners.Online, system.Runners.Offline = counts["online"], counts["offline"]
		system.Runners.Off, system.Runners.Unregistered = counts["off"], counts["unregistered"]
		return err
	})
	return GetSystem200JSONResponse(system), err
}
