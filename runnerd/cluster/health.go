package cluster

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// mostUnready bounds how many objects a Health names; api.Health says so.
const mostUnready = 20

// Health says how objects are. One that is not there is degraded, but for a Job: those may remove themselves. What is wrong with the
// pods of an object is part of its reason.
func (c *Cluster) Health(ctx context.Context, refs []api.ObjectRef) (api.Health, error) {
	looked, err := c.assess(ctx, refs)
	if err != nil {
		return api.Health{}, err
	}
	return healthOf(looked), nil
}

// assess looks at objects and judges them, in the order of refs.
func (c *Cluster) assess(ctx context.Context, refs []api.ObjectRef) ([]condition, error) {
	objects, err := c.look(ctx, refs)
	if err != nil {
		return nil, err
	}
	made := make([]condition, len(refs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, ref := range refs {
		made[i] = judge(ref, objects[i])
		if made[i].ready || objects[i] == nil {
			continue
		}
		group.Go(func() error { // asks why one object is not ready
			made[i] = c.withPods(ctx, c.withClass(ctx, made[i], objects[i]), objects[i])
			return nil
		})
	}
	return made, group.Wait()
}

// withClass lets a claim alone that is bound when a pod uses it, which none may do for long (a CronJob's).
func (c *Cluster) withClass(ctx context.Context, made condition, object *unstructured.Unstructured) condition {
	if made.ref.Group != "" || made.ref.Kind != "PersistentVolumeClaim" || made.status != api.ObjectHealthStatusProgressing {
		return made
	}
	name := text(object, "spec", "storageClassName")
	if name == "" {
		return made
	}
	class, err := c.get(ctx, api.ObjectRef{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass", Name: name})
	if err == nil && class != nil && text(class, "volumeBindingMode") == "WaitForFirstConsumer" {
		made.ready = true
	}
	return made
}

// healthOf sums up.
func healthOf(looked []condition) api.Health {
	made := api.Health{Status: api.HealthStatusReady, Objects: []api.ObjectHealth{}, At: time.Now().UTC()}
	for _, each := range looked {
		if each.status == "" || each.ready && each.status != api.ObjectHealthStatusUnknown {
			continue
		}
		made.Objects = append(made.Objects, api.ObjectHealth{Object: each.ref, Status: each.status, Reason: each.reason})
		if severity(each.status) > severity(api.ObjectHealthStatus(made.Status)) {
			made.Status = api.HealthStatus(each.status)
		}
	}
	slices.SortStableFunc(made.Objects, func(a, b api.ObjectHealth) int { return cmp.Compare(severity(b.Status), severity(a.Status)) })
	made.Objects = made.Objects[:min(len(made.Objects), mostUnready)]
	return made
}

// severity orders what may be said of an object.
func severity(status api.ObjectHealthStatus) int {
	return slices.Index([]api.ObjectHealthStatus{
		api.ObjectHealthStatus(api.HealthStatusReady), api.ObjectHealthStatusUnknown, api.ObjectHealthStatusProgressing, api.ObjectHealthStatusDegraded,
	}, status)
}
