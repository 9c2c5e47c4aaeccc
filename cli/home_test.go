package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
)

// TestScreensRunCommands checks that the screens run commands as a person does, and read their lines.
func TestScreensRunCommands(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"items":[{"id":"app_1","name":"hello"},{"id":"app_2","name":"shop"}]}`))
	}))
	defer s.Close()
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_OUTPUT", "json")
	o := screens(&cmdenv.Env{Console: &console.Console{}}, "")
	if said, err := o.Run(t.Context(), "apps", "list"); err != nil || !strings.HasPrefix(said, "hello\t") {
		t.Errorf("it printed %q, %v", said, err)
	}
	if _, err := o.Run(t.Context(), "apps", "delete", "hello"); err == nil || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("a command that asks ends with %v", err)
	}
	var lines []string
	err := o.Follow(t.Context(), func(l string) { lines = append(lines, l) }, "apps", "list", "-o", "name")
	if err != nil || !slices.Equal(lines, []string{"hello", "shop"}) {
		t.Errorf("the lines are %q, %v", lines, err)
	}
}

// TestHomeNeedsATerminal checks that `nuon` alone prints the help in a pipe, with and without a
// control plane.
func TestHomeNeedsATerminal(t *testing.T) {
	for _, url := range []string{"", "http://127.0.0.1:1"} {
		t.Setenv("NUON_URL", url)
		t.Setenv("NUON_TOKEN", url)
		t.Setenv("NUON_CONFIG", filepath.Join(t.TempDir(), "none.toml"))
		var out bytes.Buffer
		root := newRoot(&cmdenv.Env{Console: &console.Console{Out: &out, Err: &out, Output: "table"}})
		root.SetArgs([]string{})
		if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "Core commands:") {
			t.Errorf("%q: %v, %s", url, err, out.String())
		}
	}
}
