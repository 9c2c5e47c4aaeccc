package reference

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// config returns the page.
func config(t *testing.T) string {
	t.Helper()
	var page strings.Builder
	if err := Config(&page); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// TestConfigIsUpToDate checks that docs/config.md matches the types.
func TestConfigIsUpToDate(t *testing.T) {
	kept, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(kept), config(t)); d != "" {
		t.Errorf("docs/config.md is out of date: run `make generate`\n%s", d)
	}
}

// TestConfigIsMarkdown checks that rows have the columns of their tables, that links
// refer to headings, and that examples are valid TOML.
func TestConfigIsMarkdown(t *testing.T) {
	page := config(t)
	headings := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		name := anchor(strings.ToLower(h[1]))
		if headings[name] {
			t.Errorf("two headings are called %s", name)
		}
		headings[name] = true
	}
	for _, link := range regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(page, -1) {
		if !headings[link[1]] {
			t.Errorf("a link leads to %s", link[1])
		}
	}
	fences := regexp.MustCompile("(?ms)^```toml\n(.*?)^```$").FindAllStringSubmatch(page, -1)
	if len(fences) <= len(format.Kinds()) {
		t.Errorf("has %d examples", len(fences))
	}
	for _, f := range fences {
		var file map[string]any
		if err := toml.Unmarshal([]byte(f[1]), &file); err != nil {
			t.Errorf("%s\n%v", f[1], err)
		}
	}
	columns, pipe := 0, regexp.MustCompile(`(^|[^\\])\|`)
	for line := range strings.Lines(page) {
		n := len(pipe.FindAllString(line, -1))
		switch {
		case !strings.HasPrefix(line, "|"):
			columns = 0
		case columns == 0:
			columns = n
		case n != columns:
			t.Errorf("has a row of %d columns in a table of %d: %s", n-1, columns-1, line)
		}
	}
	if strings.Contains(page, "<!--") {
		t.Error("a mark was not replaced")
	}
}

// TestConfigTellsEveryKey checks that each key of each kind is on the page, in a row
// or as a key to replace.
func TestConfigTellsEveryKey(t *testing.T) {
	page := config(t)
	for _, k := range format.Kinds() {
		for _, key := range k.Keys() {
			if !strings.Contains(page, "`"+key.Name+"`") {
				t.Errorf("does not tell of %s %s", k.Name, key.Name)
			}
		}
	}
	for _, want := range []string{
		"| `storage_driver` | text | `configmap` | Where Helm stores its release records, in the namespace of the release. " +
			"nuon means the same as configmap. The default is helm_driver of runner.toml. One of `configmap`, `secret`, " +
			"`nuon`. [Template](#templates). |\n",
		"| `values_file.contents` | text |  | The values, as YAML. Older: `source`. [Template](#templates). " +
			"[File](#references-to-files). |\n",
		"| `format` | text |  | Encoding of the value; base64 is decoded before the value is copied. One of nothing, " +
			"`base64`. |\n",
		"Besides, the keys that all components have: [component](#component).",
		"`components/*.toml` with `type = \"helm_chart\"`", "| `unknown-key` | Every key is part of the format. |",
		"Its keys: [role](#role), without `type`.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("lacks %q", want)
		}
	}
}

// TestNoEffect checks that the page marks a kind, or a key in its example, as having
// no effect yet exactly if package appconfig warns of it.
func TestNoEffect(t *testing.T) {
	metadata, _ := format.FindKind("metadata")
	sandbox, _ := format.FindKind("sandbox")
	for _, k := range format.Kinds() {
		if k.Name == "full" || k.Name == "component" {
			continue // a combination of other kinds
		}
		file := strings.ReplaceAll(k.Paths[0], "*", "x")
		files := fstest.MapFS{"metadata.toml": {Data: []byte(metadata.ExampleFile())},
			"sandbox.toml": {Data: []byte(sandbox.ExampleFile())}}
		files[file] = &fstest.MapFile{Data: []byte(k.ExampleFile())}
		_, found := appconfig.Load(files, appconfig.Options{})
		warned := slices.ContainsFunc(found, func(d diagnostic.Diagnostic) bool {
			return d.File == file && d.Rule == format.RuleNoEffectYet && strings.HasPrefix(d.Message, "accepted, no effect yet")
		})
		idle := k.NoEffectYet || slices.ContainsFunc(k.Keys(), func(key format.Key) bool {
			return key.NoEffectYet && regexp.MustCompile(`(?m)^\[*`+key.Name+`\b`).MatchString(k.ExampleFile())
		}) || strings.Contains(k.ExampleFile(), "cron_schedule")
		if warned != idle {
			t.Errorf("%s: without effect on the page is %v, by its warning %v", k.Name, idle, warned)
		}
	}
}
