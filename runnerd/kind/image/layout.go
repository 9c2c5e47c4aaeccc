package image

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
	"github.com/nuon-toolkit/nuon/runnerd/transfer"
)

// Layout is an image in a directory, in the form of the OCI image layout, as builders of images write
// it. What is in the directory is not trusted.
type Layout struct {
	dir    *os.Root
	img    image.Image
	raws   map[string]artifact.RawManifest
	close  func() error
	root   string // the digest of the image
	attest Attest
	made   map[string][]byte // by digest: what is attached to the image, and not in the directory
}

// Attestation is a statement about an image in the form of in-toto.
type Attestation struct {
	PredicateType string
	Statement     []byte // JSON
}

// Subject is what something may be attached to: a built image, or its part for one platform.
type Subject struct {
	Digest string
	Whole  bool            // it is no part of another
	Layers []artifact.Blob // from the lowest up; none of an image for several platforms
}

// Attest returns what is attached to a subject in a layout.
type Attest func(ctx context.Context, layout *Layout, subject Subject) ([]Attestation, error)

// ReadLayout reads the only image of a layout, and checks its manifests. name is what people call the image. attest
// is nil if nothing is attached.
func ReadLayout(ctx context.Context, env *job.Env, dir, name string, attest Attest) (*Layout, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read the built image: %w", err)
	}
	l := &Layout{dir: root, close: root.Close, attest: attest, made: map[string][]byte{}}
	if err := l.read(ctx, env, name); err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("read the built image: %w", err)
	}
	return l, nil
}

func (l *Layout) read(ctx context.Context, env *job.Env, name string) error {
	content, err := l.content("index.json", artifact.MaxManifestBytes)
	if err != nil {
		return err
	}
	var index struct {
		Manifests []descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(content, &index); err != nil {
		return fmt.Errorf("index.json: %w", err)
	}
	if len(index.Manifests) != 1 || sha256digest.Check(index.Manifests[0].Digest) != nil {
		return fmt.Errorf("index.json has %d images instead of one", len(index.Manifests))
	}
	l.root = index.Manifests[0].Digest
	w := &walk{from: l, retry: func(_ context.Context, do func() error) error { return do() }, log: env.Log,
		image: image.Image{Repository: name}}
	if l.img, err = w.read(ctx, l.root); err != nil {
		return err
	}
	l.raws = w.raws
	return nil
}

// Close closes the directory.
func (l *Layout) Close() error { return l.close() }

// Image returns what the image consists of.
func (l *Layout) Image() image.Image { return l.img }

// Push stores the image in a repository of the vendor's registry, with the artifact that lists it.
func (l *Layout) Push(ctx context.Context, env *job.Env, repository string) (api.BuildResult, error) {
	to, err := env.Vendor.Open(repository)
	if err != nil {
		return api.BuildResult{}, err
	}
	packed, err := l.img.Pack(map[string]string{artifact.AnnotationKind: env.Spec.Build.ComponentKind})
	if err != nil {
		return api.BuildResult{}, err
	}
	if err := transfer.NewImages(env, nil, to).Upload(ctx, l.img, l.raws, l.Open); err != nil {
		return api.BuildResult{}, err
	}
	made, err := env.Vendor.Push(ctx, repository, packed)
	return api.BuildResult{Artifact: made, Bytes: l.img.Bytes()}, err
}

// open opens a file of the layout. It does not wait for the writer of a named pipe.
func (l *Layout) open(name string) (*os.File, error) {
	return l.dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// Open opens a blob. The registry checks its digest.
func (l *Layout) Open(b artifact.Blob) (io.ReadCloser, error) {
	if content, made := l.made[b.Digest]; made {
		return io.NopCloser(bytes.NewReader(content)), nil
	}
	algorithm, hash, _ := strings.Cut(b.Digest, ":")
	file, err := l.open(path.Join("blobs", algorithm, hash))
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular() || info.Size() != b.Size:
		err = fmt.Errorf("blob %s has %d bytes instead of %d", b.Digest, info.Size(), b.Size)
	default:
		err = subprocess.CheckOwner(info)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// content reads a file of the layout.
func (l *Layout) content(name string, limit int64) ([]byte, error) {
	file, err := l.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > limit) {
		err = fmt.Errorf("%s is no file of at most %d bytes", name, limit)
	}
	if err = errors.Join(err, subprocess.CheckOwner(info)); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, limit))
}

// Manifest returns the manifest with a digest.
func (l *Layout) Manifest(_ context.Context, digest string) (artifact.RawManifest, error) {
	content, err := l.digested(digest, artifact.MaxManifestBytes)
	if err != nil {
		return artifact.RawManifest{}, err
	}
	made := artifact.RawManifest{Digest: digest, Content: content}
	var inside struct {
		MediaType string          `json:"mediaType"`
		Manifests json.RawMessage `json:"manifests"`
	}
	if err := json.Unmarshal(content, &inside); err != nil {
		return made, fmt.Errorf("manifest %s: %w", digest, err)
	}
	switch {
	case inside.MediaType != "":
		made.MediaType = inside.MediaType
	case inside.Manifests != nil:
		made.MediaType = artifact.MediaIndex
	default:
		made.MediaType = artifact.MediaImageManifest
	}
	return made, nil
}

// Blob returns the content of a blob.
func (l *Layout) Blob(_ context.Context, b artifact.Blob) ([]byte, error) {
	return l.digested(b.Digest, b.Size)
}

func (l *Layout) digested(digest string, limit int64) ([]byte, error) {
	if content, made := l.made[digest]; made {
		return content, nil
	}
	algorithm, hash, _ := strings.Cut(digest, ":")
	content, err := l.content(path.Join("blobs", algorithm, hash), limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing", digest)
	}
	if err == nil && sha256digest.Of(content) != digest {
		err = fmt.Errorf("%w: %s has the bytes of %s", artifact.ErrDamaged, digest, sha256digest.Of(content))
	}
	return content, err
}

// Referrers returns what is attached to a manifest; the rest that belongs to a built image is in its index.
func (l *Layout) Referrers(ctx context.Context, m artifact.RawManifest, _ int) ([]string, error) {
	if _, made := l.made[m.Digest]; l.attest == nil || made {
		return nil, nil
	}
	subject, err := l.subject(m)
	if err != nil {
		return nil, err
	}
	attached, err := l.attest(ctx, l, subject)
	if err != nil {
		return nil, err
	}
	var digests []string
	for _, one := range attached {
		digest, err := l.attach(m, one)
		if err != nil {
			return nil, err
		}
		digests = append(digests, digest)
	}
	return digests, nil
}

// subject describes a manifest of the image.
func (l *Layout) subject(m artifact.RawManifest) (Subject, error) {
	made := Subject{Digest: m.Digest, Whole: m.Digest == l.root}
	named, err := parse(m)
	if err != nil || named.Config == nil || named.Config.MediaType != ocispec.MediaTypeImageConfig {
		return made, err
	}
	for _, layer := range named.Layers {
		made.Layers = append(made.Layers, artifact.Blob{Digest: layer.Digest, Size: layer.Size})
	}
	return made, nil
}

// attach makes the manifest of an attestation of m, and returns its digest.
func (l *Layout) attach(m artifact.RawManifest, attached Attestation) (string, error) {
	add := func(media string, content []byte) descriptor {
		made := descriptor{MediaType: media, Digest: sha256digest.Of(content), Size: int64(len(content))}
		l.made[made.Digest] = content
		return made
	}
	layer := add(statementType, attached.Statement)
	layer.Annotations = map[string]string{"in-toto.io/predicate-type": attached.PredicateType}
	content, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": artifact.MediaImageManifest, "artifactType": statementType,
		"config": add(ocispec.MediaTypeEmptyJSON, ocispec.DescriptorEmptyJSON.Data), "layers": []descriptor{layer},
		"subject": descriptor{MediaType: m.MediaType, Digest: m.Digest, Size: int64(len(m.Content))},
	})
	if err != nil {
		return "", err
	}
	return add(artifact.MediaImageManifest, content).Digest, nil
}

// Resolve returns "": a built image has no tags.
func (*Layout) Resolve(context.Context, string) (string, error) { return "", nil }
