package jobs_test

import (
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/tfstate"
)

func init() {
	jobs.DecideState = func(
		author jobs.Attempt, delivered api.State, newest *store.State, lockHolder string,
	) (status, reason string) {
		decided, reason := tfstate.DecideStatus(tfstate.Evidence{
			Author: author, Delivered: delivered, Newest: newest, LockHolder: lockHolder,
		})
		return string(decided), reason
	}
}
