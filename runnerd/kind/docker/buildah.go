package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/nuon-toolkit/nuon/pkg/imagebuilder"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// buildahList is the name of an image for several platforms, in the storage of the build.
const buildahList = "localhost/built"

// buildah builds in a storage of this build only, which the job's end removes. It makes a layer of each
// instruction, so that later builds push only what changed.
func (w *workspace) buildah(ctx context.Context, builder imagebuilder.Builder) error {
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
		if err := w.addBases(ctx, builder, global); err != nil {
			return err
		}
		built, err := subprocess.ReadUntrusted(w.dir, "id", 1<<10)
		if err != nil {
			return fmt.Errorf("read the id of the image: %w", err)
		}
		return w.run(ctx, builder,
			append(slices.Clone(global), "push", "--format", "oci", strings.TrimSpace(string(built)), "oci:"+w.path("image")))
	}
	for _, platform := range spec.Platforms { // one after the other, because their order is that in the index
		if err := w.run(ctx, builder,
			append(slices.Clone(made), "--platform", platform, "--manifest", buildahList, w.context())); err != nil {
			return err
		}
		if err := w.addBases(ctx, builder, global); err != nil { // the next platform takes the names
			return err
		}
	}
	return w.run(ctx, builder,
		append(slices.Clone(global), "manifest", "push", "--all", buildahList, "oci:"+w.path("image")))
}

// base is an image from which another was built.
type base struct{ name, digest string }

// maxImages bounds the list of the images in the storage of a build, in bytes.
const maxImages = 1 << 20

// addBases adds the images that Buildah pulled: those in the storage of the build that have a name.
func (w *workspace) addBases(ctx context.Context, builder imagebuilder.Builder, global []string) error {
	listed := &subprocess.Output{Max: maxImages}
	err := w.runTo(ctx, listed, builder, append(slices.Clone(global), "images", "--json"))
	if listed.Exceeded() {
		return fmt.Errorf("the list of the images that were pulled has more than %d MiB", maxImages>>20)
	}
	if err != nil {
		return err
	}
	var images []struct {
		Names  []string `json:"names"`
		Digest string   `json:"digest"`
	}
	if err := json.Unmarshal(listed.Bytes(), &images); err != nil {
		return fmt.Errorf("read which images buildah pulled: %w", err)
	}
	for _, image := range images {
		for _, name := range image.Names {
			one := base{name, image.Digest}
			isBase := !strings.HasPrefix(name, buildahList) && sha256digest.Check(image.Digest) == nil
			if isBase && !slices.Contains(w.bases, one) {
				w.bases = append(w.bases, one)
			}
		}
	}
	slices.SortFunc(w.bases, func(a, b base) int { return strings.Compare(a.name+a.digest, b.name+b.digest) })
	return nil
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
	return w.writeSettings("registries.conf", content)
}

// writeSettings writes a file for the builder and returns its path. The file is beside the directory of the build:
// in that, programs of other jobs can put a link in its place.
func (w *workspace) writeSettings(name string, content []byte) (string, error) {
	file := filepath.Join(filepath.Dir(w.dir), name)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return "", err
	}
	return file, subprocess.GrantRead(file)
}
