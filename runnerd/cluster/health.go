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

// maxUnready bounds how many objects a Health names, as documented in api.Health.
const maxUnready = 20

// Health returns the health of objects. An object that does not exist is degraded, except for a
// Job, which may remove itself. The reason of an object includes the problems of its pods.
func (c *Cluster) Health(ctx context.Context, refs []api.ObjectRef) (api.Health, error) {
	looked, err := c.evaluate(ctx, refs)
	if err != nil {
		return api.Health{}, err
	}
	return healthOf(looked), nil
}

// evaluate reads objects and returns their conditions, in the order of refs.
func (c *Cluster) evaluate(ctx context.Context, refs []api.ObjectRef) ([]condition, error) {
	objects, err := c.fetch(ctx, refs)
	if err != nil {
		return nil, err
	}
	made := make([]condition, len(refs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, ref := range refs {
		made[i] = conditionOf(ref, objects[i])
		if made[i].ready || objects[i] == nil {
			continue
		}
		group.Go(func() error { // finds out why one object is not ready
			made[i] = c.withPods(ctx, c.withClass(ctx, made[i], objects[i]), objects[i])
			return nil
		})
	}
	return made, group.Wait()
}

// withClass marks a claim as ready that is bound only when a pod uses it, because no pod may
// use it for a long time (a CronJob's).
func (c *Cluster) withClass(ctx context.Context, made condition, object *unstructured.Unstructured) condition {
	if made.ref.Group != "" || made.ref.Kind != "PersistentVolumeClaim" ||
		made.status != api.ObjectHealthStatusProgressing {
		return made
	}
	name := stringField(object, "spec", "storageClassName")
	if name == "" {
		return made
	}
	class, err := c.get(ctx, api.ObjectRef{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass", Name: name})
	if err == nil && class != nil && stringField(class, "volumeBindingMode") == "WaitForFirstConsumer" {
		made.ready = true
	}
	return made
}

// healthOf summarizes conditions.
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
	slices.SortStableFunc(made.Objects,
		func(a, b api.ObjectHealth) int { return cmp.Compare(severity(b.Status), severity(a.Status)) })
	made.Objects = made.Objects[:min(len(made.Objects), maxUnready)]
	return made
}

// severity returns the rank of a status; a higher rank is worse.
func severity(status api.ObjectHealthStatus) int {
	return slices.Index([]api.ObjectHealthStatus{
		api.ObjectHealthStatus(api.HealthStatusReady), api.ObjectHealthStatusUnknown,
		api.ObjectHealthStatusProgressing, api.ObjectHealthStatusDegraded,
	}, status)
}
