package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	godigest "github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
)

// program is a program that gets an image.
type program struct{ name, description string }

var programs = []program{{"reconciler", "The control plane of nuon"}, {"runnerd", "The runner of nuon"}}

// platforms are the platforms of each image. The directories of their programs are linux-amd64 and linux-arm64.
var platforms = []struct {
	architecture string
	machine      elf.Machine
}{{"amd64", elf.EM_X86_64}, {"arm64", elf.EM_AARCH64}}

// created is the time of everything in an image, so that it depends only on the content.
var created = time.Unix(0, 0).UTC()

// build adds the image of a program to a store, and returns its index.
func build(ctx context.Context, to content.Pusher, p program, dir, version string) (ocispec.Descriptor, error) {
	base, err := baseLayer()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	labels := map[string]string{
		ocispec.AnnotationTitle: p.name, ocispec.AnnotationVersion: version, ocispec.AnnotationDescription: p.description,
		ocispec.AnnotationLicenses: "Apache-2.0",
	}
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
		Annotations: labels}
	for _, platform := range platforms {
		binary, err := os.ReadFile(filepath.Join(dir, "linux-"+platform.architecture, p.name))
		if err != nil {
			return ocispec.Descriptor{}, err
		}
		if err := checkStatic(binary, platform.machine); err != nil {
			return ocispec.Descriptor{}, fmt.Errorf("linux/%s: %w", platform.architecture, err)
		}
		own, err := pack([]entry{{path: programDir + p.name, mode: 0o755, content: binary}})
		if err != nil {
			return ocispec.Descriptor{}, err
		}
		runs := ocispec.Platform{OS: "linux", Architecture: platform.architecture}
		manifest, err := pushImage(ctx, to, p, runs, labels, []layer{base, own})
		if err != nil {
			return ocispec.Descriptor{}, err
		}
		manifest.Platform = &runs
		index.Manifests = append(index.Manifests, manifest)
	}
	return pushJSON(ctx, to, ocispec.MediaTypeImageIndex, index)
}

// checkStatic returns an error if a program is for another machine or needs libraries, which the image does not have.
func checkStatic(binary []byte, machine elf.Machine) error {
	read, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		return fmt.Errorf("the program is not for Linux: %w", err)
	}
	if read.Machine != machine {
		return fmt.Errorf("the program is for %s, not for %s", read.Machine, machine)
	}
	for _, part := range read.Progs {
		if part.Type == elf.PT_INTERP {
			return errors.New("the program needs libraries of the system; build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// pushImage adds the image of one platform.
func pushImage(ctx context.Context, to content.Pusher, p program, runs ocispec.Platform, labels map[string]string,
	layers []layer,
) (ocispec.Descriptor, error) {
	config := ocispec.Image{Created: &created, Platform: runs, Config: ocispec.ImageConfig{
		User: fmt.Sprintf("%d:%d", userID, userID), WorkingDir: dataDir, Labels: labels,
		Env:        []string{"PATH=/" + strings.TrimSuffix(programDir, "/"), "HOME=" + dataDir},
		Entrypoint: []string{"/" + programDir + p.name},
	}, RootFS: ocispec.RootFS{Type: "layers"}}
	manifest := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Annotations: labels}
	for _, one := range layers {
		descriptor := content.NewDescriptorFromBytes(ocispec.MediaTypeImageLayerGzip, one.packed)
		if err := push(ctx, to, descriptor, one.packed); err != nil {
			return ocispec.Descriptor{}, err
		}
		manifest.Layers = append(manifest.Layers, descriptor)
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, godigest.FromBytes(one.tar))
	}
	var err error
	if manifest.Config, err = pushJSON(ctx, to, ocispec.MediaTypeImageConfig, config); err != nil {
		return ocispec.Descriptor{}, err
	}
	return pushJSON(ctx, to, ocispec.MediaTypeImageManifest, manifest)
}

// pushJSON adds a document, and returns its descriptor.
func pushJSON(ctx context.Context, to content.Pusher, media string, document any) (ocispec.Descriptor, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	descriptor := content.NewDescriptorFromBytes(media, text)
	return descriptor, push(ctx, to, descriptor, text)
}

// push adds bytes that the store may already have: images share their first layer.
func push(ctx context.Context, to content.Pusher, descriptor ocispec.Descriptor, blob []byte) error {
	if has, ok := to.(content.ReadOnlyStorage); ok {
		if exists, err := has.Exists(ctx, descriptor); err != nil || exists {
			return err
		}
	}
	return to.Push(ctx, descriptor, bytes.NewReader(blob))
}

// writeLayout writes an OCI layout with one image, named by a tag. It replaces another layout, and nothing else.
func writeLayout(ctx context.Context, from content.ReadOnlyStorage, index ocispec.Descriptor, dir, tag string) error {
	if _, err := os.Stat(filepath.Join(dir, ocispec.ImageLayoutFile)); err == nil {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	} else if left, err := os.ReadDir(dir); len(left) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not a layout of an image, so it is not replaced; remove it, or name another directory", dir)
	}
	storage, err := oci.NewStorage(dir)
	if err != nil {
		return err
	}
	if err := oras.CopyGraph(ctx, from, storage, index, oras.DefaultCopyGraphOptions); err != nil {
		return err
	}
	index.Annotations = map[string]string{ocispec.AnnotationRefName: tag}
	for name, document := range map[string]any{
		ocispec.ImageLayoutFile: ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion},
		ocispec.ImageIndexFile: ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2},
			MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{index}},
	} {
		text, err := json.Marshal(document)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil { //nolint:gosec // an image is no secret
			return err
		}
	}
	return nil
}
