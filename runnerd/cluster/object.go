package cluster

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
)

// workers is the number of concurrent requests of one call.
const workers = 8

// RefOf returns the reference of an object.
func RefOf(u *unstructured.Unstructured) api.ObjectRef {
	kind := u.GroupVersionKind()
	return api.ObjectRef{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: u.GetNamespace(),
		Name: u.GetName()}
}

// maxName bounds a name in a message, in bytes. Kubernetes allows 253; a chart
// may contain any name.
const maxName = 600

// DisplayName returns an object's kind, namespace and name for messages, safe to print.
func DisplayName(ref api.ObjectRef) string {
	return diff.EscapeText(truncate.Text(ref.String(), maxName))
}

// Resource returns the client for objects of ref's kind, in ref's namespace unless the kind
// is cluster-scoped. For a kind that the server does not have it returns an error for which
// meta.IsNoMatchError is true.
func (c *Cluster) Resource(ref api.ObjectRef) (dynamic.ResourceInterface, error) {
	mapper, err := c.Mapper()
	if err != nil {
		return nil, err
	}
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: ref.Group, Kind: ref.Kind}, ref.Version)
	if err != nil {
		return nil, err
	}
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return client.Resource(mapping.Resource), nil
	}
	return client.Resource(mapping.Resource).Namespace(ref.Namespace), nil
}

// Objects returns the current objects in the order of refs. It omits objects that do not exist,
// or whose kind the server does not have.
func (c *Cluster) Objects(ctx context.Context, refs []api.ObjectRef) ([]*unstructured.Unstructured, error) {
	found, err := c.fetch(ctx, refs)
	if err != nil {
		return nil, err
	}
	made := make([]*unstructured.Unstructured, 0, len(found))
	for _, object := range found {
		if object != nil {
			made = append(made, object)
		}
	}
	return made, nil
}

// fetch is like Objects, but has nil for each object that does not exist.
func (c *Cluster) fetch(ctx context.Context, refs []api.ObjectRef) ([]*unstructured.Unstructured, error) {
	made := make([]*unstructured.Unstructured, len(refs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, ref := range refs {
		group.Go(func() error { // gets one object
			object, err := c.get(ctx, ref)
			if err != nil {
				return fmt.Errorf("look at %s: %w", DisplayName(ref), Explain(err))
			}
			made[i] = object
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return made, nil
}

// get returns one object, or nil when it does not exist.
func (c *Cluster) get(ctx context.Context, ref api.ObjectRef) (*unstructured.Unstructured, error) {
	resource, err := c.Resource(ref)
	if meta.IsNoMatchError(err) {
		return nil, nil //nolint:nilnil // not there
	}
	if err != nil {
		return nil, err
	}
	object, err := resource.Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // not there
	}
	return object, err
}
