package helm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// Owner is on whose behalf a release is worked on; it goes into the labels of the record. All are needed, and have the form of label values.
type Owner struct {
	// Install and Component are the ids of the install and of its component.
	Install, Component string
	// Attempt is "<job>.<attempt>".
	Attempt string
}

// ApplyRequest is one installation or upgrade.
type ApplyRequest struct {
	Release string
	// Chart is the original one, which the record keeps.
	Chart *Chart
	// Values are those that the chart was rendered with, for the record.
	Values map[string]any
	// Rendered is what will be applied, and nothing else.
	Rendered *Rendered
	// Digest is Rendered's as it was approved.
	Digest string
	// Decision is that of Decide, install or upgrade. What it heals must be healed already, by Heal.
	Decision Decision
	Owner    Owner
	// TakeOwnership adopts objects that are there and belong to nobody or somebody else.
	TakeOwnership bool
	// Timeout bounds each hook; ctx bounds all.
	Timeout time.Duration
	// Wait waits for all objects to be ready before the hooks after them, at most WaitTimeout.
	Wait        bool
	WaitTimeout time.Duration
}

// Apply carries out an installation or an upgrade: the namespace and definitions (CRDs) that are missing first, then the record, then hooks and objects.
// When it ends with an error after the record was made, the record says failed and why, and the release is given too. Not ready in time is a
// *cluster.NotReadyError.
func (c *Client) Apply(ctx context.Context, request ApplyRequest) (*Release, error) {
	if err := request.check(); err != nil {
		return nil, err
	}
	original, err := request.Chart.prepare(request.Values, nil)
	if err != nil {
		return nil, err
	}
	if err := c.ensureNamespace(ctx, request); err != nil {
		return nil, err
	}
	if err := c.createCRDs(ctx, request.Rendered.CRDs); err != nil {
		return nil, err
	}
	kept, end := lasting(ctx)
	defer end()
	p := planned{owner: request.Owner, revision: request.Decision.Revision, rendered: request.Rendered, chart: original}
	d, config, err := c.configure(ctx, kept, request.Release, request.Decision, p)
	if err != nil {
		return nil, err
	}
	for _, document := range documents(request.Rendered.Manifest) {
		for _, o := range flatten(document) {
			if info, err := d.locate(o); err == nil {
				d.objects[info] = true
			}
		}
	}
	made, err := d.run(config, request)
	if err == nil && d.unsaved != nil {
		err = fmt.Errorf("the release %s is deployed, and its record could not be written: %w; deploy again", request.Release, d.unsaved)
	}
	return result(ctx, p, made, err)
}

// check refuses what was not approved, before anything is created.
func (r ApplyRequest) check() error {
	if r.Decision.Action != ActionInstall && r.Decision.Action != ActionUpgrade {
		return fmt.Errorf("the decision %q is nothing to apply; this is a fault of nuon, report it", r.Decision.Action)
	}
	if got := r.Rendered.Digest(); got != r.Digest {
		return fmt.Errorf("%w: the rendering has the digest %s, approved was %s; nothing was created, plan again", errTampered, got, r.Digest)
	}
	again, err := compose(r.Chart.meta.Name, r.Rendered.Templates)
	if err != nil {
		return err
	}
	if err := again.same(r.Rendered.Manifest, r.Rendered.hooks); err != nil {
		return err
	}
	return r.Owner.check()
}

// configure puts together what the SDK works with. Its client ends with ctx, its records a little later.
func (c *Client) configure(ctx, kept context.Context, name string, decision Decision, p planned) (*delivery, *action.Configuration, error) {
	bound := c.cluster.Wrapped(bind(ctx))
	d, err := c.deliver(ctx, bound, name)
	if err != nil {
		return nil, nil, err
	}
	history, err := c.History(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if err := d.stand(decision, history); err != nil {
		return nil, nil, err
	}
	caps, err := c.capabilities(ctx)
	if err != nil {
		return nil, nil, err
	}
	store, err := c.storage(kept)
	if err != nil {
		return nil, nil, err
	}
	store.Driver = guarded{Driver: store.Driver, planned: p, delivery: d}
	return d, &action.Configuration{
		RESTClientGetter: bound.Getter(c.namespace), Releases: store, KubeClient: d, Capabilities: caps, Log: c.log.Debug,
		HookOutputFunc: func(_, _, _ string) io.Writer { return io.Discard },
	}, nil
}

// run lets the SDK install or upgrade. It gets no context: with one it would return while a goroutine of it goes on. Its requests and waits end instead.
func (d *delivery) run(config *action.Configuration, request ApplyRequest) (*release.Release, error) {
	frozen := freeze(request.Chart.Info(), request.Rendered.Templates)
	checked := checking{rendered: request.Rendered}
	if request.Decision.Action == ActionInstall {
		install := action.NewInstall(config)
		install.ReleaseName, install.Namespace, install.Replace = request.Release, d.namespace, request.Decision.Revision > 1
		install.SkipCRDs, install.SkipSchemaValidation, install.PostRenderer = true, true, checked
		install.TakeOwnership, install.Timeout = request.TakeOwnership, request.Timeout
		install.Wait, install.WaitForJobs = request.Wait, true
		d.waitAtMost = request.WaitTimeout
		return install.Run(frozen, request.Values)
	}
	upgrade := action.NewUpgrade(config)
	upgrade.Namespace, upgrade.MaxHistory = d.namespace, maxHistory
	upgrade.SkipCRDs, upgrade.SkipSchemaValidation, upgrade.PostRenderer = true, true, checked
	upgrade.TakeOwnership, upgrade.Timeout = request.TakeOwnership, request.Timeout
	upgrade.Wait, upgrade.WaitForJobs = request.Wait, true
	// Else no values at all would mean those of the revision before.
	upgrade.ResetValues = true
	d.waitAtMost = request.WaitTimeout
	return upgrade.Run(request.Release, frozen, request.Values)
}

// checking compares what came of the frozen chart, before the SDK does anything with it.
type checking struct{ rendered *Rendered }

// Run gives the objects back as they are.
func (c checking) Run(made *bytes.Buffer) (*bytes.Buffer, error) {
	if made.String() != c.rendered.Manifest {
		return nil, fmt.Errorf("%w: the objects differ; nothing was created, plan again", errTampered)
	}
	return made, nil
}

// result gives what the SDK made as it is on record; nothing when it did not get that far.
func result(ctx context.Context, p planned, made *release.Release, err error) (*Release, error) {
	var kept *Release
	if made != nil && made.Version == p.revision && made.Info != nil && made.Info.Status != release.StatusUnknown {
		copied := newRelease(p.ours(made))
		kept = &copied
	}
	return kept, explain(ctx, single(err))
}

// ensureNamespace creates the namespace of the release when it is missing. A chart that has it among its objects finds it its own.
func (c *Client) ensureNamespace(ctx context.Context, request ApplyRequest) error {
	resource, err := c.cluster.Resource(namespaceRef(c.namespace))
	if err != nil {
		return explain(ctx, err)
	}
	_, err = resource.Get(ctx, c.namespace, metav1.GetOptions{})
	if err == nil || apierrors.IsForbidden(err) {
		// Who may not look may still work in it.
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("look for the namespace %s: %w", c.namespace, explain(ctx, err))
	}
	made := &unstructured.Unstructured{}
	made.SetAPIVersion("v1")
	made.SetKind("Namespace")
	made.SetName(c.namespace)
	made.SetLabels(map[string]string{"name": c.namespace})
	if request.has("Namespace", c.namespace) {
		made.SetLabels(map[string]string{"name": c.namespace, managedBy: managedByHelm})
		made.SetAnnotations(map[string]string{releaseName: request.Release, releaseNamespace: c.namespace})
	}
	_, err = resource.Create(ctx, made, metav1.CreateOptions{FieldManager: cluster.FieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the namespace %s: %w", c.namespace, explain(ctx, err))
	}
	return nil
}

// has says whether an object of a core kind is among those of the release.
func (r ApplyRequest) has(kind, name string) bool {
	for _, document := range documents(r.Rendered.Manifest) {
		for _, o := range flatten(document) {
			if o.GetKind() == kind && o.GetName() == name {
				return true
			}
		}
	}
	return false
}

// Heal marks the revisions that the decision names as failed, in words; the objects are left to what comes after.
func (c *Client) Heal(ctx context.Context, name string, decision Decision, owner Owner) error {
	if len(decision.Heal) == 0 {
		return nil
	}
	if err := owner.check(); err != nil {
		return err
	}
	store, err := c.storage(ctx)
	if err != nil {
		return err
	}
	for _, revision := range decision.Heal {
		record, err := store.Get(name, revision)
		if err != nil {
			return fmt.Errorf("read revision %d of the release %s: %w", revision, name, explain(ctx, err))
		}
		heal(record, owner)
		if err := store.Update(record); err != nil {
			return fmt.Errorf("mark revision %d of the release %s as failed: %w", revision, name, explain(ctx, err))
		}
		c.log.Info("revision %d of the release %s was left in the middle by an attempt that ended; it is marked as %s", revision, name, record.Info.Status)
	}
	return nil
}

// heal gives a record the status that it would have if its attempt had failed instead of ended.
func heal(record *release.Release, owner Owner) {
	if record.Info.Status == release.StatusSuperseded {
		record.SetStatus(release.StatusUninstalled, "uninstalled; an installation over it ended before it began, found by "+owner.Attempt)
		return
	}
	record.SetStatus(release.StatusFailed, fmt.Sprintf("left %s by an attempt that ended in the middle, found by %s", record.Info.Status, owner.Attempt))
}

func namespaceRef(name string) api.ObjectRef {
	return api.ObjectRef{Version: "v1", Kind: "Namespace", Name: name}
}
