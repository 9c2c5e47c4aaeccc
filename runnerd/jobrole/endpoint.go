package jobrole

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/runnerd/cloud/session"
)

// path is the path of the credentials. The rest of the endpoint is nothing.
const path = "/credentials"

// endpoint serves the credentials of one job on the loopback address, in the way that the libraries of the cloud read
// them: with a token that only the programs of the job have.
type endpoint struct {
	url, token string
	protocol   session.Endpoint
	session    *Session
	server     *http.Server
}

// serve starts the endpoint of a session.
func serve(s *Session) (*endpoint, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the credentials of the role: %w", err)
	}
	e := &endpoint{url: "http://" + listener.Addr().String() + path, token: rand.Text() + rand.Text(),
		protocol: s.issuer.Endpoint(), session: s}
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
	given, at := r.Header.Get(e.protocol.TokenHeader), r.URL.Path
	if last, found := strings.CutPrefix(at, path+"/"); found && e.protocol.TokenInPath {
		given, at = last, path
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(given), []byte(e.token)) != 1:
		write(w, http.StatusForbidden, failure{"AccessDenied", "this is not the token of this job"})
		return
	case r.Method != http.MethodGet || at != path:
		write(w, http.StatusNotFound, failure{"NotFound", "credentials are at " + path})
		return
	}
	audience := ""
	if e.protocol.Audience != nil {
		var err error
		if audience, err = e.protocol.Audience(r.URL.Query()); err != nil {
			write(w, http.StatusBadRequest, failure{"BadRequest", err.Error()})
			return
		}
	}
	ctx, stop := context.WithTimeout(r.Context(), issueTimeout)
	defer stop()
	made, err := e.session.credentials(ctx, audience)
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
