package problem

import (
	"bytes"
	"net/http"
)

// Mux serves a mux and returns "no such route" and "no such method" as problems too.
func Mux(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		refused := capturedAnswer{header: http.Header{}}
		handler.ServeHTTP(&refused, r)
		if refused.status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", refused.header.Get("Allow"))
			Write(w, New(http.StatusMethodNotAllowed, "method_not_allowed",
				"This route does not support the method "+r.Method+".", "It supports "+refused.header.Get("Allow")+"."))
			return
		}
		Write(w, New(http.StatusNotFound, "no_route", "There is no such route.",
			"The OpenAPI document lists all of them."))
	})
}

// capturedAnswer captures the mux's own error answer.
type capturedAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *capturedAnswer) Header() http.Header { return r.header }

func (r *capturedAnswer) WriteHeader(status int) { r.status = status }

func (r *capturedAnswer) Write(b []byte) (int, error) { return r.body.Write(b) }
