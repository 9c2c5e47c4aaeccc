package kubernetes

import (
	"context"
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// Build is the handler of build jobs: it makes an artifact from the packed source, which has
// manifest.yaml or a kustomization. The same source gives the same digest on any machine.
type Build struct{}

// Run builds the artifact. It parses a manifest without templates as an install would,
// so that the build reports its errors.
func (Build) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	spec := env.Spec.Build
	source, err := env.Vendor.Pull(ctx, spec.Source)
	if err != nil {
		return api.JobResult{}, err
	}
	if source.Type != artifact.MediaSource {
		return api.JobResult{}, fmt.Errorf("the source is of type %s; this is a bug in the control plane; report it",
			source.Type)
	}
	text, templates, err := manifestOf(ctx, env, source)
	if err != nil {
		return api.JobResult{}, err
	}
	if !templates {
		if err := checkManifest(env, text); err != nil {
			return api.JobResult{}, err
		}
	}
	packed, err := artifact.Pack(artifact.MediaManifest, []artifact.File{{Path: fileName, Content: []byte(text)}},
		map[string]string{
			artifact.AnnotationKind:   spec.ComponentKind,
			artifact.AnnotationFormat: formatVersion,
			artifact.AnnotationTree:   spec.Tree,
			annotationTemplates:       fmt.Sprint(templates),
		}, artifact.Limits{})
	if err != nil {
		return api.JobResult{}, err
	}
	made, err := env.Vendor.Push(ctx, spec.Repository, packed)
	if err != nil {
		return api.JobResult{}, err
	}
	env.Log.Info("artifact %s", made.Digest)
	return api.JobResult{Status: job.Succeeded,
		Build: api.BuildResult{Artifact: made, Bytes: int64(len(packed.Layer))}}, nil
}

// manifestOf returns the text to pack, and whether it has templates. The output
// of kustomize has none.
func manifestOf(ctx context.Context, env *job.Env, source artifact.Artifact) (text string, templates bool, err error) {
	if spec := env.Spec.Build.Kustomize; spec.Path != "" {
		text, err = kustomizeInProcess(ctx, env, source.Layer, spec)
		return text, false, err
	}
	files, err := source.Files(artifact.Limits{})
	if err != nil {
		return "", false, fmt.Errorf("unpack the source: %w", err)
	}
	for _, file := range files {
		if file.Path == fileName && file.Link == "" {
			text = string(file.Content)
			return text, strings.Contains(text, ".nuon"), nil
		}
	}
	return "", false, fmt.Errorf("the source holds no %s; this is a bug in the control plane; report it", fileName)
}

// checkManifest parses a manifest as a plan does.
func checkManifest(env *job.Env, text string) error {
	objects, err := decode(text)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return fmt.Errorf("the manifest holds no object; write at least one, or remove the component")
	}
	env.Log.Info("the manifest holds %s", diff.Plural(len(objects), "object", "objects"))
	return nil
}
