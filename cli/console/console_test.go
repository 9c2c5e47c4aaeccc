package console

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// TestResultByName checks that -o name prints what a script passes to the next
// command, and that a result without a name is an error before anything is printed.
func TestResultByName(t *testing.T) {
	type thing struct {
		Name string `json:"name,omitempty"`
		ID   string `json:"id,omitempty"`
	}
	for name, c := range map[string]struct {
		data any
		want string
	}{
		"a name":           {thing{Name: "hello", ID: "app_1"}, "hello\n"},
		"only an id":       {map[string]any{"id": "wfl_1", "install": "acme", "app": "hello"}, "wfl_1\n"},
		"about an install": {map[string]any{"install": thing{Name: "acme"}, "runner": thing{}}, "acme\n"},
		"about a workflow": {
			map[string]any{"outcome": "", "workflow": map[string]any{"id": "wfl_1", "app": "hello"}}, "wfl_1\n"},
		"a name with escapes": {thing{Name: "a\x1b[2Jb"}, "a [2Jb\n"},
		"no name":             {map[string]any{"chain": []string{}}, ""},
		"a list":              {[]string{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			console := &Console{Out: &out, Output: "name"}
			err := console.Result(c.data, func(io.Writer) error { return errors.New("asked for people") })
			if out.String() != c.want {
				t.Errorf("printed %q, want %q", out.String(), c.want)
			}
			if (c.want == "") != (exitcode.CodeOf(err) == exitcode.Usage) {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// TestText checks that untrusted text of several lines cannot move the cursor.
func TestText(t *testing.T) {
	if got := Text("one\x1b[1A\r\ntwo\a"); got != "one [1A \ntwo " {
		t.Errorf("%q", got)
	}
}
