package control_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// TestMalformedRequests checks that every fault of a request is a problem that describes it, and
// never a 500.
func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	install, approval, workflow := "/v1/installs/"+w.one.ids["install"], "/v1/approvals/"+w.one.ids["approval"],
		"/v1/workflows/"+w.one.ids["workflow"]
	for name, test := range map[string]struct {
		method, path, body string
		status             int
		code               string
	}{
		"no JSON":      {"POST", "/v1/apps", `{"name": `, 400, "bad_request"},
		"empty body":   {"POST", "/v1/apps", ``, 400, "bad_request"},
		"another type": {"POST", "/v1/apps", `{"name": 7}`, 400, "bad_request"},
		"a list":       {"POST", "/v1/apps", `[]`, 400, "bad_request"},
		"null":         {"POST", "/v1/apps", `null`, 422, "bad_name"},
		"too large": {
			"POST", "/v1/apps", `{"name": "` + strings.Repeat("a", 1<<20) + `"}`, 413, "too_large",
		},
		"NUL in a name": {"POST", "/v1/apps", `{"name": "a\u0000b"}`, 400, "bad_request"},
		"NUL in a list": {
			"PATCH", install, `{"inputs": [{"name": "region", "value": "a\u0000b"}]}`, 400, "bad_request",
		},
		"NUL in a map": {
			"POST", install + "/workflows",
			`{"kind": "action", "action": "smoke", "env": {"A": "\u0000"}}`, 400, "bad_request",
		},
		"NUL in a map's key": {
			"POST", install + "/workflows",
			`{"kind": "action", "action": "smoke", "env": {"\u0000": "a"}}`, 400, "bad_request",
		},
		"NUL in a path":       {"GET", "/v1/apps/a%00b", ``, 400, "bad_request"},
		"NUL in a query":      {"GET", "/v1/apps?cursor=%00", ``, 400, "bad_request"},
		"no UTF-8 in a path":  {"GET", "/v1/installs/%ff", ``, 400, "bad_request"},
		"no UTF-8 in a query": {"GET", "/v1/approvals?install=%ff", ``, 400, "bad_request"},
		"a bad escape":        {"GET", "/v1/approvals?install=%zz", ``, 400, "bad_request"},
		"an unknown rule":     {"PATCH", install, `{"approval": "never"}`, 422, "bad_approval"},
		"an unknown rule at first": {
			"POST", "/v1/installs",
			`{"app": "` + w.one.mark + `-app", "name": "x", "approval": "never"}`, 422, "bad_approval",
		},
		"an unknown kind": {"POST", install + "/workflows", `{"kind": "explode"}`, 422, "bad_kind"},
		"no kind":         {"POST", install + "/workflows", `{}`, 422, "bad_kind"},
		"an unknown answer": {
			"POST", approval + "/response", `{"answer": "maybe", "content_digest": "x"}`, 422, "bad_answer",
		},
		"no answer":           {"POST", approval + "/response", `{}`, 422, "bad_answer"},
		"an unknown status":   {"GET", "/v1/approvals?status=odd", ``, 422, "bad_status"},
		"an unknown record":   {"GET", "/v1/explain/moon/x", ``, 400, "bad_request"},
		"a runner of no kind": {"POST", "/v1/runners", `{"name": "x"}`, 422, "bad_runner"},
		"a long reason": {
			"POST", workflow + "/cancel", `{"reason": "` + strings.Repeat("a", 5000) + `"}`, 409, "too_long",
		},
		"a long user name": {
			"POST", "/v1/credentials", `{"name": "x", "username": "` + strings.Repeat("u", 300) + `"}`, 422, "bad_name",
		},
		"a password in clear": {
			"POST", "/v1/credentials",
			`{"name": "x", "password": {"key_id": "", "ciphertext": "aHVudGVyMg=="}}`, 422, "wrong_key",
		},
		"a directory that goes up": {
			"POST", "/v1/apps", `{"name": "x", "directory": "../other"}`, 422, "bad_directory",
		},
		"a directory from the root": {"POST", "/v1/apps", `{"name": "x", "directory": "/etc"}`, 422, "bad_directory"},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.call(w.one.token["admin"], test.method, test.path, test.body)
			if p := got.problem(t); got.Status != test.status || p.Code != test.code {
				t.Errorf("answered %d %s, want %d %s: %s", got.Status, p.Code, test.status, test.code, got.Body)
			}
		})
	}
	if n := w.text("select count(*)::text from apps where org_id = $1", w.one.org.ID); n != "1" {
		t.Errorf("there are %s apps", n)
	}
}

// TestUnknownFieldsAreLeftAlone checks that a newer client may send fields that this control plane
// does not have.
func TestUnknownFieldsAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.call(
		w.one.token["admin"], http.MethodPost, "/v1/apps", `{"name": "hello", "colour": "red"}`,
	); got.Status != http.StatusCreated {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// TestNoSuchRoute checks that errors of the router are problems, too.
func TestNoSuchRoute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.one.token["admin"]
	for _, path := range []string{
		"/", "/none", "/v1/none", "/v1", "/v1/", "/v1/apps/a/b/c", "/hooks", "/hooks/", "/hooks/x", "/runner/v1/lease",
	} {
		got := w.call(admin, http.MethodGet, path, nil)
		if got.Status == http.StatusMovedPermanently || got.Status == http.StatusTemporaryRedirect {
			continue // the router's own redirect of a directory's name
		}
		w.refusedAs(got, http.StatusNotFound, "no_route")
	}
	got := w.call(admin, http.MethodPut, "/v1/apps", nil)
	w.refusedAs(got, http.StatusMethodNotAllowed, "method_not_allowed")
	if allow := got.Header.Get("Allow"); !strings.Contains(allow, "POST") || !strings.Contains(allow, "GET") {
		t.Errorf("Allow: %q", allow)
	}
}

// endless is a body without an end.
type endless struct{ read *atomic.Int64 }

func (e endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	e.read.Add(int64(len(b)))
	return len(b), nil
}

// TestBodiesAreBounded checks that only an upload may be large, regardless of its Content-Type, and that
// the body of an unauthenticated request is not read at all.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.add("apps", "id", id.New("app"), "name", "hello")
	admin := w.one.token["admin"]
	upload := func(size int64) answer {
		return w.call(admin, http.MethodPost, "/v1/apps/hello/versions", io.LimitReader(zeros{}, size),
			"Content-Type", "application/gzip")
	}
	if got := upload(2 << 20); got.Status != http.StatusOK {
		t.Errorf("an upload of 2 MiB: %d %s", got.Status, got.Body)
	}
	w.refusedAs(upload(64<<20+1), http.StatusRequestEntityTooLarge, "too_large")
	disguised := `{"name": "` + strings.Repeat("a", 2<<20) + `"}`
	w.refusedAs(w.call(admin, http.MethodPost, "/v1/apps", disguised, "Content-Type", "application/gzip"),
		http.StatusRequestEntityTooLarge, "too_large")
	var read atomic.Int64
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/v1/apps", endless{&read})
	must(t, err)
	got, err := http.DefaultClient.Do(r)
	if err == nil {
		_ = got.Body.Close()
		if got.StatusCode != http.StatusUnauthorized {
			t.Errorf("an endless body of a stranger: %d", got.StatusCode)
		}
	}
	if taken := read.Load(); taken > 64<<20 {
		t.Errorf("%d bytes of a stranger were taken", taken)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestUploadThatIsRefusedIsNotInTheAudit checks that a refused request is not recorded as done.
func TestUploadThatIsRefusedIsNotInTheAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	got := w.call(w.one.token["operator"], http.MethodPost, "/v1/apps/"+w.one.ids["app"]+"/versions", "x",
		"Content-Type", "application/gzip")
	w.refusedAs(got, http.StatusConflict, "connected")
	if all := w.texts(
		"select action from audit_events where org_id = $1 and action = 'app.upload'", w.one.org.ID,
	); len(all) != 0 {
		t.Errorf("the audit has %v", all)
	}
}

// TestRequestWhoseClientIsGoneIsInTheAudit checks that a sync and a poll are recorded although the client closes the
// connection: what was read by then is stored and built.
func TestRequestWhoseClientIsGoneIsInTheAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	for action, request := range map[string]struct{ path, body string }{
		"app.sync":  {"/v1/apps/" + w.one.ids["app"] + "/sync", "{}"},
		"repo.look": {path: "/v1/repos/" + w.one.ids["watch"] + "/look"},
	} {
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		w.sync = func(ctx context.Context) error {
			leave()
			<-ctx.Done()
			return ctx.Err()
		}
		w.look = w.sync
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+request.path, strings.NewReader(request.body))
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+w.one.token["operator"])
		r.Header.Set("Content-Type", "application/json")
		if got, err := http.DefaultClient.Do(r); err == nil {
			_ = got.Body.Close()
			t.Fatalf("the client stayed, and got %d", got.StatusCode)
		}
		testtime.Until(t, action+" is in the audit", func() bool {
			return len(w.texts("select action from audit_events where org_id = $1 and action = $2", w.one.org.ID, action)) == 1
		})
	}
}

// TestEmptyListsAreLists checks that a required list is never null.
func TestEmptyListsAreLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.add("apps", "id", id.New("app"), "name", "hello")
	for path, field := range map[string]string{
		"/v1/apps": "items", "/v1/installs": "items", "/v1/workflows": "items", "/v1/approvals": "items",
		"/v1/runners": "items", "/v1/credentials": "items",
		"/v1/builds?app=hello": "items", "/v1/apps/hello/versions": "items", "/v1/apps/hello/components": "items",
		"/v1/explain/app/hello": "chain",
		"/v1/apps/hello":        "diagnostics", "/v1/apps/hello/sync": "builds",
	} {
		got := w.call(w.two.token["viewer"], http.MethodGet, path, nil)
		if strings.Contains(path, "hello") {
			got = w.call(w.one.token["viewer"], http.MethodGet, path, nil)
		}
		if !strings.Contains(got.Body, `"`+field+`":[`) {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
}
