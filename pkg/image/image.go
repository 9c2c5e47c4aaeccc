package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// The bounds of an image, with everything that refers to it.
const (
	MaxManifests = 500
	MaxBlobs     = 10_000
	MaxTags      = 3 * MaxManifests
	// MaxBytes is the size of all of it together.
	MaxBytes = 500 << 30
)

// limits bound the list of an image, which is the only file of its artifact.
var limits = artifact.Limits{Files: 1, FileBytes: 4 << 20}

// fileName is the only file of the artifact of an image.
const fileName = "image.json"

// formatVersion identifies the form of that file.
const formatVersion = "1"

// Image is one image and all that a copy of it consists of.
type Image struct {
	Format string `json:"format"`
	// Repository is where the image comes from, such as ghcr.io/acme/api, and Tag the tag that was
	// resolved; it is empty if the config names only a digest.
	Repository string `json:"repository"`
	Tag        string `json:"tag,omitempty"`
	// Digest identifies the image. It is that of the last of Manifests that does not refer to another.
	Digest       string            `json:"digest"`
	ArtifactType string            `json:"artifact_type,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	// Platform is that of an image for only one, such as linux/amd64.
	Platform *Platform `json:"platform,omitempty"`
	// Manifests are those of the image and of everything that refers to it. Each comes after those
	// that it names.
	Manifests []Manifest `json:"manifests"`
	// Tags are the tags under which signatures of cosign are found: SignatureTags of the manifests, and no others.
	Tags []Tag `json:"tags,omitempty"`
}

// Platform is an operating system and an architecture.
type Platform struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	Variant      string `json:"variant,omitempty"`
}

// Manifest is one manifest, with the blobs that it names.
type Manifest struct {
	Digest    string `json:"digest"`
	MediaType string `json:"media_type"`
	Size      int64  `json:"size"`
	Blobs     []Blob `json:"blobs,omitempty"`
}

// Blob is a config or a layer.
type Blob struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// Tag is a tag that a copy of the image has, too.
type Tag struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// Pack returns the artifact of the image. The same image results in the same digest.
func (i Image) Pack(annotations map[string]string) (artifact.Artifact, error) {
	i.Format = formatVersion
	if err := i.check(); err != nil {
		return artifact.Artifact{}, err
	}
	encoded, err := json.Marshal(i)
	if err != nil {
		return artifact.Artifact{}, fmt.Errorf("write the image: %w", err)
	}
	return artifact.Pack(artifact.MediaImage, []artifact.File{{Path: fileName, Content: encoded}}, annotations, limits)
}

// Unpack reads the artifact of an image and checks what it lists.
func Unpack(packed artifact.Artifact) (Image, error) {
	if packed.Type != artifact.MediaImage {
		return Image{}, fmt.Errorf("the artifact is of type %s, not an image; "+
			"this is a fault of the control plane, report it",
			packed.Type)
	}
	files, err := packed.Files(limits)
	if err != nil {
		return Image{}, fmt.Errorf("unpack the image: %w", err)
	}
	if len(files) != 1 || files[0].Path != fileName || files[0].Link != "" {
		return Image{}, errors.New("the artifact of the image is incomplete; build the component again")
	}
	var i Image
	if err := json.Unmarshal(files[0].Content, &i); err != nil {
		return Image{}, fmt.Errorf("read the image: %w", err)
	}
	if i.Format != formatVersion {
		return Image{}, fmt.Errorf("the image was stored in format %.20q, this program reads format %s; update it, or build "+
			"the component again", i.Format, formatVersion)
	}
	return i, i.check()
}

// check returns an error unless the image has a form that Pack makes, within its bounds.
func (i Image) check() error {
	known, signatures, blobs := map[string]bool{}, map[string]bool{}, 0
	if len(i.Manifests) > MaxManifests || len(i.Tags) > MaxTags {
		return fmt.Errorf("the image has %d manifests with %d tags, at most %d and %d are allowed", len(i.Manifests),
			len(i.Tags), MaxManifests, MaxTags)
	}
	for _, m := range i.Manifests {
		if err := sha256digest.Check(m.Digest); err != nil || m.Size < 0 || m.Size > artifact.MaxManifestBytes {
			return fmt.Errorf("a manifest of the image is wrong: %.100q of %d bytes", m.Digest, m.Size)
		}
		known[m.Digest] = true
		for _, name := range SignatureTags(m.Digest) {
			signatures[name] = true
		}
		for _, b := range m.Blobs {
			if err := sha256digest.Check(b.Digest); err != nil || b.Size < 0 {
				return fmt.Errorf("a blob of the image is wrong: %.100q of %d bytes", b.Digest, b.Size)
			}
		}
		blobs += len(m.Blobs)
	}
	for _, tag := range i.Tags {
		if !signatures[tag.Name] || !known[tag.Digest] {
			return fmt.Errorf("the tag %.200q of the image is wrong", tag.Name)
		}
	}
	if i.Tag != "" && !tagForm.MatchString(i.Tag) {
		return fmt.Errorf("the tag %.200q of the image is wrong", i.Tag)
	}
	switch {
	case !known[i.Digest]:
		return fmt.Errorf("the image %.100q is not among its manifests", i.Digest)
	case blobs > MaxBlobs:
		return fmt.Errorf("the image has %d blobs, at most %d are allowed", blobs, MaxBlobs)
	case i.Bytes() > MaxBytes:
		return fmt.Errorf("the image has more than %d GiB", MaxBytes>>30)
	}
	return nil
}

// signatureSuffixes are those of the tags under which cosign stores signatures, attestations and
// lists of components.
var signatureSuffixes = []string{".sig", ".att", ".sbom"}

// SignatureTags returns the tags under which cosign stores what belongs to a manifest: sha256-….sig and others.
func SignatureTags(digest string) []string {
	var names []string
	for _, suffix := range signatureSuffixes {
		names = append(names, strings.Replace(digest, ":", "-", 1)+suffix)
	}
	return names
}

// Root returns the manifest of the image itself.
func (i Image) Root() Manifest {
	for _, m := range i.Manifests {
		if m.Digest == i.Digest {
			return m
		}
	}
	return Manifest{}
}

// Blobs returns the blobs of all manifests, each once.
func (i Image) Blobs() []artifact.Blob {
	var all []artifact.Blob
	seen := map[string]bool{}
	for _, m := range i.Manifests {
		for _, b := range m.Blobs {
			if !seen[b.Digest] {
				seen[b.Digest] = true
				all = append(all, artifact.Blob{Digest: b.Digest, Size: b.Size})
			}
		}
	}
	return all
}

// Bytes returns the size of all manifests and blobs.
func (i Image) Bytes() int64 {
	total := int64(0)
	add := func(n int64) {
		if total > math.MaxInt64-n {
			n = math.MaxInt64 - total
		}
		total += n
	}
	for _, m := range i.Manifests {
		add(m.Size)
	}
	for _, b := range i.Blobs() {
		add(b.Size)
	}
	return total
}

// InstallTag returns the tag of the image in the registries of installs: the resolved tag, with the
// start of the digest, so that no other image ever gets it.
func (i Image) InstallTag() string {
	const digits = 12
	short := i.Digest[len("sha256:"):][:digits]
	if i.Tag == "" {
		return "sha-" + short
	}
	return i.Tag[:min(len(i.Tag), 128-1-digits)] + "-" + short
}

// DisplayTag returns what people call the image: its tag, or the start of its digest.
func (i Image) DisplayTag() string {
	if i.Tag == "" {
		return i.Digest[:len("sha256:")+12]
	}
	return i.Tag
}
