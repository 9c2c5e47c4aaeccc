package render

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// server is a fake control plane that returns texts and records the request.
type server struct {
	texts []api.RenderedText
	asked string
}

func (s *server) run(t *testing.T, output string, args ...string) (string, error) {
	t.Helper()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		for key := range query {
			if query.Get(key) == "" {
				query.Del(key)
			}
		}
		s.asked = r.URL.EscapedPath() + "?" + query.Encode()
		_ = json.NewEncoder(w).Encode(api.RenderedTexts{Release: 3, Texts: s.texts})
	}))
	defer h.Close()
	t.Setenv("NUON_URL", h.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	var out strings.Builder
	c := New(&cmdenv.Env{Console: &console.Console{Out: &out, Err: io.Discard, Output: output}})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func TestRender(t *testing.T) {
	s := &server{texts: []api.RenderedText{
		{Key: "values_file[0].contents", Text: "a: 1\nb: \x1b[2J\n"},
		{Key: "vars.cidr", Text: "10.0.0.0/16"},
		{Key: "vars.password", Text: "‹sensitive›", Sensitive: true},
		{Key: "vars.x", Text: ""},
	}}
	out, err := s.run(t, "table", "web", "--install", "shop/acme")
	if err != nil {
		t.Fatal(err)
	}
	want := "values_file[0].contents\n    a: 1\n    b:  [2J\nvars.cidr      10.0.0.0/16\nvars.password  ‹sensitive›\n" +
		"vars.x\n"
	if d := cmp.Diff(want, out); d != "" {
		t.Error(d)
	}
	if s.asked != "/v1/installs/shop%2Facme/rendered?component=web" {
		t.Errorf("asked for %s", s.asked)
	}
	out, err = s.run(t, "json", "--action", "check", "--install", "acme", "--key", "steps[0]")
	if err != nil || !strings.Contains(out, `"sensitive": true`) {
		t.Errorf("%s %v", out, err)
	}
	if s.asked != "/v1/installs/acme/rendered?action=check&key=steps%5B0%5D" {
		t.Errorf("asked for %s", s.asked)
	}
}

// TestRenderOneKey checks that only the text is printed, so that it can be piped.
func TestRenderOneKey(t *testing.T) {
	s := &server{texts: []api.RenderedText{{Key: "vars.cidr", Text: "10.0.0.0/16\n"}}}
	if out, err := s.run(t, "table", "web", "--install", "acme", "--key", "vars.cidr"); out != "10.0.0.0/16\n" ||
		err != nil {
		t.Errorf("%q %v", out, err)
	}
	if out, err := s.run(t, "table", "web", "--install", "acme", "--key",
		"vars"); out != "vars.cidr\n    10.0.0.0/16\n" || err != nil {
		t.Errorf("%q %v", out, err)
	}
}

func TestRenderProblems(t *testing.T) {
	s := &server{texts: []api.RenderedText{{Key: "vars.cidr", Problem: "vars.cidr:1:3: .nuon.x has no value"}}}
	out, err := s.run(t, "table", "web", "--install", "acme", "--key", "vars.cidr")
	if out != "vars.cidr  ✗ vars.cidr:1:3: .nuon.x has no value\n" || exitcode.CodeOf(err) != exitcode.Failed {
		t.Errorf("%q %v", out, err)
	}
	if out, err := (&server{}).run(t, "table", "web", "--install", "acme"); out != "no templated texts\n" || err != nil {
		t.Errorf("%q %v", out, err)
	}
	for _, args := range [][]string{{"--install", "acme"}, {"web", "--action", "check", "--install", "acme"},
		{"web", "api", "--install", "acme"}} {
		if _, err := s.run(t, "table", args...); exitcode.CodeOf(err) != exitcode.Usage {
			t.Errorf("%v: %v", args, err)
		}
	}
}
