// Package image pulls container images by digest from registries of this machine, and unpacks them.
//
// It owns the unpacked images. Registries and images are hostile: it contacts only loopback addresses, reads only what
// has the digest that was asked for, and unpacks with package rootfs.
package image

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/nuon-toolkit/nuon/examples/internal/cluster/rootfs"
)

const (
	// maxDocument bounds a manifest or config, in bytes, and maxLayers the number of layers.
	maxDocument = 4 << 20
	maxLayers   = 200
	// answerLimit only ends a hang of a registry.
	answerLimit = time.Minute
)

// Media types of Docker, which have the form of OCI's.
const (
	dockerIndex    = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerLayer    = "application/vnd.docker.image.rootfs.diff.tar.gzip"
)

// Image is an unpacked image.
type Image struct {
	// Root is the path of its files, below the directory of the store.
	Root string `json:"-"`
	// Digest is that of its manifest.
	Digest digest.Digest
	Config ocispec.ImageConfig
}

// Store has the unpacked images in a directory.
type Store struct {
	dir    string
	client *http.Client

	mu    sync.Mutex
	pulls map[digest.Digest]*sync.Mutex
}

// NewStore returns the store in an existing directory.
func NewStore(dir string) *Store {
	dialer := &net.Dialer{Timeout: answerLimit}
	transport := &http.Transport{
		ResponseHeaderTimeout: answerLimit,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err == nil && !loopback(host) {
				err = fmt.Errorf("%s is not on this machine", host)
			}
			if err != nil {
				return nil, err
			}
			return dialer.DialContext(ctx, network, address)
		},
	}
	return &Store{dir: dir, client: &http.Client{Transport: transport}, pulls: map[digest.Digest]*sync.Mutex{}}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// reference parses the name of an image that can be pulled.
func reference(name string) (registry.Reference, error) {
	ref, err := registry.ParseReference(name)
	if err == nil {
		if d, invalid := ref.Digest(); invalid != nil || d.Algorithm() != digest.SHA256 {
			err = errors.New("it is not named by its sha256 digest")
		}
	}
	if err == nil {
		host := ref.Registry
		if h, _, split := net.SplitHostPort(host); split == nil {
			host = h
		}
		if !loopback(strings.Trim(host, "[]")) {
			err = fmt.Errorf("%s is not on this machine", host)
		}
	}
	if err != nil {
		return ref, fmt.Errorf("containers run only from images by digest (HOST/NAME@sha256:…) in registries on a loopback "+
			"address: %w", err)
	}
	return ref, nil
}

// Pull returns an image by its name, HOST/PATH@DIGEST. It unpacks the image if that was not done before, with the
// credential for its registry, which is nil if there is none.
func (s *Store) Pull(ctx context.Context, name string, credential auth.CredentialFunc) (*Image, error) {
	ref, err := reference(name)
	if err != nil {
		return nil, err
	}
	wanted, err := ref.Digest()
	if err != nil {
		return nil, err
	}
	pull := s.turn(wanted)
	pull.Lock()
	defer pull.Unlock()
	if i, err := s.stored(wanted); err == nil {
		return i, nil
	}
	client := &auth.Client{Client: s.client, Credential: credential}
	repository := &remote.Repository{Client: client, Reference: ref, PlainHTTP: true}
	dir, err := os.MkdirTemp(s.dir, "pull-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is gone when all went well
	if err := unpack(ctx, repository, wanted, dir); err != nil {
		return nil, err
	}
	if err := os.Rename(dir, s.path(wanted)); err != nil {
		return nil, err
	}
	return s.stored(wanted)
}

// turn returns the lock of an image.
func (s *Store) turn(d digest.Digest) *sync.Mutex {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pulls[d] == nil {
		s.pulls[d] = &sync.Mutex{}
	}
	return s.pulls[d]
}

func (s *Store) path(d digest.Digest) string { return filepath.Join(s.dir, d.Encoded()) }

// The content of an image's directory.
const filesName, imageName = "files", "image.json"

// stored returns an image that was unpacked.
func (s *Store) stored(d digest.Digest) (*Image, error) {
	text, err := os.ReadFile(filepath.Join(s.path(d), imageName))
	if err != nil {
		return nil, err
	}
	i := &Image{Root: filepath.Join(d.Encoded(), filesName)}
	return i, json.Unmarshal(text, i)
}

// unpack writes an image into a directory.
func unpack(ctx context.Context, from *remote.Repository, wanted digest.Digest, dir string) error {
	described, manifest, err := manifestOf(ctx, from, wanted)
	if err != nil {
		return err
	}
	var config ocispec.Image
	if err := document(ctx, from.Blobs(), manifest.Config, &config); err != nil {
		return fmt.Errorf("read the config of the image: %w", err)
	}
	files := filepath.Join(dir, filesName)
	if err := os.Mkdir(files, 0o755); err != nil {
		return err
	}
	if len(manifest.Layers) > maxLayers {
		return fmt.Errorf("the image has more than %d layers", maxLayers)
	}
	for _, layer := range manifest.Layers {
		if err := unpackLayer(ctx, from, layer, files); err != nil {
			return fmt.Errorf("layer %s: %w", layer.Digest, err)
		}
	}
	text, err := json.Marshal(Image{Digest: described.Digest, Config: config.Config})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, imageName), text, 0o600)
}

// manifestOf returns the manifest of an image for this machine.
func manifestOf(ctx context.Context, from *remote.Repository, wanted digest.Digest) (ocispec.Descriptor,
	*ocispec.Manifest, error) {
	described, err := from.Resolve(ctx, wanted.String())
	if err != nil {
		return described, nil, err
	}
	if described.MediaType == ocispec.MediaTypeImageIndex || described.MediaType == dockerIndex {
		var index ocispec.Index
		if err := document(ctx, from.Manifests(), described, &index); err != nil {
			return described, nil, fmt.Errorf("read the index of the image: %w", err)
		}
		if described, err = own(index); err != nil {
			return described, nil, err
		}
	}
	if described.MediaType != ocispec.MediaTypeImageManifest && described.MediaType != dockerManifest {
		return described, nil, fmt.Errorf("a manifest of the media type %q cannot be run", described.MediaType)
	}
	manifest := &ocispec.Manifest{}
	if err := document(ctx, from.Manifests(), described, manifest); err != nil {
		return described, nil, fmt.Errorf("read the manifest of the image: %w", err)
	}
	return described, manifest, nil
}

// own returns the image of an index that is for this machine.
func own(index ocispec.Index) (ocispec.Descriptor, error) {
	for _, m := range index.Manifests {
		if p := m.Platform; p != nil && p.OS == "linux" && p.Architecture == runtime.GOARCH {
			return m, nil
		}
	}
	return ocispec.Descriptor{}, fmt.Errorf("the image has no platform linux/%s", runtime.GOARCH)
}

// document reads a JSON document that has the digest and the size of its description.
func document(ctx context.Context, from content.Fetcher, described ocispec.Descriptor, to any) error {
	if described.Size > maxDocument {
		return fmt.Errorf("%s has more than %d bytes", described.Digest, maxDocument)
	}
	text, err := content.FetchAll(ctx, from, described)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// unpackLayer unpacks a layer over a directory, and checks its digest.
func unpackLayer(ctx context.Context, from *remote.Repository, layer ocispec.Descriptor, dir string) error {
	packed := layer.MediaType != ocispec.MediaTypeImageLayer
	if packed && layer.MediaType != ocispec.MediaTypeImageLayerGzip && layer.MediaType != dockerLayer {
		return fmt.Errorf("layers of the media type %q are not supported", layer.MediaType)
	}
	body, err := from.Blobs().Fetch(ctx, layer)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // only read
	checked := content.NewVerifyReader(body, layer)
	archive := io.Reader(checked)
	if packed {
		if archive, err = gzip.NewReader(checked); err != nil {
			return err
		}
	}
	limited := &io.LimitedReader{R: archive, N: rootfs.MaxBytes}
	if err := rootfs.Apply(ctx, dir, limited); err != nil {
		return err
	}
	if limited.N == 0 {
		return fmt.Errorf("it has more than %d bytes", int64(rootfs.MaxBytes))
	}
	if _, err := io.Copy(io.Discard, checked); err != nil {
		return err
	}
	return checked.Verify()
}
