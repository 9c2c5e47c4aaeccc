package runner

import (
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
)

// errEncoding refuses a body with an unknown encoding.
var errEncoding = problem.New(http.StatusUnsupportedMediaType, "encoding",
	"The encoding of the request's body is not supported.", "Send it uncompressed, or as gzip.")

// plainBody replaces a compressed body by its decompressed content. The same limit in bytes applies
// to both forms, so a body that exceeds it after decompression is a 413 like any other large body.
// plainBody reads nothing itself.
func plainBody(w http.ResponseWriter, r *http.Request, most int64) error {
	switch strings.ToLower(r.Header.Get("Content-Encoding")) {
	case "", "identity":
		return nil
	case "gzip":
		r.Body = http.MaxBytesReader(w, &packedBody{packed: r.Body}, most)
		// The length of the decompressed body is unknown.
		r.ContentLength = -1
		r.Header.Del("Content-Encoding")
		r.Header.Del("Content-Length")
		return nil
	}
	return errEncoding
}

// packedBody decompresses a body while it is read.
type packedBody struct {
	packed io.ReadCloser
	unpack *gzip.Reader
}

// Read returns the errors of the underlying body unchanged, because one may mean that it was too
// large.
func (b *packedBody) Read(to []byte) (int, error) {
	if b.unpack == nil {
		unpack, err := gzip.NewReader(b.packed)
		if err != nil {
			return 0, err
		}
		b.unpack = unpack
	}
	return b.unpack.Read(to)
}

// Close closes the compressed body.
func (b *packedBody) Close() error { return b.packed.Close() }
