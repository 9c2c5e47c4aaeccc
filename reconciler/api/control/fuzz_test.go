package control

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/api/middleware"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
)

// reached ends a request where an operation would start.
var reached = problem.New(http.StatusTeapot, "reached", "It would be done now.", "")

func stop(StrictHandlerFunc, string) StrictHandlerFunc {
	return func(context.Context, http.ResponseWriter, *http.Request, any) (any, error) { return nil, reached }
}

// FuzzRoutes checks that any path, query, header and body is decoded or refused with a message, and
// never a 500.
func FuzzRoutes(f *testing.F) {
	for _, seed := range [][4]string{
		{"GET", "/v1/apps?cursor=%00&limit=-1", "", ""}, {"GET", "/v1/apps?limit=99999999999999999999", "", ""},
		{"POST", "/v1/apps", "k", `{"name":"a"}`},
		{"POST", "/v1/apps", "", `{"name":{}}`},
		{"POST", "/v1/installs/a%2Fb/workflows", "k", `{"kind":"deploy","env":{"a":1}}`},
		{"PATCH", "/v1/installs/x", "", "null"},
		{"DELETE", "/v1/installs/%ff?force=maybe", "", ""}, {"GET", "/v1/workflows/x/events", "\x7f", ""},
		{"GET", "/v1/explain/app/..%2f..", "", ""},
		{"POST", "/v1/installs/a/components/b/states/-1/restore", "", `{"reason":"x"}`},
		{"DELETE", "/v1/installs/a/components/b/lock?reason", "", ""},
		{"POST", "/v1/tokens", "", `{"expires_in_seconds":1e400}`},
		{"POST", "/v1/credentials", "", `{"password":{"ciphertext":"*"}}`}, {"GET", "/v1/audit?action=%zz;x", "", ""},
		{"POST", "/v1/apps/a/versions", "", "\x1f\x8b\x00"}, {"CONNECT", "//v1/apps", "", ""},
		{"GET", "/v1/approvals?status=odd&status=", "", strings.Repeat("[", 20000)},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	handler := middleware.New(limitBody(problem.Mux(routes(nil, wellFormed, stop))), middleware.Options{})
	f.Fuzz(func(t *testing.T, method, target, header, body string) {
		address, err := url.ParseRequestURI(target)
		if err != nil || method == "" || strings.ContainsAny(method, " \r\n\x00") {
			return // net/http refuses it first
		}
		r := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(body))
		r.Method, r.URL, r.RequestURI = method, address, target
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", header)
		r.Header.Set("Last-Event-ID", header)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code >= http.StatusInternalServerError || w.Code < http.StatusMultipleChoices {
			t.Errorf("%s %q: %d %s", method, target, w.Code, w.Body)
		}
		if w.Code >= http.StatusBadRequest && w.Header().Get("Content-Type") != problem.ContentType {
			t.Errorf("%s %q: %d is no problem: %s", method, target, w.Code, w.Body)
		}
	})
}
