package registry

import (
	"encoding/json"
	"net/http"
)

// response is the writer of one request. It records the status. If the token was valid but lacks
// the access, it replaces the handlers' 401, the only status that they support, by a 403 with the
// reason.
type response struct {
	http.ResponseWriter
	denied   error
	status   int
	replaced bool
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader records the status and forwards it.
func (r *response) WriteHeader(status int) {
	if r.status != 0 {
		return
	}
	r.status = status
	if status != http.StatusUnauthorized || r.denied == nil {
		r.ResponseWriter.WriteHeader(status)
		return
	}
	r.status, r.replaced = http.StatusForbidden, true
	header := r.Header()
	header.Del("WWW-Authenticate")
	header.Del("Content-Length")
	header.Set("Content-Type", "application/json")
	r.ResponseWriter.WriteHeader(http.StatusForbidden)
	// The errors have the form of the OCI distribution specification.
	_ = json.NewEncoder(r.ResponseWriter).Encode(map[string]any{
		"errors": []map[string]string{{"code": "DENIED", "message": r.denied.Error()}},
	})
}

// Write forwards the body, unless it was replaced.
func (r *response) Write(content []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	if r.replaced {
		return len(content), nil
	}
	return r.ResponseWriter.Write(content)
}
