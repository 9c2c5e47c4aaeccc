package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/planpolicy"
)

// Kind plans and applies manifests. It implements deploy.Kind.
type Kind struct {
	// before, if set, is called before each write and each wait with a description of it.
	// Tests end the process there.
	before func(what string)
}

// operation is one plan or apply of a manifest.
type operation struct {
	*session
	op     *deploy.Operation
	before func(what string)
	// objects are the objects to apply, and inventory is what the component had at
	// the time of the plan.
	objects   []*desired
	inventory []api.ObjectRef
	// seen is the result of the last survey.
	seen *dryRunSet
}

// Open reads the objects, from the component's artifact for a plan and from the plan bundle
// for an apply, and finds the cluster.
func (k Kind) Open(ctx context.Context, op *deploy.Operation) (deploy.Session, error) {
	if op.Stored != nil {
		objects, inventory, err := load(op.Stored.Files)
		if err != nil {
			return nil, err
		}
		session, err := open(op.Env, op.Deploy, op.Values, op.Secrets)
		return &operation{session: session, op: op, before: k.before, objects: objects, inventory: inventory}, err
	}

	// Errors that need no cluster come first, such as those of a template.
	decoded, namespace, err := read(ctx, op)
	if err != nil {
		return nil, err
	}
	session, err := open(op.Env, op.Deploy, op.Values, op.Secrets)
	if err != nil {
		return nil, err
	}
	objects, err := session.resolveObjects(decoded, namespace)
	return &operation{session: session, op: op, objects: objects, inventory: op.Inventory}, err
}

// read returns the objects of the component, none if it is to be destroyed, and the namespace
// of objects that do not set one.
func read(ctx context.Context, op *deploy.Operation) ([]object, string, error) {
	if op.Destroy {
		return nil, "", nil
	}
	namespace, err := op.Values.RenderReported("namespace", op.Deploy.Manifest.Namespace)
	if err != nil {
		return nil, "", err
	}
	packed, err := op.Env.Install.Pull(ctx, op.Deploy.Artifact)
	if err != nil {
		return nil, "", err
	}
	text, masked, err := textOf(op.Deploy, packed, op.Values)
	if err != nil {
		return nil, "", err
	}
	objects, err := decode(text)
	if err != nil {
		return nil, "", err
	}
	if masked != text {
		if err := checkIdentities(objects, masked, op.Secrets.Contains()); err != nil {
			return nil, "", err
		}
	}
	for _, o := range objects {
		cluster.AddSecretValues(o.Object, op.Secrets)
	}
	return objects, namespace, nil
}

// checkIdentities returns an error if the kind, name or namespace of an object depends on a secret: they are reported
// in clear, as the inventory. masked is the manifest with other values in place of the secrets. If it cannot be read,
// the manifest interprets a secret, and contains finds what is left of it in a name.
func checkIdentities(objects []object, masked string, contains func(string) bool) error {
	others, err := decode(masked)
	same := map[api.ObjectRef]bool{}
	for _, o := range others {
		same[cluster.RefOf(o.Unstructured)] = true
	}
	var problems []error
	for _, o := range objects {
		ref := cluster.RefOf(o.Unstructured)
		depends := !same[ref]
		if masked == "" || err != nil {
			depends = slices.ContainsFunc([]string{ref.Group, ref.Version, ref.Kind, ref.Namespace, ref.Name}, contains)
		}
		if depends {
			problems = append(problems, fmt.Errorf("%s: the kind, name or namespace of the object depends on a sensitive "+
				"value, and they are reported in clear; use a value that is not sensitive", o.place))
		}
	}
	return joined(problems)
}

// Plan does a dry run of each object's apply request.
func (o *operation) Plan(ctx context.Context) (deploy.Plan, error) {
	report, err := o.Report(ctx)
	if err != nil {
		return deploy.Plan{}, err
	}
	planned := deploy.Plan{Report: report, Inventory: refs(o.objects), Reviewed: o.seen.reviewed()}
	if planned.Observed, err = o.Observe(ctx); err != nil {
		return deploy.Plan{}, err
	}
	planned.Files, err = save(o.objects, o.inventory)
	return planned, err
}

// reviewed returns what policies read: each object as the server would store it, or as it is applied
// where the server was not asked.
func (s *dryRunSet) reviewed() (in planpolicy.Input) {
	for _, a := range s.desired {
		object := a.Unstructured
		if a.applied != nil {
			object = a.applied
		}
		in.Objects = append(in.Objects, object.Object)
	}
	return in
}

// Report repeats the dry runs. A rejection is a deploy.RejectedError.
func (o *operation) Report(ctx context.Context) (report *diff.Report, err error) {
	if o.seen, err = o.dryRunAll(ctx, o.objects, o.inventory); err != nil {
		return nil, err
	}
	return o.report(o.seen)
}

// Observe returns the identity of the cluster and the digest of the inventory.
func (o *operation) Observe(context.Context) (deploy.Observation, error) {
	return deploy.Observation{Cluster: o.cluster.Identity(), Observed: inventoryDigest(o.inventory)}, nil
}

// CurrentState returns the outputs and the health of the objects.
func (o *operation) CurrentState(ctx context.Context) (made deploy.ComponentState, err error) {
	if made.Outputs, err = o.outputs(ctx, o.objects); err != nil {
		return made, err
	}
	made.Health, err = o.cluster.Health(ctx, refs(o.objects))
	return made, err
}

// Close does nothing.
func (o *operation) Close(context.Context) error { return nil }

// inventoryDigest returns the digest of an inventory, independent of its order.
func inventoryDigest(inventory []api.ObjectRef) string {
	sorted := slices.Clone(inventory)
	slices.SortFunc(sorted, byName)
	encoded, _ := json.Marshal(sorted) // structs of texts always encode
	return sha256digest.Of(encoded)
}
