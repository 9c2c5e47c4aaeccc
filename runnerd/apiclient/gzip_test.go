package apiclient

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestLongBodiesArePacked checks that a long body arrives as gzip with its length and a short
// one unchanged, and that the caller's request is not modified.
func TestLongBodiesArePacked(t *testing.T) {
	var mu sync.Mutex
	var encoding string
	var length int64
	var came []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		encoding, length = r.Header.Get("Content-Encoding"), r.ContentLength
		came, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	client := &http.Client{Transport: &gzipTransport{next: http.DefaultTransport}}
	for _, body := range []string{"", "short", strings.Repeat("x", gzipFrom-1), strings.Repeat("y", gzipFrom),
		strings.Repeat("z", 1<<20), strings.Repeat("a", 5000)} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		mu.Lock()
		got, packed := came, encoding == "gzip"
		if length != int64(len(came)) {
			t.Errorf("said %d bytes, and sent %d", length, len(came))
		}
		mu.Unlock()
		if packed {
			plain, err := gzip.NewReader(bytes.NewReader(got))
			if err != nil {
				t.Fatal(err)
			}
			if got, err = io.ReadAll(plain); err != nil {
				t.Fatal(err)
			}
		}
		if string(got) != body || packed != (len(body) >= gzipFrom) {
			t.Errorf("of %d bytes came %d, packed %v", len(body), len(got), packed)
		}
		if request.Header.Get("Content-Encoding") != "" || request.ContentLength != int64(len(body)) {
			t.Error("the caller's request was changed")
		}
	}
}
