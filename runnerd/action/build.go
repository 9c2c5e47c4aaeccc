package action

import (
	"context"
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// sourceFormat is the version of the packing rules of sources.
const sourceFormat = "1"

// Build is the handler of build jobs of sources: it makes an artifact from the packed code that
// steps of actions run. The same code gives the same digest on any machine.
type Build struct{}

// Run builds the artifact. It runs nothing of the code.
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
	files, err := source.Files(artifact.Limits{})
	if err != nil {
		return api.JobResult{}, fmt.Errorf("unpack the source: %w", err)
	}
	if !hasDirectory(files, spec.Directory) {
		return api.JobResult{}, fmt.Errorf("the source holds no directory %s; this is a bug in the control plane; "+
			"report it", spec.Directory)
	}
	packed, err := artifact.Pack(artifact.MediaScripts, files, map[string]string{
		artifact.AnnotationKind:   spec.ComponentKind,
		artifact.AnnotationFormat: sourceFormat,
		artifact.AnnotationTree:   spec.Tree,
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

// hasDirectory reports whether a tree has a file in a directory.
func hasDirectory(files []artifact.File, dir string) bool {
	for _, file := range files {
		if dir == "." || strings.HasPrefix(file.Path, dir+"/") {
			return true
		}
	}
	return false
}
