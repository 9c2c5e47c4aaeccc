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

// syncJob is the copy of the artifact that the plan after it will ask for. What comes back is kept with the step: for what it was
// copied.
func (f *flow) syncJob(ctx context.Context, s *Step, job *dispatch.NewJob) ([]byte, error) {
	target, err := f.wanted(ctx, s)
	if err != nil {
		return nil, err
	}
	if target.From.Digest == "" {
		return nil, &Unavailable{Reason: fmt.Sprintf("nothing says which artifact %s is made of; build it anew", s.Component)}
	}
	deploy := target.Deploy
	job.ComponentKind = deploy.ComponentKind
	job.Spec = api.JobSpec{Kind: api.JobSpecKindSync, Sync: api.SyncSpec{
		Install: deploy.Install, InstallID: deploy.InstallID, Component: deploy.Component,
		InstallComponent: deploy.InstallComponent, ComponentKind: deploy.ComponentKind,
		From: target.From, To: deploy.Artifact.Repository,
	}}
	return encode(Target{Digest: target.Digest})
}
