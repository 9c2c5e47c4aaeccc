package manifest

import (
	"context"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Apply makes the change that the last report describes, waits until what it made is ready, and
// returns outputs and health. An apply that was killed on its way is healed by the next plan and
// apply: every request states the whole of what is wanted.
func (o *operation) Apply(ctx context.Context) (deploy.Outcome, error) {
	change := &change{session: o.session, seen: o.seen, before: o.before}
	waiting, done := deploy.WithWaitTime(ctx)
	defer done()
	if err := change.run(waiting); err != nil {
		return deploy.Outcome{}, err
	}
	if o.op.Destroy {
		return deploy.Outcome{}, nil
	}
	change.step("wait")
	health, err := o.cluster.Wait(ctx, refs(o.objects), deploy.WaitTime(ctx))
	if err != nil {
		return deploy.Outcome{Health: health}, err
	}
	outputs, err := o.outputs(ctx, o.objects)
	return deploy.Outcome{Outputs: outputs, Health: health}, err
}

// outputs are those of the component: its manifest, sealed, and what the objects are known by.
func (s *session) outputs(ctx context.Context, objects []*wanted) ([]api.Output, error) {
	from, secret := values.ComponentOf(s.deploy), s.known.Contains()
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
	encoded, err := json.Marshal(text)
	if err != nil {
		return nil, fmt.Errorf("write the manifest for the outputs: %w", err)
	}
	manifest, err := values.Output(from, "manifest", encoded, true, s.env.Key, secret)
	return append(made, manifest), err
}
