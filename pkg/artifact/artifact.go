package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	godigest "github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// Media is the artifact type of a manifest. It identifies the content of the artifact.
type Media string

// The types of artifacts that nuon creates.
const (
	// MediaTerraform is a packed Terraform module with everything that it needs.
	MediaTerraform Media = "application/vnd.nuon.terraform.v1"
	// MediaChart is a Helm chart with its dependencies: the chart's files, with Chart.yaml at the
	// root.
	MediaChart Media = "application/vnd.nuon.chart.v1"
	// MediaManifest is a set of Kubernetes objects: one file, manifest.yaml.
	MediaManifest Media = "application/vnd.nuon.manifest.v1"
	// MediaScripts is code that steps of actions run: files at their paths in the repository.
	MediaScripts Media = "application/vnd.nuon.scripts.v1"
	// MediaImage lists the content of a container image, which is stored beside it: one file, image.json.
	MediaImage Media = "application/vnd.nuon.image.v1"
	// MediaSource is a packed source tree, which the observer hands to a build.
	MediaSource Media = "application/vnd.nuon.source.v1"
	// MediaPlan is a plan bundle that is encrypted to the install key.
	MediaPlan Media = "application/vnd.nuon.plan.v1"
)

// Form is the encoding of the artifact's only layer.
type Form string

// The forms of a layer.
const (
	// FormTree is a tree of files, packed by Tarball.
	FormTree Form = "tar+gzip"
	// FormSealed is the JSON of a seal.Sealed. Only the receiver can tell its content.
	FormSealed Form = "sealed+json"
)

// Annotation keys that the product uses. An artifact records only its inputs, never a commit, a
// time, a machine or a person.
const (
	// AnnotationTree is the git tree hash of the source directory.
	AnnotationTree = "dev.nuon.tree"
	// AnnotationKind is the component kind, such as "terraform_module".
	AnnotationKind = "dev.nuon.kind"
	// AnnotationFormat is the version of the packing rules of the kind.
	AnnotationFormat = "dev.nuon.format"
)

// createdAt is the fixed value of the created annotation, so that no registry or client fills in
// the current time.
const createdAt = "1970-01-01T00:00:00Z"

// ErrDamaged is wrapped when bytes do not match their digest or format.
var ErrDamaged = errors.New("damaged artifact")

// Artifact is one manifest with one layer, both in memory.
type Artifact struct {
	// Type is the artifact type of the manifest.
	Type Media
	// Form is the encoding of Layer.
	Form Form
	// Annotations are the annotations of the manifest, without the fixed created annotation.
	Annotations map[string]string
	// Layer is the encoded content.
	Layer []byte
}

// Pack creates an artifact from a tree of files. With one Go toolchain, the same arguments result
// in the same digest.
func Pack(media Media, files []File, annotations map[string]string, limits Limits) (Artifact, error) {
	layer, err := Tarball(files, limits)
	if err != nil {
		return Artifact{}, err
	}
	return Artifact{Type: media, Form: FormTree, Annotations: maps.Clone(annotations), Layer: layer}, nil
}

// Wrap creates an artifact from bytes that are already sealed.
func Wrap(media Media, sealed []byte, annotations map[string]string) Artifact {
	return Artifact{Type: media, Form: FormSealed, Annotations: maps.Clone(annotations), Layer: sealed}
}

// Digest returns the digest of the manifest, "sha256:…". It identifies the artifact.
func (a Artifact) Digest() string {
	manifest, err := a.Manifest()
	if err != nil {
		return ""
	}
	return sha256digest.Of(manifest)
}

// Files unpacks the layer of an artifact in FormTree.
func (a Artifact) Files(limits Limits) ([]File, error) {
	if a.Form != FormTree {
		return nil, fmt.Errorf("unpack: %w: the layer is %q, not a tree of files", ErrDamaged, a.Form)
	}
	return Untar(a.Layer, limits)
}

// Extract unpacks the layer below dir, under the rules of the function Extract.
func (a Artifact) Extract(dir string, limits Limits) error {
	files, err := a.Files(limits)
	if err != nil {
		return err
	}
	return WriteTree(files, dir, limits)
}

// Manifest returns the bytes of the OCI 1.1 image manifest. Fields are in the order of the
// specification's types and map keys are sorted, so the bytes are deterministic.
func (a Artifact) Manifest() ([]byte, error) {
	annotations := maps.Clone(a.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ocispec.AnnotationCreated] = createdAt
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: string(a.Type),
		Config:       withoutData(ocispec.DescriptorEmptyJSON),
		Layers:       []ocispec.Descriptor{a.layerDescriptor()},
		Annotations:  annotations,
	})
	if err != nil {
		return nil, fmt.Errorf("write manifest: %w", err)
	}
	return manifest, nil
}

// withoutData returns the descriptor without its inlined data: some registries reject inlined
// data, and the blob is pushed anyway.
func withoutData(full ocispec.Descriptor) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: full.MediaType, Digest: full.Digest, Size: full.Size}
}

func (a Artifact) layerDescriptor() ocispec.Descriptor {
	return ocispec.Descriptor{
		MediaType: string(a.Type) + "." + string(a.Form),
		Digest:    godigest.Digest(sha256digest.Of(a.Layer)),
		Size:      int64(len(a.Layer)),
	}
}

// parseManifest parses a manifest of the form that Manifest creates. It returns the artifact
// without its layer, and the descriptor of the layer.
func parseManifest(content []byte) (Artifact, ocispec.Descriptor, error) {
	var manifest ocispec.Manifest
	if err := json.Unmarshal(content, &manifest); err != nil {
		return Artifact{}, ocispec.Descriptor{}, fmt.Errorf("%w: the manifest is not JSON: %w", ErrDamaged, err)
	}
	if manifest.MediaType != ocispec.MediaTypeImageManifest || len(manifest.Layers) != 1 {
		return Artifact{}, ocispec.Descriptor{}, fmt.Errorf(
			"%w: the manifest is %q with %d layers, an artifact of nuon is %q with one",
			ErrDamaged, manifest.MediaType, len(manifest.Layers), ocispec.MediaTypeImageManifest)
	}
	layer := manifest.Layers[0]
	form, known := strings.CutPrefix(layer.MediaType, manifest.ArtifactType+".")
	if !known || !slices.Contains([]Form{FormTree, FormSealed}, Form(form)) {
		return Artifact{}, ocispec.Descriptor{}, fmt.Errorf(
			"%w: artifact type %q with a layer of type %q is not one that nuon makes",
			ErrDamaged, manifest.ArtifactType, layer.MediaType)
	}
	if err := sha256digest.Check(layer.Digest.String()); err != nil {
		return Artifact{}, ocispec.Descriptor{}, fmt.Errorf("%w: layer: %w", ErrDamaged, err)
	}
	if layer.Size < 0 {
		return Artifact{}, ocispec.Descriptor{}, fmt.Errorf("%w: the layer has a size of %d bytes",
			ErrDamaged, layer.Size)
	}
	delete(manifest.Annotations, ocispec.AnnotationCreated)
	return Artifact{Type: Media(manifest.ArtifactType), Form: Form(form), Annotations: manifest.Annotations}, layer, nil
}
