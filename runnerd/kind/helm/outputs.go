package helm

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// refs returns the objects of a release. Objects without a namespace are in the
// release's namespace, unless their kind is cluster-scoped.
func (s *session) refs(release *helmsdk.Release) ([]api.ObjectRef, error) {
	read, err := manifest.Read([]manifest.Source{{Name: "the release", Data: []byte(release.Manifest)}},
		manifest.Options{})
	if err != nil {
		return nil, fmt.Errorf("read what the release %s holds: %w; somebody has changed its record", s.Release, err)
	}
	mapper, err := s.cluster.Mapper()
	if err != nil {
		return nil, err
	}
	made := make([]api.ObjectRef, 0, len(read.Objects))
	for _, object := range read.Objects {
		ref := api.ObjectRef{Group: object.ID.Group, Version: object.Version, Kind: object.ID.Kind,
			Namespace: object.ID.Namespace, Name: object.ID.Name}
		mapping, err := mapper.RESTMapping(schema.GroupKind{Group: ref.Group, Kind: ref.Kind}, ref.Version)
		switch {
		case err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot:
			ref.Namespace = ""
		case ref.Namespace == "":
			ref.Namespace = s.Namespace
		}
		made = append(made, ref)
	}
	return made, nil
}

// outputs returns the outputs of a release: its identity, and its objects. The
// manifest contains anything that the chart puts into it, so it is sealed.
func (s *session) outputs(ctx context.Context, release *helmsdk.Release, refs []api.ObjectRef) ([]api.Output, error) {
	from, secret := values.ComponentProducer(s.deploy), s.secrets.Contains()
	made, err := values.ManifestOutput(from, release.Manifest, s.env.Key, s.env.Log.Warn)
	if err != nil {
		return nil, err
	}
	// Without the revision, which changes with every upgrade.
	identity, err := json.Marshal(map[string]string{"name": release.Name, "namespace": release.Namespace,
		"chart": release.Chart.Name, "chart_version": release.Chart.Version})
	if err != nil {
		return nil, fmt.Errorf("write the output release: %w", err)
	}
	output, err := values.SealOutput(from, "release", identity, false, s.env.Key, secret)
	if err != nil {
		return nil, err
	}
	more, err := s.cluster.Outputs(ctx, refs, from, s.env.Key, secret)
	return append(append(made, output), more...), err
}
