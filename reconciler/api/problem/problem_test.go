package problem_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

func TestWrite(t *testing.T) {
	gone := problem.New(http.StatusConflict, "offer_gone", "The offer is gone.", "Lease again.")
	withPlace := problem.Error{Status: 422, Code: "bad_config", Title: "The config is wrong.",
		Diagnostics: []api.Diagnostic{{File: "app.toml", Line: 3, Column: 1, Severity: "error",
			Message: "unknown key"}}}
	for name, test := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"a value":           {gone, 409, "offer_gone"},
		"a pointer":         {&gone, 409, "offer_gone"},
		"a wrapped value":   {fmt.Errorf("accept job: %w", gone), 409, "offer_gone"},
		"a wrapped pointer": {fmt.Errorf("accept job: %w", &gone), 409, "offer_gone"},
		"with diagnostics":  {withPlace, 422, "bad_config"},
		"a refusal": {
			fmt.Errorf("accept job: %w", refusal.New(refusal.Conflict, "offer_gone", "the offer has expired", "").With("x")),
			409, "offer_gone",
		},
		"a database that is away": {
			fmt.Errorf("accept job: %w", &store.Unavailable{Err: errors.New("hunter2")}), 503, "database_away",
		},
		"a full store":        {refusal.New(refusal.Full, "no_room", "there is no room", ""), 507, "no_room"},
		"too often":           {&refusal.Error{Kind: refusal.TooOften, Code: "key_is_new", Title: "wait"}, 429, "key_is_new"},
		"unknown":             {errors.New("dial 10.1.2.3: password hunter2"), 500, "internal"},
		"no error status":     {problem.New(200, "odd", "Odd.", ""), 500, "odd"},
		"a body that is long": {fmt.Errorf("decode: %w", &http.MaxBytesError{Limit: 10}), 413, "too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			problem.Write(w, test.err)
			var got api.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatalf("not JSON: %v: %s", err, w.Body)
			}
			if w.Code != test.status || got.Status != test.status || got.Code != test.code || got.Title == "" ||
				got.Type != "urn:nuon:problem:"+test.code {
				t.Errorf("answered %d %+v, want %d %s", w.Code, got, test.status, test.code)
			}
			if kind := w.Header().Get("Content-Type"); kind != problem.ContentType {
				t.Errorf("content type %q", kind)
			}
			if retry := w.Header().Get("Retry-After"); (retry != "") != (test.status == 503) {
				t.Errorf("Retry-After is %q", retry)
			}
			if strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("leaked the inner error: %s", w.Body)
			}
		})
	}
}

func TestWriterLogsWhatTheClientIsNotTold(t *testing.T) {
	var logged strings.Builder
	write := problem.Writer(slog.New(slog.NewTextHandler(&logged, nil)))
	request := httptest.NewRequest(http.MethodGet, "/v1/apps", nil)
	write(httptest.NewRecorder(), request, problem.New(404, "not_found", "No such app.", ""))
	if logged.Len() != 0 {
		t.Errorf("logged a client's own problem: %s", logged.String())
	}
	write(httptest.NewRecorder(), request, errors.New("disk is full"))
	if !strings.Contains(logged.String(), "disk is full") || !strings.Contains(logged.String(), "/v1/apps") {
		t.Errorf("logged %q", logged.String())
	}
}

func TestMuxAnswersInProblemsToo(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/apps", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	handler := problem.Mux(mux)
	for _, test := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"POST", "/v1/apps", 200, ""},
		{"GET", "/v1/apps", 405, "method_not_allowed"},
		{"GET", "/v1/none", 404, "no_route"},
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(test.method, test.path, nil))
		var got api.Problem
		_ = json.Unmarshal(w.Body.Bytes(), &got)
		if w.Code != test.status || got.Code != test.code {
			t.Errorf("%s %s: %d %s, want %d %s", test.method, test.path, w.Code, w.Body, test.status, test.code)
		}
		if test.status == 405 && w.Header().Get("Allow") != "POST" {
			t.Errorf("Allow: %q", w.Header().Get("Allow"))
		}
	}
}

func TestEachKindOfRefusalHasAStatus(t *testing.T) {
	for kind := refusal.Invalid; kind <= refusal.TooOften; kind++ {
		p, known := problem.Of(refusal.New(kind, "code", "title", "remedy"))
		if !known || p.Status < 400 || p.Status > 599 || p.Code != "code" || p.Title != "title" || p.Detail != "remedy" {
			t.Errorf("a refusal of kind %d is the problem %+v", kind, p)
		}
	}
}
