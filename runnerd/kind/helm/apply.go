package helm

import (
	"context"
	"errors"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk"
)

// Observe returns the cluster and the newest revision of the release.
func (o *operation) Observe(context.Context) (deploy.Observation, error) { return o.observation(), nil }

// Report composes the release from the stored rendering, byte for byte, and asks the server again.
func (o *operation) Report(ctx context.Context) (*diff.Report, error) {
	noted := o.saved.metadata
	if o.op.Destroy {
		return o.report(ctx, reportInput{decision: noted.Decision})
	}
	var err error
	if o.chart, err = pullChart(ctx, o.env, o.deploy.Artifact); err != nil {
		return nil, err
	}
	if o.values, err = helmsdk.ReadValues("the values of the plan", o.saved.values); err != nil {
		return nil, err
	}
	if o.rendered, err = helmsdk.Compose(o.chart, o.values, o.saved.templates); err != nil {
		return nil, err
	}
	return o.report(ctx, reportInput{
		decision: noted.Decision, rendered: o.rendered, again: o.saved.again, crds: noted.CRDs, strays: noted.Strays,
	})
}

// Apply installs, upgrades or uninstalls the release, and waits for its objects. If
// they do not become ready, the release is marked as failed, and the error states why.
func (o *operation) Apply(ctx context.Context) (deploy.ComponentState, error) {
	decision := o.saved.metadata.Decision
	if err := o.client.MarkFailed(ctx, o.Release, decision, o.owner()); err != nil {
		return deploy.ComponentState{}, err
	}
	if o.op.Destroy {
		return deploy.ComponentState{}, o.uninstall(ctx, decision)
	}
	release, err := o.client.Apply(ctx, helmsdk.ApplyRequest{
		Release: o.Release, Chart: o.chart, Values: o.values, Rendered: o.rendered, Digest: o.saved.metadata.Rendered,
		Decision: decision, Owner: o.owner(), TakeOwnership: o.deploy.Helm.TakeOwnership,
		Timeout: deploy.WaitTime(ctx), Wait: true, WaitTimeout: deploy.WaitTime(ctx),
	})
	if err != nil {
		return o.withHealth(ctx, release, err)
	}
	return o.componentState(ctx, release)
}

// uninstall removes the release.
func (o *operation) uninstall(ctx context.Context, decision helmsdk.Decision) error {
	done, err := o.client.Uninstall(ctx, helmsdk.UninstallRequest{
		Release: o.Release, Decision: decision, Owner: o.owner(), Timeout: deploy.WaitTime(ctx),
	})
	for _, kept := range done.Kept {
		o.env.Log.Info("%s stays, as its annotation helm.sh/resource-policy says", kept)
	}
	if err != nil {
		return err
	}
	o.env.Log.Info("the release %s is gone, with %d objects", o.Release, len(done.Deleted))
	return nil
}

// withHealth adds the health of the objects to a failure, so that a person sees which did
// not become ready.
func (o *operation) withHealth(ctx context.Context, release *helmsdk.Release,
	failure error) (deploy.ComponentState, error) {
	var unready *cluster.NotReadyError
	if release == nil || !errors.As(failure, &unready) {
		return deploy.ComponentState{}, failure
	}
	refs, err := o.refs(release)
	if err != nil {
		return deploy.ComponentState{}, failure // it states more than err
	}
	health, err := o.cluster.Health(ctx, refs)
	if err != nil {
		return deploy.ComponentState{}, failure // it states more than err
	}
	return deploy.ComponentState{Health: health}, failure
}

// componentState returns the outputs and the health of a release.
func (o *operation) componentState(ctx context.Context, release *helmsdk.Release) (made deploy.ComponentState,
	err error) {
	refs, err := o.refs(release)
	if err != nil {
		return made, err
	}
	if made.Health, err = o.cluster.Health(ctx, refs); err != nil {
		return deploy.ComponentState{}, err
	}
	made.Outputs, err = o.outputs(ctx, release, refs)
	return made, err
}

// Close frees nothing.
func (o *operation) Close(context.Context) error { return nil }
