package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// registryOf serves blobs and manifests by digest below /v2/x/.
type registryOf struct {
	*httptest.Server
	mu    sync.Mutex
	blobs map[string]blob // by the end of the path
	reads atomic.Int32
}

type blob struct {
	media   string
	content []byte
}

func newRegistry(t *testing.T) *registryOf {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can unpack images")
	}
	r := &registryOf{blobs: map[string]blob{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.reads.Add(1)
		r.mu.Lock()
		b, there := r.blobs[strings.TrimPrefix(q.URL.Path, "/v2/x/")]
		r.mu.Unlock()
		if !there {
			http.NotFound(w, q)
			return
		}
		w.Header().Set("Content-Type", b.media)
		w.Header().Set("Content-Length", fmt.Sprint(len(b.content)))
		_, _ = w.Write(b.content)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *registryOf) add(kind, media string, content []byte) ocispec.Descriptor {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := digest.FromBytes(content)
	r.blobs[kind+"/"+d.String()] = blob{media, content}
	return ocispec.Descriptor{MediaType: media, Digest: d, Size: int64(len(content))}
}

func (r *registryOf) addJSON(kind, media string, document any) ocispec.Descriptor {
	text, _ := json.Marshal(document)
	return r.add(kind, media, text)
}

// layer adds a layer with one file.
func (r *registryOf) layer(t *testing.T, name, content string) ocispec.Descriptor {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	header := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content))}
	if err := w.WriteHeader(header); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte(content))
	_, _ = w.Close(), zip.Close()
	return r.add("blobs", ocispec.MediaTypeImageLayerGzip, out.Bytes())
}

// image adds an image for this machine.
func (r *registryOf) image(layers ...ocispec.Descriptor) ocispec.Descriptor {
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Layers: layers}
	m.Config = r.addJSON("blobs", ocispec.MediaTypeImageConfig, ocispec.Image{Config: ocispec.ImageConfig{User: "7"}})
	d := r.addJSON("manifests", ocispec.MediaTypeImageManifest, m)
	d.Platform = &ocispec.Platform{OS: "linux", Architecture: runtime.GOARCH}
	return d
}

func (r *registryOf) index(images ...ocispec.Descriptor) ocispec.Descriptor {
	return r.addJSON("manifests", ocispec.MediaTypeImageIndex,
		ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: images})
}

func (r *registryOf) name(d ocispec.Descriptor) string {
	return strings.TrimPrefix(r.URL, "http://") + "/x@" + d.Digest.String()
}

func TestPull(t *testing.T) {
	r := newRegistry(t)
	other := r.image(r.layer(t, "other", "1"))
	other.Platform = &ocispec.Platform{OS: "linux", Architecture: "s390x"}
	found := r.index(other, r.image(r.layer(t, "a", "1"), r.layer(t, "a", "2")))
	dir := t.TempDir()
	s := NewStore(dir)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			i, err := s.Pull(t.Context(), r.name(found), nil)
			if err != nil {
				t.Error(err)
				return
			}
			if text, _ := os.ReadFile(filepath.Join(dir, i.Root, "a")); string(text) != "2" || i.Config.User != "7" {
				t.Errorf("it has %q and the config %+v", text, i.Config)
			}
		})
	}
	all.Wait()
	before := r.reads.Load()
	if _, err := NewStore(dir).Pull(t.Context(), r.name(found), nil); err != nil || r.reads.Load() != before {
		t.Errorf("it is pulled again: %v", err)
	}
}

func TestWhatIsNotPulled(t *testing.T) {
	r := newRegistry(t)
	good := r.image(r.layer(t, "a", "1"))
	lying := r.layer(t, "a", "2")
	changed := r.blobs["blobs/"+lying.Digest.String()]
	changed.content = append([]byte(nil), changed.content...)
	changed.content[len(changed.content)-1] ^= 1 // in gzip's own end, so that the archive is whole
	other := good
	other.Platform = &ocispec.Platform{OS: "linux", Architecture: "s390x"}
	gone := r.layer(t, "a", "3")
	large := r.addJSON("manifests", ocispec.MediaTypeImageManifest,
		map[string]string{"a": strings.Repeat("x", maxDocument)})
	foreign := r.layer(t, "a", "4")
	foreign.MediaType = "application/vnd.oci.image.layer.v1.tar+zstd"
	forged := r.image(r.layer(t, "a", "5"))
	for name, test := range map[string]struct{ image, want string }{
		"tag":            {strings.TrimPrefix(r.URL, "http://") + "/x:1", "not named by its sha256 digest"},
		"elsewhere":      {"registry.test/x@" + good.Digest.String(), "registry.test is not on this machine"},
		"not there":      {r.name(ocispec.Descriptor{Digest: digest.FromString("none")}), "not found"},
		"lying layer":    {r.name(r.image(lying)), "layer " + lying.Digest.String()},
		"lost layer":     {r.name(r.image(gone)), "not found"},
		"other platform": {r.name(r.index(other)), "has no platform linux/"},
		"large":          {r.name(large), "has more than"},
		"zstd":           {r.name(r.image(foreign)), "not supported"},
		"no image":       {r.name(r.add("manifests", "text/html", []byte("<p>"))), `media type "text/html"`},
		"lying manifest": {r.name(forged), "igest"},
	} {
		t.Run(name, func(t *testing.T) {
			r.mu.Lock()
			r.blobs["blobs/"+lying.Digest.String()] = changed
			delete(r.blobs, "blobs/"+gone.Digest.String())
			r.blobs["manifests/"+forged.Digest.String()] = r.blobs["manifests/"+good.Digest.String()]
			r.mu.Unlock()
			dir := t.TempDir()
			_, err := NewStore(dir).Pull(t.Context(), test.image, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v", err)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// TestRedirects has a registry that leads to another machine.
func TestRedirects(t *testing.T) {
	r := newRegistry(t)
	away := httptest.NewServer(http.RedirectHandler("http://192.0.2.1/", http.StatusTemporaryRedirect))
	t.Cleanup(away.Close)
	_, rest, _ := strings.Cut(r.name(r.image()), "/")
	name := strings.TrimPrefix(away.URL, "http://") + "/" + rest
	if _, err := NewStore(t.TempDir()).Pull(t.Context(), name, nil); err == nil ||
		!strings.Contains(err.Error(), "192.0.2.1 is not on this machine") {
		t.Errorf("the error is %v", err)
	}
}
