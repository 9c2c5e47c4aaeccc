package middleware_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/reconciler/api/middleware"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
)

// TestEveryAnswerIsGuarded: all answers have the headers, including errors, redirects and answers
// without a body.
func TestEveryAnswerIsGuarded(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/wrong", func(w http.ResponseWriter, _ *http.Request) {
		problem.Write(w, problem.New(http.StatusConflict, "odd", "Odd.", ""))
	})
	mux.HandleFunc("/below/", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) { panic("hunter2") })
	guarded := middleware.New(problem.Mux(mux), middleware.Options{Log: slog.New(slog.DiscardHandler)})
	ids := map[string]bool{}
	for path, status := range map[string]int{"/ok": 200, "/none": 204, "/wrong": 409, "/below": 307, "/panic": 500,
		"/nowhere": 404} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("X-Request-Id", "forged\nline")
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, r)
		if w.Code != status && (path != "/below" || w.Code/100 != 3) {
			t.Errorf("%s: %d, want %d", path, w.Code, status)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
			"Referrer-Policy":         "no-referrer",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Nuon-Api": strconv.Itoa(version.API),
			"Nuon-Version": version.Number,
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		id := w.Header().Get("X-Request-Id")
		if !strings.HasPrefix(id, "req_") || ids[id] {
			t.Errorf("%s: the id %q", path, id)
		}
		ids[id] = true
	}
}

// TestGuardedTwice: a request through two wrappers has one id, and the limit that the inner
// handler sets applies.
func TestGuardedTwice(t *testing.T) {
	inside := ""
	guarded := middleware.New(middleware.New(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		inside = middleware.RequestID(r.Context())
	}), middleware.Options{}), middleware.Options{})
	w := httptest.NewRecorder()
	guarded.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if id := w.Header().Get("X-Request-Id"); id == "" || id != inside {
		t.Errorf("the answer is of request %q, the handler's context of %q", id, inside)
	}
}

// TestPanic: the client receives an error with the request's id; only the log has the panic.
func TestPanic(t *testing.T) {
	var logged strings.Builder
	guarded := middleware.New(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(
			errors.New("password hunter2"))
	}),
		middleware.Options{Log: slog.New(slog.NewTextHandler(&logged, nil))})
	w := httptest.NewRecorder()
	guarded.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/apps", nil))
	var p api.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusInternalServerError ||
		p.Code != "internal" || p.Request == "" {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
	if strings.Contains(w.Body.String(), "hunter2") || w.Header().Get("X-Request-Id") != p.Request {
		t.Errorf("answered %v %s", w.Header(), w.Body)
	}
	for _, want := range []string{"hunter2", p.Request, "edge_test.go", "/v1/apps"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log lacks %s: %s", want, logged.String())
		}
	}
}

// TestPanicInMidAnswer: a partial answer is aborted, so that it is not taken for complete.
func TestPanicInMidAnswer(t *testing.T) {
	for name, begin := range map[string]func(w http.ResponseWriter){
		"after a write": func(w http.ResponseWriter) { _, _ = io.WriteString(w, "half") },
		"after a flush": func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(middleware.New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				begin(w)
				panic("hunter2")
			}), middleware.Options{Log: slog.New(slog.DiscardHandler)}))
			defer server.Close()
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			answer, err := http.Get(server.URL)
			if err == nil {
				_, err = io.ReadAll(answer.Body)
				_ = answer.Body.Close()
			}
			if err == nil {
				t.Error("the answer looks whole")
			}
		})
	}
}

// pipes is a listener with in-process connections, so that a test's fake clock can advance.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	c, open := <-p.conns
	if !open {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// serve runs a wrapped handler and returns a connection to it.
func serve(t *testing.T, handler http.HandlerFunc) net.Conn {
	t.Helper()
	listener := pipes{make(chan net.Conn, 1)}
	server := &http.Server{Handler: middleware.New(handler, middleware.Options{})}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	client, there := net.Pipe()
	listener.conns <- there
	t.Cleanup(func() { _ = client.Close(); close(listener.conns); _ = server.Close(); <-done })
	return client
}

// TestSlowBodyIsCut: a client that sends a byte now and then can use a connection for a minute at
// most.
func TestSlowBodyIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		ended := make(chan error, 1)
		client := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			ended <- err
		})
		go func() { _, _ = io.Copy(io.Discard, client) }() // there may be an answer
		_, err := fmt.Fprint(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
		for err == nil && time.Since(begun) < time.Hour {
			_, err = client.Write([]byte("x"))
			<-time.After(time.Second)
		}
		if took := time.Since(begun); err == nil || took > 70*time.Second {
			t.Errorf("the connection was held for %s: %v", took, err)
		}
		if err := <-ended; err == nil {
			t.Error("the handler got a whole body")
		}
	})
}

// TestSlowReaderIsCut: so can a client that never reads the answer.
func TestSlowReaderIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		ended := make(chan time.Duration, 1)
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			var err error
			for err == nil {
				_, err = w.Write(make([]byte, 64<<10))
			}
			ended <- time.Since(begun)
		})
		if _, err := fmt.Fprint(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if took := <-ended; took > 70*time.Second {
			t.Errorf("the handler was held for %s", took)
		}
	})
}

// TestStreamLasts: a stream has no deadline, and the next request on the same connection has its
// own.
func TestStreamLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/stream" {
				_, err := io.ReadAll(r.Body)
				fmt.Fprint(w, err)
				return
			}
			middleware.Unhurried(w)
			for range 10 {
				select {
				case <-r.Context().Done():
					return
				case <-time.After(10 * time.Minute):
				}
				_, _ = io.WriteString(w, "tick\n")
				_ = http.NewResponseController(w).Flush()
			}
		})
		answers := bufio.NewReader(client)
		if _, err := fmt.Fprint(client, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || strings.Count(string(body), "tick") != 10 {
			t.Errorf("the stream gave %q, %v", body, err)
		}
		begun := time.Now()
		if _, err := fmt.Fprint(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		answer, err = http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(answer.Body); !strings.Contains(string(body), "timeout") ||
			time.Since(begun) > 70*time.Second {
			t.Errorf("after %s: %s", time.Since(begun), body)
		}
	})
}

// TestAClientThatDoesNotReadEndsAPacedAnswer checks that a client that stops reading ends the answer, long before the
// time of all of it.
func TestAClientThatDoesNotReadEndsAPacedAnswer(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		paced := middleware.Paced(w, 10*time.Millisecond, time.Hour)
		piece := make([]byte, 64<<10)
		for {
			if _, err := paced.Write(piece); err != nil {
				ended <- err
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if _, err := io.WriteString(connection, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	case <-testtime.After():
		t.Error("it has not ended")
	}
}
