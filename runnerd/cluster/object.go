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
)

// workers is how many requests of one question are under way at once.
const workers = 8

// Ref names an object.
func Ref(u *unstructured.Unstructured) api.ObjectRef {
	kind := u.GroupVersionKind()
	return api.ObjectRef{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}
}

// mostName bounds a name in a sentence; Kubernetes allows 253 bytes, a chart may hold anything.
const mostName = 600

// Name is how a sentence calls an object: its kind, namespace and name, safe to print.
func Name(ref api.ObjectRef) string { return diff.Neutral(short(ref.String(), mostName)) }

// Resource gives the client for objects of ref's kind; in ref's namespace, which does not count for a kind that has none. A kind that
// the server does not have gives an error for which meta.IsNoMatchError holds.
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

// Objects gets objects as they are, in the order of refs; those that are not there, or whose kind the server does not have, are left
// out.
func (c *Cluster) Objects(ctx context.Context, refs []api.ObjectRef) ([]*unstructured.Unstructured, error) {
	found, err := c.look(ctx, refs)
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

// look is Objects with nil in place of what is not there.
func (c *Cluster) look(ctx context.Context, refs []api.ObjectRef) ([]*unstructured.Unstructured, error) {
	made := make([]*unstructured.Unstructured, len(refs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, ref := range refs {
		group.Go(func() error { // gets one object
			object, err := c.get(ctx, ref)
			if err != nil {
				return fmt.Errorf("look at %s: %w", Name(ref), Explain(err))
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

// get gives one object, nil when it is not there.
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
