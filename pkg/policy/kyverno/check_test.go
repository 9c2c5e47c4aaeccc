package kyverno_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/kyverno"
	"github.com/nuon-toolkit/nuon/pkg/policy/source/sourcetest"
)

const good = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: no-host-network
spec:
  validationFailureAction: Enforce
  rules:
    - name: host-network
      match:
        any:
          - resources:
              kinds: [Pod]
      validate:
        message: "{{ request.object.metadata.name }} uses the host's network"
        pattern:
          spec:
            =(hostNetwork): "false"
`

func TestCheckSaysWhatIsWrong(t *testing.T) {
	sourcetest.Golden(t, "testdata/check.txtar", kyverno.Check)
}

func TestLineEndsAndByteOrderMarkAreNoMistakes(t *testing.T) {
	for _, text := range []string{strings.ReplaceAll(good, "\n", "\r\n"), "\uFEFF" + good} {
		if found := kyverno.Check("p.yaml", text); found != nil {
			t.Errorf("%q: %v", text[:10], found)
		}
	}
}

func TestReadGivesThePolicies(t *testing.T) {
	policies, found := kyverno.Read("p.yaml", good+"---\n"+strings.Replace(good, "Enforce", "Audit", 1))
	if found != nil || len(policies) != 2 {
		t.Fatalf("%d policies, %v", len(policies), found)
	}
	p := policies[1]
	rule := p.Spec.Rules[0]
	if p.Metadata.Name != "no-host-network" || p.Spec.ValidationFailureAction != "Audit" ||
		rule.Match.Any[0].Resources.Kinds[0] != "Pod" || rule.Validate.Pattern == nil {
		t.Errorf("%+v", p)
	}
	old, _ := kyverno.Read("p.yaml", strings.Replace(good, "      validate:\n",
		"      preconditions:\n        - {key: a, operator: Equals, value: b}\n      validate:\n", 1))
	if conditions := old[0].Spec.Rules[0].Preconditions; len(conditions.All) != 1 ||
		conditions.All[0].Operator != "Equals" {
		t.Errorf("conditions of the older form: %+v", conditions)
	}
	if policies, _ := kyverno.Read("p.yaml", strings.Replace(good, "Enforce", "Sometimes", 1)); policies != nil {
		t.Errorf("policies of a text with errors: %+v", policies)
	}
}

func TestCheckRefusesTextsThatAreMadeToTakeLong(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString(
		"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: a}\nstatus:\n  a: &a0 [x, x]\n")
	for i := range 40 {
		fmt.Fprintf(&laughs, "  a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	tests := []struct{ name, text, want string }{
		{"aliases of aliases", laughs.String(), "more than 100000 values"},
		{"aliases of themselves",
			"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: a}\nspec: &s\n  rules: []\n  " +
				"webhookConfiguration: *s\n", ""},
		{"flow lists", "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nstatus: " + strings.Repeat("[", 5000) +
			strings.Repeat("]", 5000), "100 deep"},
		{"open flow lists", "a: " + strings.Repeat("[", 500000), "kyverno-yaml"},
		{"block lists", strings.Repeat("- ", 300000), ""},
		{"long key", strings.Repeat("a", 1<<19) + ": b", ""},
		{"one long line", "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: a}\nspec: {rules: [" +
			strings.Repeat("{name: 1}, ", 80_000) + "]}", "more like these"},
		{"size", strings.Repeat("# x\n", 1<<19), "policy-size"},
		{"merges into themselves",
			"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: &m {<<: *m, name: a}\nspec: {rules: []}\n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := kyverno.Check("p.yaml", test.text)
			sourcetest.CheckUsable(t, test.text, found)
			if said := sourcetest.Format(found); !diagnostic.Diagnostics(found).HasErrors() ||
				!strings.Contains(said, test.want) {
				t.Errorf("said %q, not %q", said, test.want)
			}
		})
	}
}

// TestCheckOfChangedPolicies removes, duplicates or replaces lines of a valid policy. The
// diagnostics must be sound.
func TestCheckOfChangedPolicies(t *testing.T) {
	pieces := append(strings.SplitAfter(good, "\n"), "  *a\n", "&a\n", "<<: {}\n", "---\n", "  \"{{ request.\": [\n",
		"- - -\n", "? {}\n", "!!int x\n", "spec: \"\\u0085\"\n", "{{ .nuon.x }}\n", "mutate: {foreach: [{}]}\n")
	rapid.Check(t, func(r *rapid.T) {
		lines := strings.SplitAfter(good, "\n")
		for range rapid.IntRange(0, 5).Draw(r, "changes") {
			lines[rapid.IntRange(0, len(lines)-1).Draw(r, "line")] = rapid.SampledFrom(pieces).Draw(r, "piece")
		}
		text := strings.Join(lines, "")
		sourcetest.CheckUsable(t, text, kyverno.Check("p.yaml", text))
	})
}

func FuzzCheck(f *testing.F) {
	f.Add(good)
	f.Add("apiVersion: kyverno.io/v1\nkind: Policy\nmetadata: {name: {{ .nuon.install.id }}}\nspec:\n  rules:\n  - " +
		"name: &a r\n    match: {any: [{resources: {kinds: [A/b]}}]}\n    mutate: {foreach: [{list: \"x\", " +
		"patchStrategicMerge: {\"+(a)\": \"{{ element.{a: b} }}\"}}]}\n")
	f.Add("a: &a [*a, *a]\n<<: *a\n--- \n- ? b\n")
	f.Fuzz(func(t *testing.T, text string) {
		sourcetest.CheckUsable(t, text, kyverno.Check("p.yaml", text))
	})
}

func BenchmarkCheck(b *testing.B) {
	for b.Loop() {
		if kyverno.Check("p.yaml", good) != nil {
			b.Fatal("not good")
		}
	}
}

// TestCorpus checks the policies of real apps, if available. None may have an error.
func TestCorpus(t *testing.T) {
	root := os.Getenv("NUON_CORPUS")
	if root == "" {
		t.Log("NUON_CORPUS is not set: nothing to read")
		return
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "policies", "*.y*ml"))
	if err != nil {
		t.Fatal(err)
	}
	warnings := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range kyverno.Check(file, string(text)) {
			if warnings[d.Message]++; d.Severity == diagnostic.Error {
				t.Error(d)
			}
		}
	}
	t.Logf("%d texts, warnings: %v", len(files), warnings)
}
