package runner

import (
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
)

// errEncoding is the refusal of a body that nothing here can unpack.
var errEncoding = problem.New(http.StatusUnsupportedMediaType, "encoding", "The request's body has an encoding that is not known here.", "Send it as it is, or as gzip.")

// plainBody makes a packed body readable as what was packed. Packed and plain, it has the same bound in bytes, so a body that
// grows without end when it is unpacked is a 413 as any other that is too large. Nothing is read before the body is.
func plainBody(w http.ResponseWriter, r *http.Request, most int64) error {
	switch strings.ToLower(r.Header.Get("Content-Encoding")) {
	case "", "identity":
		return nil
	case "gzip":
		r.Body = http.MaxBytesReader(w, &packedBody{packed: r.Body}, most)
		// Of the plain body nobody knows the length now.
		r.ContentLength = -1
		r.Header.Del("Content-Encoding")
		r.Header.Del("Content-Length")
		return nil
	}
	return errEncoding
}

// packedBody unpacks a body while it is read.
type packedBody struct {
	packed io.ReadCloser
	unpack *gzip.Reader
}

// Read gives the error of the body below as it is: that one may say that it was too large.
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

// Close closes the packed body.
func (b *packedBody) Close() error { return b.packed.Close() }
