package document_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/document"
	"github.com/nuon-toolkit/nuon/pkg/policy/source/sourcetest"
)

const good = `{"Version": "2012-10-17", "Statement": [
  {"Sid": "Read", "Effect": "Allow", "Action": ["s3:GetObject"], "Resource": "arn:aws:s3:::{{ .nuon.install.id }}/*", "Condition": {"StringEquals": {"a": "b"}}},
  {"Effect": "Deny", "NotAction": "iam:*", "NotResource": ["*"]}
]}
`

func TestCheckSaysWhatIsWrong(t *testing.T) {
	sourcetest.Golden(t, "testdata/check.txtar", document.Check)
}

func TestLineEndsAndByteOrderMarkAreNoMistakes(t *testing.T) {
	for _, text := range []string{strings.ReplaceAll(good, "\n", "\r\n"), "\uFEFF" + good, "\uFEFF{}", "\r\n"} {
		if found := document.Check("p.json", text); found != nil {
			t.Errorf("%q: %v", text, found)
		}
	}
}

func TestNone(t *testing.T) {
	for text, want := range map[string]bool{"": true, " \n": true, "{}": true, "{ \n }": true, "[]": false,
		"{\"a\": 1}": false, "null": false} {
		if got := document.IsEmpty(text); got != want {
			t.Errorf("None(%q) = %v", text, got)
		}
	}
}

func TestCheckForTakesTheCloudsWord(t *testing.T) {
	text := `{"stage": "GA"}`
	if found := document.CheckFor("p.json", text, document.GCP); found != nil {
		t.Errorf("as a document of GCP: %v", found)
	}
	if found := document.CheckFor("p.json", text, document.AWS); !diagnostic.Diagnostics(found).HasErrors() {
		t.Error("as a document of AWS: nothing")
	}
}

func TestCheckBearsAnything(t *testing.T) {
	for name, text := range map[string]string{
		"deep lists":    strings.Repeat("[", 400000),
		"deep objects":  strings.Repeat(`{"a":`, 100000) + "1" + strings.Repeat("}", 100000),
		"many mistakes": `{"Statement": [` + strings.Repeat(`{"Effekt": 1},`, 20000) + `{}]}`,
		"size":          strings.Repeat(" ", 1<<21),
		"not UTF-8":     "{\"a\": \"\xff\"}",
		"nul":           "{\x00}",
		"open":          strings.Repeat("{{ \"", 200000),
		"expressions":   `{"Statement": [` + strings.Repeat("{{ .nuon.x }},", 70000) + "{{ .nuon.x }}]}",
		"escapes":       `{"` + strings.Repeat(`\"`, 300000) + `": "` + strings.Repeat(`\\`, 200000) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			found := document.Check("p.json", text)
			sourcetest.CheckUsable(t, text, found)
			if len(found) > 60 || name != "expressions" && !diagnostic.Diagnostics(found).HasErrors() {
				t.Errorf("said %d things", len(found))
			}
		})
	}
}

func TestValuesOfADocumentAreNotRepeated(t *testing.T) {
	const secret = "AKIAsecretAKIAsecret"
	text := `{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"StringEqual": {"a": {"b": "` + secret + `"}}}}, "Version": 1} "` + secret + `"`
	if said := sourcetest.Format(document.Check("p.json", text)); strings.Contains(said, secret) {
		t.Error(said)
	}
}

// TestCheckOfChangedDocuments changes a valid document in some places. The diagnostics must be
// sound.
func TestCheckOfChangedDocuments(t *testing.T) {
	pieces := []string{"", ",", "{", "}", "[", "]", `"`, `\`, "{{", "}}", "{{ .x }}", "{{ if .x }}", "{{ end }}", "\n",
		"é", "null", "1e9", ":", "\x00", `"Sid": "Read"`}
	rapid.Check(t, func(r *rapid.T) {
		text := good
		for range rapid.IntRange(0, 4).Draw(r, "changes") {
			from := rapid.IntRange(0, len(text)).Draw(r, "from")
			to := min(len(text), from+rapid.IntRange(0, 8).Draw(r, "length"))
			text = strings.ToValidUTF8(text[:from]+rapid.SampledFrom(pieces).Draw(r, "piece")+text[to:], "")
		}
		sourcetest.CheckUsable(t, text, document.Check("p.json", text))
	})
}

func FuzzCheck(f *testing.F) {
	f.Add(good)
	f.Add(`{"Statement": {{ if .nuon.x }}[]{{ else }}{}{{ end }}}`)
	f.Add(`{"Statement": [{{ toJson .nuon.x }}, "{{ index .nuon "a" }}"], "includedPermissions": 1, "a": "\u00e9\"\\"}`)
	f.Fuzz(func(t *testing.T, text string) {
		sourcetest.CheckUsable(t, text, document.Check("p.json", text))
	})
}

func BenchmarkCheck(b *testing.B) {
	for b.Loop() {
		if document.Check("p.json", good) != nil {
			b.Fatal("not good")
		}
	}
}

// TestCorpus checks the documents of real apps, if available. None may have an error.
func TestCorpus(t *testing.T) {
	root := os.Getenv("NUON_CORPUS")
	if root == "" {
		t.Log("NUON_CORPUS is not set: nothing to read")
		return
	}
	count, warnings := 0, 0
	check := func(name, text string) {
		count++
		for _, d := range document.Check(name, text) {
			if warnings++; d.Severity == diagnostic.Error {
				t.Error(d)
			}
		}
	}
	for _, pattern := range []string{"*/permissions/*.json", "*/permissions/*.toml",
		"*/permissions.toml", "*/break_glass.toml"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, ".json") {
				check(file, string(text))
				continue
			}
			var tree map[string]any
			if err := toml.Unmarshal(text, &tree); err != nil {
				t.Fatal(file, err)
			}
			inline(tree, func(text string) { check(file, text) })
		}
	}
	t.Logf("%d documents, %d warnings", count, warnings)
}

// inline finds the documents that are contained in a role's file.
func inline(tree any, check func(text string)) {
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			if text, ok := value.(string); ok && (key == "contents" || key == "permissions_boundary") &&
				!strings.HasPrefix(text, ".") {
				check(text)
			}
			inline(value, check)
		}
	case []any:
		for _, one := range tree {
			inline(one, check)
		}
	}
}
