package docker

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/imagebuilder"
)

// epochVariable is the build argument with the time that everything in an image gets, and epoch its
// default. It is fixed, not that of the commit, so that the same context results in the same image at
// any commit.
const (
	epochVariable = "SOURCE_DATE_EPOCH"
	epoch         = "0"
)

// build has a builder write the image to the directory "image", as an OCI image layout.
func (w *workspace) build(ctx context.Context, builder imagebuilder.Builder) error {
	switch builder.Name {
	case imagebuilder.BuildKit:
		return w.run(ctx, builder, w.buildKit())
	case imagebuilder.Buildx:
		return w.run(ctx, builder, w.buildx())
	}
	return w.buildah(ctx, builder)
}

// buildArguments returns the build arguments as NAME=VALUE, sorted.
func (w *workspace) buildArguments() []string {
	all := map[string]string{epochVariable: epoch}
	maps.Copy(all, w.spec.Docker.BuildArgs)
	var made []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		made = append(made, name+"="+all[name])
	}
	return made
}

// output is the exporter of BuildKit.
func (w *workspace) output() string {
	return "type=oci,tar=false,rewrite-timestamp=true,dest=" + w.path("image")
}

func (w *workspace) secretOptions() []string {
	var made []string
	for _, name := range w.spec.Docker.Secrets {
		made = append(made, "--secret", "id="+name+",env="+name)
	}
	return made
}

func (w *workspace) buildKit() []string {
	spec := w.spec.Docker
	made := []string{"build", "--progress", "plain", "--frontend", "dockerfile.v0", "--local", "context=" + w.context(),
		"--local", "dockerfile=" + w.path("dockerfile"), "--opt", "filename=" + dockerfile}
	if spec.Target != "" {
		made = append(made, "--opt", "target="+spec.Target)
	}
	for _, argument := range w.buildArguments() {
		made = append(made, "--opt", "build-arg:"+argument)
	}
	if len(spec.Platforms) > 0 {
		made = append(made, "--opt", "platform="+strings.Join(spec.Platforms, ","))
	}
	made = append(made, "--opt", "attest:provenance=mode=min", "--opt", "attest:sbom=")
	return append(append(made, w.secretOptions()...), "--output", w.output())
}

func (w *workspace) buildx() []string {
	spec := w.spec.Docker
	made := []string{"buildx", "build", "--progress", "plain", "--file", filepath.Join(w.path("dockerfile"), dockerfile)}
	if spec.Target != "" {
		made = append(made, "--target", spec.Target)
	}
	for _, argument := range w.buildArguments() {
		made = append(made, "--build-arg", argument)
	}
	if len(spec.Platforms) > 0 {
		made = append(made, "--platform", strings.Join(spec.Platforms, ","))
	}
	made = append(append(made, "--provenance", "mode=min", "--sbom=true"), w.secretOptions()...)
	return append(made, "--output", w.output(), w.context())
}
