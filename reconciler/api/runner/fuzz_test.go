package runner

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

// FuzzRoutes checks that any path, query and body from a runner, compressed or not, is decoded or
// refused with a message, and never a 500.
func FuzzRoutes(f *testing.F) {
	const attempt = "/runner/v1/jobs/job_1/attempts/1/"
	for _, seed := range [][4]string{
		{"POST", "/runner/v1/lease", "", `{"free":1,"version":"1","policy":{"jobs":null}}`},
		{"POST", "/runner/v1/lease", "gzip", "\x1f\x8b\x08"},
		{"POST", "/runner/v1/heartbeat", "", `{"attempts":[{"job":1}]}`},
		{"POST", attempt + "logs", "", `{"chunks":[{"seq":1e99}]}`},
		{"POST", attempt + "state", "", `{"sealed":{"ciphertext":"*"}}`},
		{"GET", attempt + "state?version=x", "", ""},
		{"GET", "/runner/v1/jobs/%00/attempts/99999999999999999999/spec", "", ""},
		{"POST", attempt + "result", "br", "{}"},
		{"POST", attempt + "state/lock", "", `{"info":` + strings.Repeat("[", 20000)},
		{"DELETE", attempt + "state/lock", "", "x"}, {"POST", "/runner/v1/register", "identity", `[]`},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	stop := func(StrictHandlerFunc, string) StrictHandlerFunc {
		return func(context.Context, http.ResponseWriter, *http.Request, any) (any, error) { return nil, reached }
	}
	// The authorizer's limits without its authentication.
	bounded := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, mib)
			if err := plainBody(w, r, mib); err != nil {
				problem.Write(w, err)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	mux := http.NewServeMux()
	strict := NewStrictHandlerWithOptions(nil, []StrictMiddlewareFunc{stop}, StrictHTTPServerOptions{
		RequestErrorHandlerFunc: problem.Undecodable,
		ResponseErrorHandlerFunc: func(w http.ResponseWriter, _ *http.Request, err error) {
			problem.Write(w, faultOf(err))
		},
	})
	HandlerWithOptions(strict, StdHTTPServerOptions{
		BaseRouter: mux, Middlewares: []MiddlewareFunc{bounded}, ErrorHandlerFunc: problem.Undecodable,
	})
	handler := middleware.New(problem.Mux(mux), middleware.Options{})
	f.Fuzz(func(t *testing.T, method, target, encoding, body string) {
		address, err := url.ParseRequestURI(target)
		if err != nil || method == "" || strings.ContainsAny(method, " \r\n\x00") {
			return // net/http refuses it first
		}
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Method, r.URL, r.RequestURI = method, address, target
		r.Header.Set("Content-Encoding", encoding)
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
