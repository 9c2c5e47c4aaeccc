package kubernetes

import (
	"context"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Apply makes the changes of the last report, waits until the objects are ready, and returns
// outputs and health. The next plan and apply repair an apply that was killed halfway,
// because every request states the complete desired object.
func (o *operation) Apply(ctx context.Context) (deploy.ComponentState, error) {
	change := &change{session: o.session, seen: o.seen, before: o.before}
	waiting, done := deploy.WithWaitTime(ctx)
	defer done()
	if err := change.run(waiting); err != nil {
		return deploy.ComponentState{}, err
	}
	if o.op.Destroy {
		return deploy.ComponentState{}, nil
	}
	change.step("wait")
	health, err := o.cluster.Wait(ctx, refs(o.objects), deploy.WaitTime(ctx))
	if err != nil {
		return deploy.ComponentState{Health: health}, err
	}
	outputs, err := o.outputs(ctx, o.objects)
	return deploy.ComponentState{Outputs: outputs, Health: health}, err
}

// outputs returns the outputs of the component: its manifest, sealed, and those that
// identify its objects.
func (s *session) outputs(ctx context.Context, objects []*desired) ([]api.Output, error) {
	from, secret := values.ComponentProducer(s.deploy), s.secrets.Contains()
	made, err := s.cluster.Outputs(ctx, refs(objects), from, s.env.Key, secret)
	if err != nil {
		return nil, err
	}
	var text string
	for _, w := range objects {
		part, err := yaml.Marshal(w.Object)
		if err != nil {
			return nil, fmt.Errorf("write the manifest for the outputs: %w", err)
		}
		text += "---\n" + string(part)
	}
	manifest, err := values.ManifestOutput(from, text, s.env.Key, s.env.Log.Warn)
	return append(made, manifest...), err
}
