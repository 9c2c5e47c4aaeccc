package jobrole

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"
)

// path is the path of the credentials. The rest of the endpoint is nothing.
const path = "/credentials"

// endpoint serves the credentials of one job on the loopback address, in the way that the SDKs of AWS read them in a
// container: with a token that only the programs of the job have.
type endpoint struct {
	url, token string
	session    *Session
	server     *http.Server
}

// serve starts the endpoint of a session.
func serve(s *Session) (*endpoint, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the credentials of the role: %w", err)
	}
	e := &endpoint{url: "http://" + listener.Addr().String() + path, token: rand.Text() + rand.Text(), session: s}
	s.options.Redact.Add([]byte(e.token))
	e.server = &http.Server{Handler: http.HandlerFunc(e.answer), ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout: 10 * time.Second, WriteTimeout: 2 * issueTimeout, MaxHeaderBytes: 16 << 10}
	go func() { _ = e.server.Serve(listener) }() // ends with close
	return e, nil
}

func (e *endpoint) close() error { return e.server.Close() }

// failure is an answer without credentials, as the SDKs show it.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *endpoint) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	given := []byte(r.Header.Get("Authorization"))
	switch {
	case subtle.ConstantTimeCompare(given, []byte(e.token)) != 1:
		write(w, http.StatusForbidden, failure{"AccessDenied", "this is not the token of this job"})
		return
	case r.Method != http.MethodGet || r.URL.Path != path:
		write(w, http.StatusNotFound, failure{"NotFound", "credentials are at " + path})
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), issueTimeout)
	defer stop()
	made, err := e.session.credentials(ctx)
	if err != nil {
		write(w, http.StatusForbidden, failure{"AccessDenied", err.Error()})
		return
	}
	_, _ = w.Write(made.Content) // a program that has gone needs none
}

func write(w http.ResponseWriter, status int, answer failure) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the same
}
