package installs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func TestOverrideFlags(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	values, empty := write("values.yaml", "replicas: 2\nimage: {}\n"), write("empty", "\n")
	o := overrideFlags{helmValues: []string{"web=@" + values, "old="}, tfVars: []string{"db=" + values}}
	got, err := o.read()
	want := map[string]api.ComponentOverride{"web": {HelmValues: "replicas: 2\nimage: {}"}, "old": {},
		"db": {TFVars: "replicas: 2\nimage: {}"}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, o := range []overrideFlags{{helmValues: []string{"web"}}, {helmValues: []string{"=@" + values}},
		{helmValues: []string{"web=@" + empty}}, {tfVars: []string{"db=@" + values + ".none"}},
		{helmValues: []string{"web=@" + values}, tfVars: []string{"web=@" + values}}} {
		if got, err := o.read(); exitcode.CodeOf(err) != exitcode.Usage {
			t.Errorf("%+v gives %v, %v", o, got, err)
		}
	}
}

func TestOverrideLines(t *testing.T) {
	got := overrideLines(map[string]api.ComponentOverride{"web": {HelmValues: "a: 1\nb:\n  c: 2\n"},
		"db": {TFVars: strings.Repeat("x = 1\n", maxOverrideLines+1)}})
	want := "overrides\n  tf_vars of db\n" + strings.Repeat("    x = 1\n", maxOverrideLines) +
		"    …  (-o json shows all)\n  helm_values of web\n    a: 1\n    b:\n      c: 2"
	if d := cmp.Diff(want, strings.Join(got, "\n")); d != "" {
		t.Error(d)
	}
}
