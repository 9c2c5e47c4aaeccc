// Package contacttest supports test servers that replace the control plane.
// Only tests import it.
package contacttest

import (
	"compress/gzip"
	"io"
	"net/http"
)

// Unpacked passes decompressed request bodies to a handler.
func Unpacked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Encoding") == "gzip" {
			plain, err := gzip.NewReader(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(plain)
		}
		next.ServeHTTP(w, r)
	})
}
