package manifest

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
	known   *values.Secrets
	cluster *cluster.Cluster
	client  dynamic.Interface
}

// open finds the component's cluster. known are the texts that reports and outputs are masked with.
func open(env *job.Env, spec api.DeploySpec, opened *values.Values, known *values.Secrets) (*session, error) {
	found, err := cluster.Open(env, spec.Cluster, opened)
	if err != nil {
		return nil, err
	}
	client, err := found.Dynamic()
	if err != nil {
		return nil, fmt.Errorf("the access to the cluster cannot be used: %w", err)
	}
	return &session{env: env, deploy: spec, known: known, cluster: found, client: client}, nil
}

// mapping says which resource a kind is. An error for which meta.IsNoMatchError holds says that the server has none.
func (s *session) mapping(ref api.ObjectRef) (*meta.RESTMapping, error) {
	mapper, err := s.cluster.Mapper()
	if err != nil {
		return nil, err
	}
	return mapper.RESTMapping(schema.GroupKind{Group: ref.Group, Kind: ref.Kind}, ref.Version)
}

// standing gives the reference of what a component had as the server knows it now: in another version where that of the inventory is not served any more, because
// the object is still there.
func (s *session) standing(ref api.ObjectRef) (api.ObjectRef, error) {
	if _, err := s.mapping(ref); !meta.IsNoMatchError(err) {
		return ref, nil // what else is wrong is told by who uses it
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

// resource is where objects like ref are read and written; nil where the server has no such kind.
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

// textOf is the manifest in an artifact, rendered.
func textOf(deploy api.DeploySpec, packed artifact.Artifact, opened *values.Values) (string, error) {
	if packed.Type != artifact.MediaManifest {
		return "", fmt.Errorf("the artifact is of type %s, not a manifest; this is a fault of the control plane, report it", packed.Type)
	}
	if version := packed.Annotations[artifact.AnnotationFormat]; version != formatVersion {
		return "", fmt.Errorf("the manifest was packed in format %q, this runner reads format %s; update the runner, or build the component again", version, formatVersion)
	}
	files, err := packed.Files(artifact.Limits{})
	if err != nil {
		return "", fmt.Errorf("unpack the manifest: %w", err)
	}
	for _, file := range files {
		if file.Path != fileName || file.Link != "" {
			continue
		}
		if !deploy.Manifest.Templates || packed.Annotations[annotationTemplates] == "false" {
			return string(file.Content), nil
		}
		return opened.Render("manifest", string(file.Content))
	}
	return "", fmt.Errorf("the artifact holds no %s: %w; build the component again", fileName, fs.ErrNotExist)
}

// each runs work for 0 … n-1 by 8 workers, until one of them gives an error.
func each(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range n {
		group.Go(func() error { return work(ctx, i) }) // asks about one object
	}
	return group.Wait()
}
