package main

import (
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/action"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/module"
)

// handlers gives what does each kind of job.
func handlers() job.Handlers {
	return job.Handlers{
		api.JobSpecKindBuild:  module.Build{},
		api.JobSpecKindPlan:   module.Plan{},
		api.JobSpecKindApply:  module.Apply{},
		api.JobSpecKindAction: action.Action{},
	}
}
