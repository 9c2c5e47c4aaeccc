package image

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
)

// zeros is size bytes.
func zeros(size int64) io.Reader { return io.LimitReader(zeroReader{}, size) }

type zeroReader struct{}

func (zeroReader) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}

// TestMemoryIsBounded: a copy takes less than 64 MiB, regardless of its size: here of a layer of 256
// MiB.
func TestMemoryIsBounded(t *testing.T) {
	const size, limit = 256 << 20, 64 << 20
	sum := sha256.New()
	_, err := io.Copy(sum, zeros(size))
	if err != nil {
		t.Fatal(err)
	}
	layer := "sha256:" + hex.EncodeToString(sum.Sum(nil))
	r := newRig(t)
	m := ocitest.Manifest(artifact.MediaImageManifest, map[string]any{"config": r.blob(mediaConfig, []byte("{}")),
		"layers": []any{map[string]any{"mediaType": mediaLayer, "digest": layer, "size": size}}})
	r.answer = func(w http.ResponseWriter, request *http.Request) bool {
		switch {
		case at(request, http.MethodGet, "/manifests/1.4"):
			serve(w, m)
		case at(request, http.MethodGet, "/blobs/"+layer):
			w.Header().Set("Content-Length", fmt.Sprint(size))
			_, _ = io.Copy(w, zeros(size))
		default:
			return false
		}
		return true
	}
	// A registry that stores nothing.
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch request.Method {
		case http.MethodPost:
			w.Header().Set("Location", request.URL.Path+"1")
			w.WriteHeader(http.StatusAccepted)
		case http.MethodPut:
			n, _ := io.Copy(io.Discard, request.Body)
			r.stored.Add(n)
			w.WriteHeader(http.StatusCreated)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer vendor.Close()
	env := r.env("1.4")
	env.Vendor.Reference.Host = strings.TrimPrefix(vendor.URL, "http://")

	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	most, stop, stopped := uint64(0), make(chan struct{}), make(chan struct{})
	go func() { // measures until the copy has ended
		defer close(stopped)
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapInuse)
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond): //walltime: the pause between two measurements
			}
		}
	}()
	_, err = r.build(env)
	close(stop)
	<-stopped
	if err != nil || r.stored.Load() < size {
		t.Fatalf("%d bytes were stored, %v", r.stored.Load(), err)
	}
	if most > before.HeapInuse+limit {
		t.Errorf("%d MiB of memory, want at most %d", (most-before.HeapInuse)>>20, limit>>20)
	}
}
