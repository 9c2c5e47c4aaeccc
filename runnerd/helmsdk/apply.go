package helmsdk

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

// Owner identifies the component and attempt that work on a release; it is stored in
// the labels of the record. All fields are required, and have the form of label values.
type Owner struct {
	// Install and Component are the ids of the install and of its component.
	Install, Component string
	// Attempt is "<job>.<attempt>".
	Attempt string
}

// ApplyRequest is one installation or upgrade.
type ApplyRequest struct {
	Release string
	// Chart is the original chart, which is stored in the record.
	Chart *Chart
	// Values are those that the chart was rendered with, for the record.
	Values map[string]any
	// Rendered is exactly what will be applied.
	Rendered *Rendered
	// Digest is the approved digest of Rendered.
	Digest string
	// Decision is the result of Decide, install or upgrade. MarkFailed must have healed its
	// revisions already.
	Decision Decision
	Owner    Owner
	// TakeOwnership adopts existing objects without an owner or with another one.
	TakeOwnership bool
	// Timeout bounds each hook; ctx bounds everything.
	Timeout time.Duration
	// Wait waits until all objects are ready before the post hooks run, at most WaitTimeout.
	Wait        bool
	WaitTimeout time.Duration
}

// Apply carries out an installation or an upgrade: first it creates the missing namespace
// and definitions (CRDs), then the record, then hooks and objects. If it fails after the
// record was created, the record has the status failed and the reason, and the release is
// returned, too. A timeout while waiting for readiness is a *cluster.NotReadyError.
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
	kept, end := withGrace(ctx)
	defer end()
	p := plannedRecord{owner: request.Owner, revision: request.Decision.Revision, rendered: request.Rendered,
		chart: original}
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
	if err == nil && d.saveErr != nil {
		err = fmt.Errorf("the release %s is deployed, and its record could not be written: %w; deploy again",
			request.Release, d.saveErr)
	}
	return result(ctx, p, made, err)
}

// check returns an error if the request is not what was approved, before anything is created.
func (r ApplyRequest) check() error {
	if r.Decision.Action != ActionInstall && r.Decision.Action != ActionUpgrade {
		return fmt.Errorf("the decision %q is nothing to apply; this is a bug in nuon; report it", r.Decision.Action)
	}
	if got := r.Rendered.Digest(); got != r.Digest {
		return fmt.Errorf("%w: the rendering has the digest %s, approved was %s; nothing was created, plan again",
			errTampered, got, r.Digest)
	}
	again, err := compose(r.Chart.meta.Name, "", r.Rendered.Templates)
	if err != nil {
		return err
	}
	if err := again.same(r.Rendered.Manifest, r.Rendered.hooks); err != nil {
		return err
	}
	return r.Owner.check()
}

// configure prepares the SDK's configuration. Its client ends with ctx, its record
// store a little later.
func (c *Client) configure(ctx, kept context.Context, name string, decision Decision, p plannedRecord) (*releaseClient,
	*action.Configuration, error) {
	bound := c.cluster.WithTransport(bind(ctx))
	d, err := c.newReleaseClient(ctx, bound, name)
	if err != nil {
		return nil, nil, err
	}
	history, err := c.History(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if err := d.loadExisting(decision, history); err != nil {
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
	store.Driver = guardedDriver{Driver: store.Driver, planned: p, delivery: d}
	return d, &action.Configuration{
		RESTClientGetter: bound.RESTClientGetter(c.namespace), Releases: store, KubeClient: d, Capabilities: caps,
		Log:            c.log.Debug,
		HookOutputFunc: func(_, _, _ string) io.Writer { return io.Discard },
	}, nil
}

// run has the SDK install or upgrade. It passes no context: with one, the SDK would
// return while one of its goroutines continues. Its requests and waits end instead.
func (d *releaseClient) run(config *action.Configuration, request ApplyRequest) (*release.Release, error) {
	frozen := freeze(request.Chart.Info(), request.Rendered.Templates)
	checked := renderingCheck{rendered: request.Rendered}
	if request.Decision.Action == ActionInstall {
		install := action.NewInstall(config)
		install.ReleaseName, install.Namespace, install.Replace = request.Release, d.namespace, request.Decision.Revision > 1
		install.SkipCRDs, install.SkipSchemaValidation, install.PostRenderer = true, true, checked
		install.TakeOwnership, install.Timeout = request.TakeOwnership, request.Timeout
		install.Wait, install.WaitForJobs = request.Wait, true
		d.waitTimeout = request.WaitTimeout
		return install.Run(frozen, request.Values)
	}
	upgrade := action.NewUpgrade(config)
	upgrade.Namespace, upgrade.MaxHistory = d.namespace, maxHistory
	upgrade.SkipCRDs, upgrade.SkipSchemaValidation, upgrade.PostRenderer = true, true, checked
	upgrade.TakeOwnership, upgrade.Timeout = request.TakeOwnership, request.Timeout
	upgrade.Wait, upgrade.WaitForJobs = request.Wait, true
	// Otherwise, no values at all would mean those of the previous revision.
	upgrade.ResetValues = true
	d.waitTimeout = request.WaitTimeout
	return upgrade.Run(request.Release, frozen, request.Values)
}

// renderingCheck compares the rendering of the frozen chart before the SDK uses it.
type renderingCheck struct{ rendered *Rendered }

// Run returns the objects unchanged.
func (c renderingCheck) Run(made *bytes.Buffer) (*bytes.Buffer, error) {
	if made.String() != c.rendered.Manifest {
		return nil, fmt.Errorf("%w: the objects differ; nothing was created, plan again", errTampered)
	}
	return made, nil
}

// result returns the SDK's release as recorded, or nil if it did not get that far.
func result(ctx context.Context, p plannedRecord, made *release.Release, err error) (*Release, error) {
	var kept *Release
	if made != nil && made.Version == p.revision && made.Info != nil && made.Info.Status != release.StatusUnknown {
		copied := newRelease(p.ownRecord(made))
		kept = &copied
	}
	return kept, explain(ctx, unwrapSingle(err))
}

// ensureNamespace creates the release's namespace if it is missing. If the chart
// includes it among its objects, it is created with the release's ownership labels.
func (c *Client) ensureNamespace(ctx context.Context, request ApplyRequest) error {
	resource, err := c.cluster.Resource(namespaceRef(c.namespace))
	if err != nil {
		return explain(ctx, err)
	}
	_, err = resource.Get(ctx, c.namespace, metav1.GetOptions{})
	if err == nil || apierrors.IsForbidden(err) {
		// A client that may not read the namespace may still work in it.
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

// has reports whether an object of a core kind is among those of the release.
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

// MarkFailed marks the revisions that the decision names as failed, with a reason. It does
// not touch the objects.
func (c *Client) MarkFailed(ctx context.Context, name string, decision Decision, owner Owner) error {
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
		failRecord(record, owner)
		if err := store.Update(record); err != nil {
			return fmt.Errorf("mark revision %d of the release %s as failed: %w", revision, name, explain(ctx, err))
		}
		c.log.Info("revision %d of the release %s was left in the middle by an attempt that ended; it is marked as %s",
			revision, name, record.Info.Status)
	}
	return nil
}

// failRecord sets the status that a record would have if its attempt had failed instead of ended.
func failRecord(record *release.Release, owner Owner) {
	if record.Info.Status == release.StatusSuperseded {
		record.SetStatus(release.StatusUninstalled, "uninstalled; an installation over it ended before it began, found by "+
			owner.Attempt)
		return
	}
	record.SetStatus(release.StatusFailed, fmt.Sprintf("left %s by an attempt that ended in the middle, found by %s",
		record.Info.Status, owner.Attempt))
}

func namespaceRef(name string) api.ObjectRef {
	return api.ObjectRef{Version: "v1", Kind: "Namespace", Name: name}
}
