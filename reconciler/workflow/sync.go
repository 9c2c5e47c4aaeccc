package workflow

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
)

// ArtifactRepository returns the repository of the install's copies of a component's
// artifacts, below the prefix of the install registry. Plan bundles are stored next to
// it: all that an install's runner may read and write is below <org>/installs/<install>.
func ArtifactRepository(org, install, component string) string {
	return org + "/installs/" + install + "/artifacts/" + component
}

// maxCopiedByPlan is the size in bytes up to which the plan job copies the artifact itself:
// to start a separate job takes longer than the copy. A larger artifact gets its own job,
// which resumes where an earlier one stopped and does not use up the plan's time limit.
const maxCopiedByPlan = 1 << 20

// copiedByPlan reports whether a sync to t needs no job: the artifact was copied
// before, or is so small that the plan copies it.
func (t Target) copiedByPlan() bool {
	return !t.SyncForbidden && (t.AlreadyCopied || t.Size > 0 && t.Size <= maxCopiedByPlan)
}

// fillSyncJob fills in the job that copies the artifact for the plan after it; if the
// plan copies it, the job gets no spec. The returned bytes are stored with the step:
// the desired digest that the copy is for.
func (x *executor) fillSyncJob(ctx context.Context, s *Step, job *jobs.NewJob) ([]byte, error) {
	target, err := x.desiredTarget(ctx, s)
	if err != nil {
		return nil, err
	}
	if target.From.Digest == "" {
		return nil, &Unavailable{Reason: fmt.Sprintf("the artifact of %s is unknown; build it again", s.Component)}
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
