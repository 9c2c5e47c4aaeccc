package apiclient

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// gzipFrom is the smallest body that is compressed, in bytes. For smaller ones compression
// costs more than it saves.
const gzipFrom = 1 << 10

// gzipTransport sends long bodies as gzip: logs, states and results are repetitive text.
// Every control plane of this protocol accepts that.
type gzipTransport struct {
	next    http.RoundTripper
	writers sync.Pool
}

// RoundTrip makes one call.
func (p *gzipTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body == nil || request.ContentLength < gzipFrom || request.Header.Get("Content-Encoding") != "" {
		return p.next.RoundTrip(request)
	}
	packed, err := p.compress(request)
	if err != nil {
		return nil, fmt.Errorf("pack the request's body: %w", err)
	}
	// A transport must not modify the request of its caller.
	changed := request.Clone(request.Context())
	changed.Header.Set("Content-Encoding", "gzip")
	changed.Header.Del("Content-Length")
	changed.ContentLength = int64(len(packed))
	changed.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil }
	changed.Body, _ = changed.GetBody()
	return p.next.RoundTrip(changed)
}

// compress reads, compresses and closes the request's body.
func (p *gzipTransport) compress(request *http.Request) ([]byte, error) {
	defer func() { _ = request.Body.Close() }()
	writer, _ := p.writers.Get().(*gzip.Writer)
	if writer == nil {
		var err error
		if writer, err = gzip.NewWriterLevel(nil, gzip.BestSpeed); err != nil {
			return nil, err
		}
	}
	defer p.writers.Put(writer)
	var out bytes.Buffer
	writer.Reset(&out)
	if _, err := io.Copy(writer, request.Body); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
