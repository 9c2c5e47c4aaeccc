package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// createdAt is the fixed value of annotationCreated, so that no registry or client fills in the current time.
const (
	annotationCreated = "org.opencontainers.image.created"
	createdAt         = "1970-01-01T00:00:00Z"
)

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

// manifest and descriptor are those of the OCI image specification, as far as artifacts of nuon use them. The order of
// the fields is that of the specification's own types.
type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	ArtifactType  string            `json:"artifactType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

// emptyType is the type of the config of an artifact without one. Source: opencontainers/image-spec, manifest.md.
const emptyType = "application/vnd.oci.empty.v1+json"

// EmptyConfig is the content of the config of an artifact.
const EmptyConfig = "{}"

// emptyConfig does not inline the data: some registries reject that, and the blob is pushed anyway.
func emptyConfig() descriptor {
	return descriptor{MediaType: emptyType, Digest: sha256digest.Of([]byte(EmptyConfig)), Size: int64(len(EmptyConfig))}
}

// Manifest returns the bytes of the OCI 1.1 image manifest. Map keys are sorted, so the bytes are deterministic.
func (a Artifact) Manifest() ([]byte, error) {
	annotations := maps.Clone(a.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationCreated] = createdAt
	layer := a.LayerBlob()
	content, err := json.Marshal(manifest{
		SchemaVersion: 2, MediaType: MediaImageManifest, ArtifactType: string(a.Type), Config: emptyConfig(),
		Layers:      []descriptor{{MediaType: string(a.Type) + "." + string(a.Form), Digest: layer.Digest, Size: layer.Size}},
		Annotations: annotations,
	})
	if err != nil {
		return nil, fmt.Errorf("write manifest: %w", err)
	}
	return content, nil
}

// LayerBlob identifies the layer.
func (a Artifact) LayerBlob() Blob {
	return Blob{Digest: sha256digest.Of(a.Layer), Size: int64(len(a.Layer))}
}

// ParseManifest parses a manifest of the form that Manifest creates. It returns the artifact without its layer, and
// what identifies that. Errors wrap ErrDamaged.
func ParseManifest(content []byte) (Artifact, Blob, error) {
	var parsed manifest
	if err := json.Unmarshal(content, &parsed); err != nil {
		return Artifact{}, Blob{}, fmt.Errorf("%w: the manifest is not JSON: %w", ErrDamaged, err)
	}
	if parsed.MediaType != MediaImageManifest || len(parsed.Layers) != 1 {
		return Artifact{}, Blob{}, fmt.Errorf("%w: the manifest is %q with %d layers, an artifact of nuon is %q with one",
			ErrDamaged, parsed.MediaType, len(parsed.Layers), MediaImageManifest)
	}
	layer := parsed.Layers[0]
	form, known := strings.CutPrefix(layer.MediaType, parsed.ArtifactType+".")
	if !known || !slices.Contains([]Form{FormTree, FormSealed}, Form(form)) {
		return Artifact{}, Blob{}, fmt.Errorf("%w: artifact type %q with a layer of type %q is not one that nuon makes",
			ErrDamaged, parsed.ArtifactType, layer.MediaType)
	}
	if err := sha256digest.Check(layer.Digest); err != nil {
		return Artifact{}, Blob{}, fmt.Errorf("%w: layer: %w", ErrDamaged, err)
	}
	if layer.Size < 0 {
		return Artifact{}, Blob{}, fmt.Errorf("%w: the layer has a size of %d bytes", ErrDamaged, layer.Size)
	}
	if parsed.Config.Digest != emptyConfig().Digest {
		return Artifact{}, Blob{}, fmt.Errorf("%w: the manifest has a config, and an artifact of nuon has none", ErrDamaged)
	}
	delete(parsed.Annotations, annotationCreated)
	return Artifact{Type: Media(parsed.ArtifactType), Form: Form(form), Annotations: parsed.Annotations},
		Blob{Digest: layer.Digest, Size: layer.Size}, nil
}
