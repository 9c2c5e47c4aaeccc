package attacks

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/sample"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// maskedPlaces returns the fields with a masked part in changes of objects other than Secrets.
func maskedPlaces(t *testing.T, before, after []byte) []string {
	t.Helper()
	source := func(data []byte) []manifest.Source {
		if data == nil {
			return nil
		}
		return []manifest.Source{{Name: "a.yaml", Data: data}}
	}
	report, err := kubernetes.Report(source(before), source(after), kubernetes.Options{Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	seen := rendered{report: report}
	for _, c := range seen.changes() {
		if c.ResourceKind == "Secret" {
			continue
		}
		for i := range c.Fields {
			if masks(&c.Fields[i]) {
				out = append(out, c.Address+" "+c.Fields[i].Path)
			}
		}
	}
	slices.Sort(out)
	return out
}

// masks reports whether a field hides a part of its value.
func masks(f *diff.FieldChange) bool {
	text := f.Before.Text + f.After.Text + fmt.Sprint(f.Lines)
	return f.Before.Masked || f.After.Masked ||
		strings.Contains(text, secret.Hidden) || strings.Contains(text, secret.Changed)
}

// TestFalseMasks checks that values that only sound like secrets are shown, when they are added and
// when they change, and that real secrets beside them are masked.
func TestFalseMasks(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/false-masks.yaml.txt")
	if err != nil {
		t.Fatal(err)
	}
	sides := map[string][]byte{}
	for _, f := range archive.Files {
		sides[f.Name] = f.Data
	}
	want := strings.Fields(string(sides["masked"]))
	for name, before := range map[string][]byte{"come": nil, "change": sides["before.yaml"]} {
		var paths []string
		for _, place := range maskedPlaces(t, before, sides["after.yaml"]) {
			paths = append(paths, place[strings.LastIndexByte(place, ' ')+1:])
		}
		slices.Sort(paths)
		if slices.Sort(want); !slices.Equal(paths, want) {
			t.Errorf("%s: masked are %q, want %q", name, paths, want)
		}
	}
}

// TestFalseMasksInRealUpgrades checks that four real upgrades, which have secrets only in Secrets,
// have no other masked values.
func TestFalseMasksInRealUpgrades(t *testing.T) {
	sample.Upgrades(t, "TestFalseMasks has the like in small", func(t *testing.T, old, after []byte) {
		for _, before := range [][]byte{nil, old} {
			if masked := maskedPlaces(t, before, after); len(masked) > 0 {
				t.Errorf("%d places are masked: %q", len(masked), masked)
			}
		}
	})
}

// maskedInApps lists the masked settings in real apps: the password of a chart, and values that are no
// secrets but cannot be distinguished from one.
var maskedInApps = map[string]bool{
	"baserow/components/values/baserow/values.yaml password=baserow":                             true,
	"cde/actions/install-claude-code.toml ANTHROPIC_API_KEY=already":                             true,
	"cde/actions/install-claude-code.toml ANTHROPIC_API_KEY=added":                               true,
	"cde/actions/install-claude-code.toml ANTHROPIC_API_KEY=ANTHROPIC_KEY_VAL":                   true,
	"cde/actions/post-provision-setup.toml ANTHROPIC_API_KEY=ANTHROPIC_KEY_VAL":                  true,
	"clickhouse-tailscale/components/manifests/tailscale_operator.yaml OPERATOR_SECRET=operator": true,
	"data-ops/components/manifests/tailscale_operator.yaml OPERATOR_SECRET=operator":             true,
	"cde/actions/post-provision-setup.toml npassword=VSCODE_PASSWORD_VAL\\ncert:":                true,
}

// TestFalseMasksInRealApps checks that no other setting is masked in the files of real apps:
// configs, chart values, scripts, modules, policies.
func TestFalseMasksInRealApps(t *testing.T) {
	dir := os.Getenv("NUON_CORPUS")
	if dir == "" {
		t.Skip("NUON_CORPUS is not set: TestFalseMasks has the like in small")
	}
	files := 0
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil || bytes.IndexByte(data, 0) >= 0 {
			return err
		}
		files++
		_, settings := secret.Redact(string(data), nil)
		relative, err := filepath.Rel(dir, name)
		for setting := range settings {
			if place := filepath.ToSlash(relative) + " " + setting; !maskedInApps[place] {
				t.Errorf("masked: %s", place)
			}
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files below %s: %v", files, dir, err)
	}
}
