package apiclient

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// plane is a fake control plane that gives the same answer to every request.
func plane(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	c, err := New(contexts.Context{URL: s.URL, Token: "tok"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAnswers checks that every response except the requested object is an error with the
// right exit code and a message.
func TestAnswers(t *testing.T) {
	const problem = "application/problem+json"
	for name, c := range map[string]struct {
		status int
		kind   string
		body   string
		code   int
		says   string
	}{
		"the thing": {200, "application/json", `{"id":"app_1","name":"hello"}`, exitcode.Done, ""},
		"made":      {201, "application/json", `{"id":"app_1","name":"hello"}`, exitcode.Done, ""},
		"not authorised": {401, problem,
			`{"status":401,"code":"unauthorized","title":"this token is not known","detail":"make another"}`,
			exitcode.Unreachable, "this token is not known\n  make another"},
		"forbidden": {403, problem, `{"status":403,"code":"forbidden","title":"a viewer cannot do this"}`,
			exitcode.Unreachable, "a viewer cannot do this"},
		"bad request": {400, problem, `{"status":400,"code":"bad_request","title":"limit is not a number"}`,
			exitcode.Usage, "limit is not a number"},
		"config": {422, problem,
			`{"status":422,"code":"invalid","title":"the config has errors","diagnostics":[{"file":"a.toml","line":3,"column":7,"severity":"error","message":"unknown key","hint":"name"}]}`, exitcode.Usage, "the config has errors\n  a.toml:3:7: error: unknown key (name)"},
		"unpushed": {409, problem,
			`{"status":409,"code":"unpushed","title":"main is not at 1234567","detail":"push it"}`, exitcode.Usage,
			"main is not at 1234567\n  push it"},
		"conflict": {409, problem, `{"status":409,"code":"stale","title":"the plan has changed"}`,
			exitcode.Failed, "the plan has changed"},
		"not found": {404, problem, `{"status":404,"code":"not_found","title":"app \"x\" not found"}`,
			exitcode.Failed, `app "x" not found`},
		"server's fault": {500, problem,
			`{"status":500,"code":"internal","title":"something broke here","request":"req_1"}`, exitcode.Failed,
			"something broke here\n  Request ID in its log: req_1."},
		"another listener": {404, problem, `{"status":404,"code":"no_route","title":"no such route"}`,
			exitcode.Unreachable, "responded with 404 Not Found, which a control plane of this version never does"},
		"a web server's page": {404, "text/html", "<html>not here</html>", exitcode.Unreachable,
			"check the address with `nuon context list`"},
		"a gateway's page": {502, "text/html", "<html>bad gateway</html>", exitcode.Unreachable,
			"responded with 502 Bad Gateway"},
		"a proxy's refusal": {403, "text/html", "<html>no</html>", exitcode.Unreachable, "403 Forbidden"},
		"a rate limit":      {429, "text/plain", "slow down", exitcode.Failed, "429 Too Many Requests"},
		"a problem of no words": {409, problem, `{"status":409,"code":"conflict","title":""}`,
			exitcode.Failed, "409 Conflict"},
		"a page instead":  {200, "text/html", "<html>welcome</html>", exitcode.Unreachable, "check the address with"},
		"nothing instead": {200, "application/json", "", exitcode.Unreachable, "check the address with"},
		"cut off": {200, "application/json", `{"id":"app`, exitcode.Unreachable,
			"the response was cut off: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			client := plane(t, func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Authorization"); got != "Bearer tok" {
					t.Errorf("Authorization %q", got)
				}
				w.Header().Set("Content-Type", c.kind)
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			})
			app, err := Decode[api.App](client.GetApp(t.Context(), "hello"))
			if got := exitcode.CodeOf(err); got != c.code {
				t.Errorf("exit code %d, want %d (%v)", got, c.code, err)
			}
			if c.code == exitcode.Done {
				if app.Name != "hello" {
					t.Errorf("got %+v", app)
				}
				return
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("says %q, want %q", err, c.says)
			}
		})
	}
}

// TestRedirectsAreNotFollowed checks that no redirect makes a second request, to the same address or another, and that
// the error reports it: the token and the body of a request are for one control plane.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var second atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { second.Add(1) }))
	defer other.Close()
	first := 0
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{other.URL + "/v1/apps/hello", "/v1/elsewhere", "http://169.254.169.254/latest"} {
			s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				first++
				http.Redirect(w, r, to, status)
			}))
			client, err := New(contexts.Context{URL: s.URL, Token: "tok"},
				func(http.RoundTripper) http.RoundTripper { return s.Client().Transport })
			if err != nil {
				t.Fatal(err)
			}
			_, err = Decode[api.App](client.CreateApp(t.Context(), nil, api.CreateAppJSONRequestBody{Name: "hello"}))
			if exitcode.CodeOf(err) != exitcode.Unreachable || !strings.Contains(err.Error(), "which is not followed") ||
				!strings.Contains(err.Error(), s.URL+" responded with "+strconv.Itoa(status)) ||
				strings.Contains(err.Error(), "latest") {
				t.Errorf("%d to %s: ended with %v", status, to, err)
			}
			if first != 1 || second.Load() != 0 {
				t.Errorf("%d to %s: %d requests to the control plane, %d to the other", status, to, first, second.Load())
			}
			first = 0
			s.Close()
		}
	}
}

// TestDone checks that a response without a body is judged by its status.
func TestDone(t *testing.T) {
	status := http.StatusNoContent
	client := plane(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	if err := CheckDone(client.ForgetInstall(t.Context(), "acme", nil)); err != nil {
		t.Error(err)
	}
	status = http.StatusForbidden
	if err := CheckDone(client.ForgetInstall(t.Context(), "acme", nil)); exitcode.CodeOf(err) != exitcode.Unreachable {
		t.Errorf("forbidden ended with %v", err)
	}
}

// TestUnreachable checks that an unreachable control plane has its own exit
// code and a remedy, and that Ctrl-C is not reported as unreachable.
func TestUnreachable(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close() // so that nothing listens on its address
	client, err := New(contexts.Context{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Decode[api.App](client.GetApp(t.Context(), "hello"))
	if exitcode.CodeOf(err) != exitcode.Unreachable || !strings.Contains(err.Error(), "cannot reach the control plane") ||
		!strings.Contains(err.Error(), "nuon doctor") {
		t.Errorf("ended with %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err = Decode[api.App](client.GetApp(stopped, "hello")); !errors.Is(err, exitcode.Interrupted) {
		t.Errorf("Ctrl-C ended with %v", err)
	}
}

// TestNewRefusesWhatIsNoAddress checks that an invalid address is an error before any request.
func TestNewRefusesWhatIsNoAddress(t *testing.T) {
	for _, url := range []string{"", "localhost", "127.0.0.1:7110", "http://", "http://a b", ":"} {
		if _, err := New(contexts.Context{URL: url}); exitcode.CodeOf(err) != exitcode.Usage {
			t.Errorf("%q ended with %v", url, err)
		}
	}
}

// TestDiagnosis checks that a diagnostic without a position is printed without one.
func TestDiagnosis(t *testing.T) {
	for want, d := range map[string]api.Diagnostic{
		"web.toml:3:7: error: unknown key (name)": {File: "web.toml", Line: 3, Column: 7, Severity: "error",
			Message: "unknown key", Hint: "name"},
		"warning: no installs": {File: "web.toml", Severity: "warning", Message: "no installs"},
		"error: there is no config": {File: ".", Line: 1, Column: 1, Severity: "error",
			Message: "there is no config"},
	} {
		if got := Diagnosis(d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestCodeIs checks that the code is found in wrapped errors.
func TestCodeIs(t *testing.T) {
	err := exitcode.With(exitcode.Usage, &Problem{api.Problem{Code: "not_found"}})
	if !CodeIs(err, "not_found") || CodeIs(err, "unpushed") ||
		CodeIs(errors.New("not_found"), "not_found") || CodeIs(nil, "") {
		t.Error("codes are mixed up")
	}
}

// TestListsEnd checks that a list ends whose cursors alternate, or whose pages have new cursors without an end.
func TestListsEnd(t *testing.T) {
	alternate := map[string]string{"": "b", "b": "c", "c": "b"}
	got, err := ListAll(func(cursor string) ([]int, string, error) { return []int{1}, alternate[cursor], nil })
	if !errors.Is(err, ErrRepeatedPage) || got != nil {
		t.Errorf("alternating cursors: %v, %v", got, err)
	}
	read := 0
	_, err = ListAll(func(string) ([]int, string, error) {
		read++
		return nil, strconv.Itoa(read), nil
	})
	if exitcode.CodeOf(err) != exitcode.Unreachable || read != maxPages {
		t.Errorf("read %d pages: %v", read, err)
	}
}

// TestAll checks that all pages are read in order, and that an empty list is not nil.
func TestAll(t *testing.T) {
	pages := map[string]struct {
		items []int
		next  string
	}{"": {[]int{1, 2}, "b"}, "b": {nil, "c"}, "c": {[]int{3}, ""}}
	all, err := ListAll(func(cursor string) ([]int, string, error) { return pages[cursor].items, pages[cursor].next, nil })
	if err != nil || len(all) != 3 || all[2] != 3 {
		t.Errorf("%v, %v", all, err)
	}
	none, err := ListAll(func(string) ([]int, string, error) { return nil, "", nil })
	if err != nil || none == nil {
		t.Errorf("%#v, %v", none, err)
	}
	broken := errors.New("broken")
	if got, err := ListAll(func(cursor string) ([]int, string, error) {
		if cursor == "" {
			return []int{1}, "b", nil
		}
		return nil, "", broken
	}); !errors.Is(err, broken) || got != nil {
		t.Errorf("half a list was given: %v, %v", got, err)
	}
}
