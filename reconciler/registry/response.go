package registry

import (
	"encoding/json"
	"net/http"
)

// response is the writer of one request. It remembers the status, and replaces the handlers' 401 by a 403 that says why, when the
// token was valid but did not reach:
// the handlers themselves know only 401.
type response struct {
	http.ResponseWriter
	denied   error
	status   int
	replaced bool
}

// Unwrap lets http.ResponseController reach the writer below.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader notes the status and passes it on.
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
	// The form of errors is that of the OCI distribution specification.
	_ = json.NewEncoder(r.ResponseWriter).Encode(map[string]any{
		"errors": []map[string]string{{"code": "DENIED", "message": r.denied.Error()}},
	})
}

// Write passes the body on, unless it was replaced.
func (r *response) Write(content []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	if r.replaced {
		return len(content), nil
	}
	return r.ResponseWriter.Write(content)
}
