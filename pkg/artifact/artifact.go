package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	godigest "github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Media is the artifact type of a manifest: what is in the artifact.
type Media string

// The kinds of artifacts that nuon makes.
const (
	// MediaTerraform is a packed Terraform module with everything that it needs.
	MediaTerraform Media = "application/vnd.nuon.terraform.v1"
	// MediaChart is a Helm chart with its dependencies: its own files, Chart.yaml at the root.
	MediaChart Media = "application/vnd.nuon.chart.v1"
	// MediaManifest is a set of Kubernetes objects: one file, manifest.yaml.
	MediaManifest Media = "application/vnd.nuon.manifest.v1"
	// MediaSource is a packed source tree, as the observer hands it to a build.
	MediaSource Media = "application/vnd.nuon.source.v1"
	// MediaPlan is a plan bundle, sealed to the install key.
	MediaPlan Media = "application/vnd.nuon.plan.v1"
)

// Form is how the one layer of an artifact is encoded.
type Form string

// The forms of a layer.
const (
	// FormTree is a tree of files, packed by Tarball.
	FormTree Form = "tar+gzip"
	// FormSealed is the JSON of a seal.Sealed; what it holds, its receiver knows.
	FormSealed Form = "sealed+json"
)

// Annotation keys that the product uses. An artifact carries only what it was made from: never a commit, a clock, a machine or a
// person.
const (
	// AnnotationTree is the git tree hash of the source directory.
	AnnotationTree = "dev.nuon.tree"
	// AnnotationKind is the component kind, such as "terraform_module".
	AnnotationKind = "dev.nuon.kind"
	// AnnotationFormat is the version of the packing rules of the kind.
	AnnotationFormat = "dev.nuon.format"
)

// createdAt is the fixed value of the created annotation, so that no registry or client is tempted to fill in its own.
const createdAt = "1970-01-01T00:00:00Z"

// ErrDamaged is wrapped when bytes are not what their digest or form says.
var ErrDamaged = errors.New("damaged artifact")

// Artifact is one manifest with one layer, whole in memory.
type Artifact struct {
	// Type says what the artifact is.
	Type Media
	// Form says how Layer is encoded.
	Form Form
	// Annotations are those of the manifest, without the fixed created one.
	Annotations map[string]string
	// Layer is the encoded content.
	Layer []byte
}

// Pack makes an artifact of a tree of files. Within one toolchain the same arguments give the same digest.
func Pack(media Media, files []File, annotations map[string]string, limits Limits) (Artifact, error) {
	layer, err := Tarball(files, limits)
	if err != nil {
		return Artifact{}, err
	}
	return Artifact{Type: media, Form: FormTree, Annotations: maps.Clone(annotations), Layer: layer}, nil
}

// Wrap makes an artifact of bytes that are sealed already.
func Wrap(media Media, sealed []byte, annotations map[string]string) Artifact {
	return Artifact{Type: media, Form: FormSealed, Annotations: maps.Clone(annotations), Layer: sealed}
}

// Digest gives the digest of the manifest, "sha256:…": the artifact's name.
func (a Artifact) Digest() string {
	manifest, err := a.Manifest()
	if err != nil {
		return ""
	}
	return Digest(manifest)
}

// Files unpacks the layer of an artifact in FormTree.
func (a Artifact) Files(limits Limits) ([]File, error) {
	if a.Form != FormTree {
		return nil, fmt.Errorf("unpack: %w: the layer is %q, not a tree of files", ErrDamaged, a.Form)
	}
	return Untar(a.Layer, limits)
}

// Extract unpacks the layer below dir under the rules of the function Extract.
func (a Artifact) Extract(dir string, limits Limits) error {
	files, err := a.Files(limits)
	if err != nil {
		return err
	}
	return WriteTree(files, dir, limits)
}

// Manifest gives the bytes of the OCI 1.1 image manifest. Field order is that of the specification's types, map keys are sorted,
// so the bytes are fixed.
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
		Config:       bareDescriptor(ocispec.DescriptorEmptyJSON),
		Layers:       []ocispec.Descriptor{a.layerDescriptor()},
		Annotations:  annotations,
	})
	if err != nil {
		return nil, fmt.Errorf("write manifest: %w", err)
	}
	return manifest, nil
}

// bareDescriptor drops the inlined data: some registries refuse it, and the blob is pushed.
func bareDescriptor(full ocispec.Descriptor) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: full.MediaType, Digest: full.Digest, Size: full.Size}
}

func (a Artifact) layerDescriptor() ocispec.Descriptor {
	return ocispec.Descriptor{
		MediaType: string(a.Type) + "." + string(a.Form),
		Digest:    godigest.Digest(Digest(a.Layer)),
		Size:      int64(len(a.Layer)),
	}
}

// parseManifest reads a manifest that Manifest may have made, and gives the artifact without its layer, and where the layer is.
func parseManifest(content []byte) (Artifact, ocispec.Descriptor, error) {
	var manifest ocispec.Manifest
	if err := json.Unmarshal(content, &manifest); err != nil {
		return Artifact{}, ocispec.Descriptor{}, fmt.Errorf("%w: the manifest is not JSON: %w", ErrDamaged, err)
	}
	if manifest.MediaType != ocispec.MediaTypeImageManifest || len(manifest.Layers) != 1 {
		return Artifact{}, ocispec.Descriptor{}, fmt.Errorf("%w: the manifest is %q with %d layers, an artifact of nuon is %q with one", ErrDamaged, manifest.MediaType, len(manifest.Layers), ocispec.MediaTypeImageManifest)
	}
	layer := manifest.Layers[0]
	form, ours := strings.CutPrefix(layer.MediaType, manifest.ArtifactType+".")
	if !ours || !slices.Contains([]Form{FormTree, FormSealed}, Form(form)) {
		return Artifact{}, ocispec.Descriptor{}, fmt.Errorf("%w: artifact type %q with a layer of type %q is not one that nuon makes", ErrDamaged, manifest.ArtifactType, layer.MediaType)
	}
	if err := CheckDigest(layer.Digest.String()); err != nil {
		return Artifact{}, ocispec.Descriptor{}, fmt.Errorf("%w: layer: %w", ErrDamaged, err)
	}
	if layer.Size < 0 {
		return Artifact{}, ocispec.Descriptor{}, fmt.Errorf("%w: the layer has a size of %d bytes", ErrDamaged, layer.Size)
	}
	delete(manifest.Annotations, ocispec.AnnotationCreated)
	return Artifact{Type: Media(manifest.ArtifactType), Form: Form(form), Annotations: manifest.Annotations}, layer, nil
}

// Digest gives "sha256:" and 64 hexadecimal digits for content.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// CheckDigest says whether text has the form that Digest gives. No other algorithm is taken: one content has one name.
func CheckDigest(text string) error {
	digits, found := strings.CutPrefix(text, "sha256:")
	if !found || len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "" {
		return fmt.Errorf("%q is not a digest; one looks like sha256: followed by 64 hexadecimal digits", text)
	}
	return nil
}
