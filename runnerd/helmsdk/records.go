package helmsdk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
)

// grace is how long records can still be written after ctx ends, so that a release
// which failed because of that is recorded as failed.
const grace = 15 * time.Second

// storage returns the SDK's record storage, until ctx ends.
func (c *Client) storage(ctx context.Context) (*storage.Storage, error) {
	return c.storageOf(ctx, c.driver)
}

func (c *Client) storageOf(ctx context.Context, kind string) (*storage.Storage, error) {
	clients, err := kubernetes.NewForConfig(c.cluster.WithTransport(bind(ctx)).RESTConfig())
	if err != nil {
		return nil, err
	}
	silenceSDK()
	var made *storage.Storage
	if kind == "secret" {
		d := driver.NewSecrets(clients.CoreV1().Secrets(c.namespace))
		d.Log = c.log.Debug
		made = storage.Init(d)
	} else {
		d := driver.NewConfigMaps(clients.CoreV1().ConfigMaps(c.namespace))
		d.Log = c.log.Debug
		made = storage.Init(d)
	}
	made.Log, made.MaxHistory = c.log.Debug, maxHistory
	return made, nil
}

// checkOtherDriver returns an error if the records of a release are stored with the other
// driver. The release would otherwise count as missing: a new one would be installed over
// it, its objects would count as ours, and objects that leave it would never be deleted.
func (c *Client) checkOtherDriver(ctx context.Context, name string) error {
	other := "secret"
	if c.driver == other {
		other = "configmap"
	}
	store, err := c.storageOf(ctx, other)
	if err != nil {
		return err
	}
	last, err := store.Last(name)
	if err != nil || last.Info == nil || last.Info.Status == release.StatusUninstalled {
		return nil //nolint:nilerr // there is none, or this runner may not read it
	}
	return &OtherDriverError{Release: name, Namespace: c.namespace, Driver: c.driver, Other: other}
}

// OtherDriverError reports that a release has its records with the other storage driver.
type OtherDriverError struct{ Release, Namespace, Driver, Other string }

// Error states what to set, or which command to run.
func (e *OtherDriverError) Error() string {
	return fmt.Sprintf(
		"the release %s in the namespace %s has its records in %ss, and storage_driver of the component is %s: set "+
			"storage_driver = %q, "+
			"or remove the release first with: HELM_DRIVER=%s helm uninstall %s -n %s", e.Release, e.Namespace,
		e.Other, e.Driver,
		e.Other, e.Other, e.Release, e.Namespace)
}

// History returns the recorded revisions of a release, newest last; none if there is no
// such release. It returns an *OtherDriverError if the other storage driver has that release.
func (c *Client) History(ctx context.Context, name string) ([]Release, error) {
	store, err := c.storage(ctx)
	if err != nil {
		return nil, err
	}
	records, err := store.History(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, c.checkOtherDriver(ctx, name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the records of the release %s in the namespace %s: %w", name, c.namespace,
			explain(ctx, err))
	}
	releaseutil.SortByRevision(records)
	made := make([]Release, 0, len(records))
	for _, r := range records {
		if r.Name == name && r.Version > 0 {
			made = append(made, newRelease(r))
		}
	}
	return made, nil
}

// withGrace returns a context that ends shortly after ctx.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	made, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(grace, func() { cancel(context.Cause(ctx)) })
	})
	return made, func() { stop(); cancel(nil) }
}

// check returns an error unless an owner can be written into labels.
func (o Owner) check() error {
	for name, value := range map[string]string{"install": o.Install, "component": o.Component, "attempt": o.Attempt} {
		if value == "" || len(validation.IsValidLabelValue(value)) > 0 {
			return fmt.Errorf("the %s %.80q cannot be the value of a label; this is a bug in nuon; report it", name, value)
		}
	}
	return nil
}

// plannedRecord is what the SDK may write for one release, and the parts that are replaced by ours.
type plannedRecord struct {
	owner    Owner
	revision int
	// rendered and chart are nil if nothing new is created, as for an uninstallation.
	rendered *Rendered
	chart    *chart.Chart
	// uninstalls reports that the record becomes one of an uninstallation.
	uninstalls bool
}

// guardedDriver is a record driver that lets the SDK write only what was planned: the
// record of a new revision must have the planned manifest and hooks. From its first
// write, it is stored with the original chart and with our labels.
type guardedDriver struct {
	driver.Driver
	planned plannedRecord
	// delivery is informed about writes of records, and confirms their deletion.
	delivery *releaseClient
}

// Create writes the first form of a record, before any object is created.
func (g guardedDriver) Create(key string, r *release.Release) error {
	if g.planned.rendered == nil || r.Version != g.planned.revision {
		return fmt.Errorf("%w: the SDK makes revision %d where %d was decided; plan again", errTampered, r.Version,
			g.planned.revision)
	}
	if err := g.planned.rendered.same(r.Manifest, r.Hooks); err != nil {
		return err
	}
	return g.Driver.Create(key, g.planned.ownRecord(r))
}

// Update updates a record.
func (g guardedDriver) Update(key string, r *release.Release) error {
	if r.Version != g.planned.revision {
		return g.Driver.Update(key, r)
	}
	g.delivery.saveErr = g.Driver.Update(key, g.planned.ownRecord(r))
	return g.delivery.saveErr
}

// Delete removes a record; that of an uninstallation only if nothing is left of the release.
func (g guardedDriver) Delete(key string) (*release.Release, error) {
	if g.planned.uninstalls {
		if err := g.delivery.finish(); err != nil {
			return nil, err
		}
	}
	return g.Driver.Delete(key)
}

// ownRecord returns the record as it is stored; the SDK continues with its own.
func (p plannedRecord) ownRecord(r *release.Release) *release.Release {
	kept := *r
	if p.chart != nil {
		kept.Chart = p.chart
	}
	kept.Labels = maps.Clone(r.Labels)
	if kept.Labels == nil {
		kept.Labels = map[string]string{}
	}
	maps.DeleteFunc(kept.Labels, func(key, _ string) bool {
		return driver.ContainsSystemLabels(map[string]string{key: ""})
	})
	kept.Labels[LabelInstall], kept.Labels[LabelComponent] = p.owner.Install, p.owner.Component
	kept.Labels[LabelAttempt], kept.Labels[LabelRevision] = p.owner.Attempt, strconv.Itoa(r.Version)
	delete(kept.Labels, LabelUninstall)
	if p.uninstalls {
		kept.Labels[LabelUninstall] = p.owner.Attempt
	}
	return &kept
}

// same compares the SDK's result with the plan.
func (r *Rendered) same(manifest string, hooks []*release.Hook) error {
	if manifest != r.Manifest {
		return fmt.Errorf("%w: the objects differ; nothing was created, plan again", errTampered)
	}
	if len(hooks) != len(r.Hooks) {
		return fmt.Errorf("%w: there are %d hooks, %d were planned; nothing was created, plan again", errTampered, len(hooks),
			len(r.Hooks))
	}
	for i, h := range hooks {
		if !r.Hooks[i].same(newHook(h)) {
			return fmt.Errorf("%w: the hook %s %s differs; nothing was created, plan again", errTampered, h.Kind, h.Name)
		}
	}
	return nil
}
