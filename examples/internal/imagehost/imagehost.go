// Package imagehost serves container images that are made of files of this machine, from a registry on a loopback
// address, for the one-process Kubernetes of tests and stories.
//
// It stores no content: it reads the files again for each client, so they must not change. No client can change
// anything. The tests of containers and the stories call it.
package imagehost

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Private is the repository whose images need the password of the registry.
const Private = "private"

// Registry serves images by digest.
type Registry struct {
	password, address string
	server            *http.Server

	mu   sync.Mutex
	blob map[digest.Digest]blob
}

// blob is a manifest, a config or a layer.
type blob struct {
	ocispec.Descriptor
	write func(io.Writer) error
}

// Entry is an entry of an image's only layer.
type Entry struct {
	tar.Header
	// From is the file whose content the entry has; empty for none. The size of the entry is that of the file.
	From string
}

// Program returns an entry for an executable file.
func Program(path, from string) Entry {
	return Entry{tar.Header{Name: strings.TrimPrefix(path, "/"), Typeflag: tar.TypeReg, Mode: 0o755}, from}
}

// Start starts a registry. The password is that of the repository Private.
func Start(password string) (*Registry, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start a registry of images: %w", err)
	}
	r := &Registry{password: password, address: listener.Addr().String(), blob: map[digest.Digest]blob{}}
	r.server = &http.Server{Handler: r}          //nolint:gosec // its clients are tests
	go func() { _ = r.server.Serve(listener) }() // until Stop
	return r, nil
}

// Stop stops the registry.
func (r *Registry) Stop() error { return r.server.Close() }

// Host returns the host and port of the registry.
func (r *Registry) Host() string { return r.address }

// ServeHTTP serves manifests and blobs by digest.
func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	parts := strings.Split(strings.TrimPrefix(q.URL.Path, "/v2/"), "/") // repository, kind, digest
	if len(parts) != 3 {
		http.NotFound(w, q)
		return
	}
	if _, given, _ := q.BasicAuth(); parts[0] == Private && given != r.password {
		w.Header().Set("WWW-Authenticate", `Basic realm="images"`)
		http.Error(w, "the password is missing or wrong", http.StatusUnauthorized)
		return
	}
	r.mu.Lock()
	found, there := r.blob[digest.Digest(parts[2])]
	r.mu.Unlock()
	if !there {
		http.NotFound(w, q)
		return
	}
	w.Header().Set("Content-Type", found.MediaType)
	w.Header().Set("Docker-Content-Digest", found.Digest.String())
	w.Header().Set("Content-Length", strconv.FormatInt(found.Size, 10))
	if q.Method != http.MethodHead {
		_ = found.write(w) // the client sees an answer that is too short
	}
}

// Add adds an image for this machine to a repository, and returns its name by digest.
func (r *Registry) Add(repository string, config ocispec.ImageConfig, entries ...Entry) (name string, err error) {
	layer, err := r.add(ocispec.MediaTypeImageLayer, func(to io.Writer) error { return write(to, entries) })
	if err != nil {
		return "", fmt.Errorf("make an image: %w", err)
	}
	described, err := r.addJSON(ocispec.MediaTypeImageConfig, ocispec.Image{
		Platform: ocispec.Platform{OS: "linux", Architecture: runtime.GOARCH}, Config: config})
	if err != nil {
		return "", fmt.Errorf("make an image: %w", err)
	}
	manifest, err := r.addJSON(ocispec.MediaTypeImageManifest, ocispec.Manifest{
		MediaType: ocispec.MediaTypeImageManifest, Config: described, Layers: []ocispec.Descriptor{layer}})
	if err != nil {
		return "", fmt.Errorf("make an image: %w", err)
	}
	return r.address + "/" + repository + "@" + manifest.Digest.String(), nil
}

// write writes a layer.
func write(to io.Writer, entries []Entry) error {
	archive := tar.NewWriter(to)
	for _, e := range entries {
		if err := e.write(archive); err != nil {
			return err
		}
	}
	return archive.Close()
}

func (e Entry) write(to *tar.Writer) error {
	if e.From == "" {
		return to.WriteHeader(&e.Header)
	}
	file, err := os.Open(e.From)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	e.Size = info.Size()
	if err := to.WriteHeader(&e.Header); err != nil {
		return err
	}
	_, err = io.Copy(to, file)
	return err
}

func (r *Registry) addJSON(media string, document any) (ocispec.Descriptor, error) {
	return r.add(media, func(to io.Writer) error { return json.NewEncoder(to).Encode(document) })
}

// add adds what a function writes, and returns its descriptor.
func (r *Registry) add(media string, write func(io.Writer) error) (ocispec.Descriptor, error) {
	sum, size := sha256.New(), counter(0)
	if err := write(io.MultiWriter(sum, &size)); err != nil {
		return ocispec.Descriptor{}, err
	}
	made := ocispec.Descriptor{MediaType: media, Digest: digest.NewDigest(digest.SHA256, sum), Size: int64(size)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blob[made.Digest] = blob{made, write}
	return made, nil
}

// counter counts what is written.
type counter int64

// Write counts a part.
func (c *counter) Write(part []byte) (int, error) {
	*c += counter(len(part))
	return len(part), nil
}
