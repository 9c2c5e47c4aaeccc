package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Outputs returns the outputs resources, services, ingresses and deployments of objects:
// resources is a list of all objects; the others hold objects by namespace and name,
// as the API returns them. They contain only fields that do not change on their own (no ready
// counts, no versions), so that components that read them are not deployed without need.
// from, key and secret are passed to values.Output.
func (c *Cluster) Outputs(ctx context.Context, refs []api.ObjectRef, from values.Producer, key seal.Identity,
	secret func(string) bool) ([]api.Output, error) {
	objects, err := c.Objects(ctx, refs)
	if err != nil {
		return nil, err
	}
	given := outputsOf(objects)
	made := make([]api.Output, 0, len(given))
	for _, name := range []string{"resources", "services", "ingresses", "deployments"} {
		encoded, err := json.Marshal(given[name])
		if err != nil {
			return nil, fmt.Errorf("write the output %s: %w", name, err)
		}
		output, err := values.SealOutput(from, name, encoded, false, key, secret)
		if err != nil {
			return nil, err
		}
		made = append(made, output)
	}
	return made, nil
}

// byName holds objects by namespace and name.
type byName map[string]map[string]any

func (b byName) add(object *unstructured.Unstructured, value any) {
	if b[object.GetNamespace()] == nil {
		b[object.GetNamespace()] = map[string]any{}
	}
	b[object.GetNamespace()][object.GetName()] = value
}

// outputsOf returns the four outputs by name.
func outputsOf(objects []*unstructured.Unstructured) map[string]any {
	resources, services, ingresses, deployments := []any{}, byName{}, byName{}, byName{}
	for _, object := range objects {
		resources = append(resources, map[string]any{
			"api_version": object.GetAPIVersion(), "kind": object.GetKind(), "namespace": object.GetNamespace(),
			"name": object.GetName(),
		})
		switch kind := object.GroupVersionKind(); {
		case kind.Group == "" && kind.Kind == "Service":
			services.add(object, stableFields(object, "loadBalancer"))
		case kind.Group == "networking.k8s.io" && kind.Kind == "Ingress":
			ingresses.add(object, stableFields(object, "loadBalancer"))
		case kind.Group == "apps" && kind.Kind == "Deployment":
			deployments.add(object, deployment(object))
		}
	}
	return map[string]any{"resources": resources, "services": services, "ingresses": ingresses, "deployments": deployments}
}

// deployment returns the fields of a Deployment that cannot hold secrets. A chart writes
// values into the arguments and environment of containers, into annotations and into probes,
// and nobody outside the account may read those. The replica count is left out because
// an autoscaler changes it.
func deployment(object *unstructured.Unstructured) map[string]any {
	made := stableFields(object)
	pod := map[string]any{}
	for _, list := range []string{"containers", "initContainers"} {
		containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", list)
		kept := []any{}
		for _, each := range containers {
			if container, is := each.(map[string]any); is {
				kept = append(kept, pickFields(container, "name", "image", "ports", "resources"))
			}
		}
		if len(kept) > 0 {
			pod[list] = kept
		}
	}
	selector, _, _ := unstructured.NestedMap(object.Object, "spec", "selector")
	labels, _, _ := unstructured.NestedMap(object.Object, "spec", "template", "metadata", "labels")
	made["spec"] = map[string]any{"selector": selector,
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod}}
	return made
}

// pickFields returns the named fields that exist.
func pickFields(whole map[string]any, names ...string) map[string]any {
	made := map[string]any{}
	for _, name := range names {
		if value, there := whole[name]; there {
			made[name] = value
		}
	}
	return made
}

// stableFields returns an object's identity, labels and spec, and the named fields of its status.
func stableFields(object *unstructured.Unstructured, status ...string) map[string]any {
	made := map[string]any{
		"apiVersion": object.GetAPIVersion(),
		"kind":       object.GetKind(),
		"metadata":   map[string]any{"namespace": object.GetNamespace(), "name": object.GetName(), "labels": labels(object)},
	}
	if spec, found, _ := unstructured.NestedMap(object.Object, "spec"); found {
		made["spec"] = spec
	}
	kept := map[string]any{}
	for _, name := range status {
		if value, found, _ := unstructured.NestedFieldCopy(object.Object, "status", name); found {
			kept[name] = value
		}
	}
	if len(kept) > 0 {
		made["status"] = kept
	}
	return made
}

func labels(object *unstructured.Unstructured) map[string]any {
	made := map[string]any{}
	for name, value := range object.GetLabels() {
		made[name] = value
	}
	return made
}
