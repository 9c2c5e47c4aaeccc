// Package contacttest is for servers that tests put in the control plane's place. Only tests import it.
package contacttest

import (
	"compress/gzip"
	"io"
	"net/http"
)

// Unpacked gives a handler the bodies of requests as they were before the runner packed them.
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
