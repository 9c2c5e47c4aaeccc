package kubernetes

import (
	"context"
	"fmt"
	"io/fs"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// session is one component on one cluster, for one job.
type session struct {
	env     *job.Env
	deploy  api.DeploySpec
	secrets *values.Secrets
	cluster *cluster.Cluster
	client  dynamic.Interface
}

// open finds the component's cluster. known are the texts that are masked
// in reports and outputs.
func open(env *job.Env, spec api.DeploySpec, opened *values.Values, known *values.Secrets) (*session, error) {
	found, err := cluster.Open(env, spec.Cluster, opened)
	if err != nil {
		return nil, err
	}
	client, err := found.Dynamic()
	if err != nil {
		return nil, fmt.Errorf("the access to the cluster cannot be used: %w", err)
	}
	return &session{env: env, deploy: spec, secrets: known, cluster: found, client: client}, nil
}

// mapping returns the resource of a kind. For a kind that the server does not have it returns
// an error for which meta.IsNoMatchError is true.
func (s *session) mapping(ref api.ObjectRef) (*meta.RESTMapping, error) {
	mapper, err := s.cluster.Mapper()
	if err != nil {
		return nil, err
	}
	return mapper.RESTMapping(schema.GroupKind{Group: ref.Group, Kind: ref.Kind}, ref.Version)
}

// servedRef returns a reference of the inventory in a version that the server serves.
// The version of the inventory may no longer be served although the object still exists.
func (s *session) servedRef(ref api.ObjectRef) (api.ObjectRef, error) {
	if _, err := s.mapping(ref); !meta.IsNoMatchError(err) {
		return ref, nil // the caller's own request reports any other error
	}
	mapper, err := s.cluster.Mapper()
	if err != nil {
		return ref, err
	}
	served, err := mapper.RESTMapping(schema.GroupKind{Group: ref.Group, Kind: ref.Kind})
	if meta.IsNoMatchError(err) {
		return ref, nil
	}
	if err != nil {
		return ref, cluster.Explain(err)
	}
	ref.Version = served.GroupVersionKind.Version
	return ref, nil
}

// resource returns the client for objects like ref, or nil if the server
// does not have the kind.
func (s *session) resource(ref api.ObjectRef) (dynamic.ResourceInterface, error) {
	mapping, err := s.mapping(ref)
	if meta.IsNoMatchError(err) {
		return nil, nil //nolint:nilnil // there is no such kind
	}
	if err != nil {
		return nil, cluster.Explain(err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return s.client.Resource(mapping.Resource), nil
	}
	return s.client.Resource(mapping.Resource).Namespace(ref.Namespace), nil
}

// textOf returns the rendered manifest of an artifact, and what it renders to with other values in place of the
// secrets.
func textOf(deploy api.DeploySpec, packed artifact.Artifact, opened *values.Values) (text, masked string, err error) {
	if packed.Type != artifact.MediaManifest {
		return "", "", fmt.Errorf("the artifact is of type %s, not a manifest; this is a bug in the control plane; report it",
			packed.Type)
	}
	if version := packed.Annotations[artifact.AnnotationFormat]; version != formatVersion {
		return "", "", fmt.Errorf("the manifest was packed in format %q, this runner reads format %s; update the runner, or "+
			"build the component again", version, formatVersion)
	}
	files, err := packed.Files(artifact.Limits{})
	if err != nil {
		return "", "", fmt.Errorf("unpack the manifest: %w", err)
	}
	for _, file := range files {
		if file.Path != fileName || file.Link != "" {
			continue
		}
		if !deploy.Manifest.Templates || packed.Annotations[annotationTemplates] == "false" {
			return string(file.Content), string(file.Content), nil
		}
		return opened.RenderMasked("manifest", string(file.Content))
	}
	return "", "", fmt.Errorf("the artifact holds no %s: %w; build the component again", fileName, fs.ErrNotExist)
}

// each calls work for 0 … n-1 with 8 workers, until a call returns an error.
func each(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range n {
		group.Go(func() error { return work(ctx, i) }) // works on one object
	}
	return group.Wait()
}
