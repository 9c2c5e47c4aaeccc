package workflow

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/dispatch"
)

// ArtifactRepository is where an install's runner keeps its copies of a component's artifacts, below the install registry's prefix.
// Plan bundles lie beside it: what an install's runner may read and write is all below <org>/installs/<install>.
func ArtifactRepository(org, install, component string) string {
	return org + "/installs/" + install + "/artifacts/" + component
}

// mostWithPlan is up to how many bytes an artifact is copied by the job that plans with it. To start a job takes longer than to copy
// that; what is larger has a job that resumes where an earlier one stopped, and does not use up the time limit of the plan.
const mostWithPlan = 1 << 20

// copiedByPlan reports whether a sync to t needs no job: the artifact was copied before, or is so small that the plan copies it.
func (t Target) copiedByPlan() bool {
	return !t.Apart && (t.Copied || t.Size > 0 && t.Size <= mostWithPlan)
}

// syncJob makes the copy of the artifact that the plan after it will ask for; where that copies it, job gets no spec. What comes back is
// kept with the step: for what it was copied.
func (f *flow) syncJob(ctx context.Context, s *Step, job *dispatch.NewJob) ([]byte, error) {
	target, err := f.wanted(ctx, s)
	if err != nil {
		return nil, err
	}
	if target.From.Digest == "" {
		return nil, &Unavailable{Reason: fmt.Sprintf("nothing says which artifact %s is made of; build it anew", s.Component)}
	}
	deploy := target.Deploy
	if target.copiedByPlan() {
		return encode(Target{Digest: target.Digest})
	}
	job.ComponentKind = deploy.ComponentKind
	job.Spec = api.JobSpec{Kind: api.JobSpecKindSync, Sync: api.SyncSpec{
		Install: deploy.Install, InstallID: deploy.InstallID, Component: deploy.Component,
		InstallComponent: deploy.InstallComponent, ComponentKind: deploy.ComponentKind,
		From: target.From, To: deploy.Artifact.Repository,
	}}
	return encode(Target{Digest: target.Digest})
}
