package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/nuon-toolkit/nuon/pkg/imagebuilder"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
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

// buildahList is the name of an image for several platforms, in the storage of the build.
const buildahList = "localhost/built"

// buildah builds in a storage of this build only, which the job's end removes. It makes a layer of each
// instruction, so that later builds push only what changed.
func (w *workspace) buildah(ctx context.Context, builder imagebuilder.Builder) error {
	w.env.Log.Info("buildah attaches no SBOM; BuildKit does")
	registries, err := w.registries()
	if err != nil {
		return err
	}
	policy, err := w.policy()
	if err != nil {
		return err
	}
	global := []string{"--root", w.path("storage"), "--runroot", w.path("run"), "--storage-driver", "vfs",
		"--registries-conf", registries}
	id, spec := w.path("id"), w.spec.Docker
	// With a cache, 1.28 uses layers of one platform for another.
	made := append(slices.Clone(global), "build", "--isolation", "chroot", "--layers", "--no-cache",
		"--identity-label=false", "--signature-policy", policy, "--file", filepath.Join(w.path("dockerfile"), dockerfile),
		"--ignorefile", filepath.Join(w.path("dockerfile"), ignoreFile))
	for _, argument := range w.buildArguments() {
		if name, value, _ := strings.Cut(argument, "="); name == epochVariable {
			made = append(made, "--timestamp", value)
			continue
		}
		made = append(made, "--build-arg", argument)
	}
	if spec.Target != "" {
		made = append(made, "--target", spec.Target)
	}
	made = append(made, w.secretOptions()...)
	if len(spec.Platforms) == 0 {
		if err := w.run(ctx, builder, append(made, "--iidfile", id, w.context())); err != nil {
			return err
		}
		built, err := subprocess.ReadUntrusted(w.dir, "id", 1<<10)
		if err != nil {
			return fmt.Errorf("read the id of the image: %w", err)
		}
		return w.run(ctx, builder,
			append(global, "push", "--format", "oci", strings.TrimSpace(string(built)), "oci:"+w.path("image")))
	}
	for _, platform := range spec.Platforms { // one after the other, because their order is that in the index
		if err := w.run(ctx, builder,
			append(slices.Clone(made), "--platform", platform, "--manifest", buildahList, w.context())); err != nil {
			return err
		}
	}
	return w.run(ctx, builder, append(global, "manifest", "push", "--all", buildahList, "oci:"+w.path("image")))
}

// machineRegistries is where the owner of the machine configures registries for Buildah. Buildah itself
// reads the directory beside it.
const machineRegistries = "/etc/containers/registries.conf"

// registries writes the settings of registries for a build: those of the machine, in which names without
// a host are those of Docker Hub, as Dockerfiles mean them.
func (w *workspace) registries() (string, error) {
	made := map[string]any{}
	content, err := os.ReadFile(machineRegistries)
	if err == nil {
		err = toml.Unmarshal(content, &made)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read %s: %w", machineRegistries, err)
	}
	delete(made, "registries") // an older form, which does not mix with this one
	made["unqualified-search-registries"] = []string{"docker.io"}
	if content, err = toml.Marshal(made); err != nil {
		return "", err
	}
	file := w.path("registries.conf")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return "", err
	}
	return file, subprocess.GrantOwnership(file)
}
