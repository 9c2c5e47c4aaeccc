package tfmodule_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

func TestCalls(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	for name, content := range map[string]string{
		"a/main.tf": "module \"web\" {\n  source  = \"acme/web/aws\"\n  version = \"~> 1.0\"\n}\n\n" +
			"module \"net\" {\n  source = \"../net\"\n}\n",
		"a/override.tf":     "module \"web\" {\n  version = \"2.0.0\"\n}\n",
		"a/sub/main.tf":     "module \"not_read\" {\n  source = \"./x\"\n}\n",
		"b/readme.md":       "nothing",
		"bad/main.tf":       "module \"x\" {\n  version = \"1\"\n}\n",
		"computed/x.tf":     "module \"x\" {\n  source = var.source\n}\n",
		"empty/main.tf":     "",
		"json/main.tf.json": `{"module": {"x": {"source": "https://example.com/x.zip"}}}`,
	} {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	tests := map[string]struct {
		want  []tfmodule.Call
		found bool
		err   string
	}{
		"a": {found: true, want: []tfmodule.Call{
			{Name: "net", Source: "../net", Position: tfmodule.Position{File: "a/main.tf", Line: 6}},
			{Name: "web", Source: "acme/web/aws", Version: "2.0.0", Position: tfmodule.Position{File: "a/override.tf",
				Line: 1}},
		}},
		"b":     {},
		"empty": {found: true},
		"bad":   {err: "bad/main.tf:1: module \"x\" has no source"},
		"computed": {found: true, want: []tfmodule.Call{{Name: "x", Source: "var.source",
			Position: tfmodule.Position{File: "computed/x.tf", Line: 1}}}},
		"../a": {err: "leads out of the tree"},
		"none": {err: "none"},
		"json": {found: true, want: []tfmodule.Call{{Name: "x", Source: "https://example.com/x.zip",
			Position: tfmodule.Position{File: "json/main.tf.json", Line: 1}}}},
	}
	for dir, test := range tests {
		got, found, err := tfmodule.Calls(files, dir)
		if diff := cmp.Diff(test.want, got); diff != "" || found != test.found {
			t.Errorf("%s: found %t, want %t\n%s", dir, found, test.found, diff)
		}
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v, want %q", dir, err, test.err)
		}
	}
}

func TestCallIsLocal(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{"./x": true, "../x": true, "x": false, "acme/x/aws": false,
		"/srv/x": false} {
		if got := (tfmodule.Call{Source: source}).IsLocal(); got != want {
			t.Errorf("%s: %t, want %t", source, got, want)
		}
	}
}
