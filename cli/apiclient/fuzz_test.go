package apiclient

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// FuzzAnswer checks that any response of a server is either the requested object or an
// error with a message and one of the exit codes.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{"", "{", `{"id":"x"}`,
		`{"status":409,"code":"c","title":"t","detail":"d","diagnostics":[{"line":-1,"file":"\u001b"}]}`,
		`{"title":7}`, "null", "<html>"} {
		for _, status := range []int{200, 204, 302, 400, 401, 404, 409, 422, 429, 500, 502} {
			f.Add(status, "application/problem+json", seed)
		}
	}
	f.Fuzz(func(t *testing.T, status int, kind, body string) {
		if status < 200 || status > 599 {
			return
		}
		_, err := Decode[api.App](&http.Response{
			StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {kind}},
			Body:    io.NopCloser(strings.NewReader(body)),
			Request: &http.Request{URL: &url.URL{Scheme: "http", Host: "plane"}},
		}, nil)
		if code := exitcode.CodeOf(err); code < exitcode.Done || code > exitcode.Unreachable || status >= 300 && err == nil {
			t.Errorf("%d %q: code %d, %v", status, body, code, err)
		}
		if err != nil && strings.TrimSpace(err.Error()) == "" && http.StatusText(status) != "" {
			t.Errorf("%d %q: an error without words", status, body)
		}
	})
}
