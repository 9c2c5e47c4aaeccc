package rego_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/rego"
	"github.com/nuon-toolkit/nuon/pkg/policy/source/sourcetest"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

const good = `package nuon

deny contains msg if {
	some change in input.plan.resource_changes
	change.type == "aws_db_instance"
	"delete" in change.change.actions
	msg := sprintf("%s is deleted", [change.address])
}
`

func TestCheckSaysWhatIsWrong(t *testing.T) {
	sourcetest.Golden(t, "testdata/check.txtar", rego.Check)
}

func TestLineEndsAndByteOrderMarkAreNoMistakes(t *testing.T) {
	for _, text := range []string{strings.ReplaceAll(good, "\n", "\r\n"), "\uFEFF" + good,
		"\uFEFF# later\r\n\r\n" + good} {
		if found := rego.Check("p.rego", text); found != nil {
			t.Errorf("%q: %v", text[:10], found)
		}
	}
}

func TestUsualFormsAreNotTooIntricate(t *testing.T) {
	var equalities strings.Builder
	for i := range 60 {
		equalities.WriteString("\t" + name(i+1) + " = " + name(i) + "\n")
	}
	for name, body := range map[string]string{
		"taken apart":       "x := input.plan.x\n[a, b] = x\n{\"k\": c, \"l\": d} = a\n[d, c] = b",
		"taken apart by :=": "x := input.plan.x\n[a, b] := x\n[c, d] := a",
		"same names inside": "x := [x | x := [x | x := input.plan.x[_]][_]]\ny := [y | some y in x; y != 1]",
		"equalities":        equalities.String() + "\txa = 1",
		"shadowed":          "w := [v | some v in input.plan.a]\nv := [w, w]\ncount(v) > 0",
		"several comprehensions": "a := {v | some v in input.plan.a}\nb := {v | some v in a}\nc := a & b\nd := [v | some v " +
			"in c; v in b]\ncount(d) > 0",
		"v0 comprehensions": "a := {v | v = input.plan.a[_]}\nb := {v | v = a[_]}\nc := a & b\nd := {v | v = c[_]}\ne := d " +
			"| c\nf := {v | v = e[_]}\ng := [f, e, d]\nh := {v | v = g[_]}",
		"a list of what is allowed": "x := {" + strings.Repeat("\"ami-1\", ",
			5000) + "\"b\"}\ny := {" + strings.Repeat("\"a\": 1.5, ", 50) + "\"b\": 1}\nx[y]",
	} {
		text := "package nuon\ndeny contains \"x\" if {\n" + body + "\n}\n"
		if said := sourcetest.Format(rego.Check("p.rego", text)); strings.Contains(said, "rego-limit") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

func TestCheckRefusesTextsThatAreMadeToTakeLong(t *testing.T) {
	chain := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.NewReplacer("NEXT", name(i+1), "THIS", name(i)).Replace(format))
		}
		return b.String()
	}
	tests := []struct{ name, text, want string }{
		{"size", "package nuon\n" + strings.Repeat("# x\n", 1<<18), "bytes, more than"},
		{"brackets", "package nuon\nx := " + strings.Repeat("[", 200) + strings.Repeat("]", 200),
			"nested more than 100 deep"},
		{"open brackets", "package nuon\nx := " + strings.Repeat("{[(", 300000), "nested more than 100 deep"},
		{"comprehensions", "package nuon\ndeny contains x if x := " + strings.Repeat("[y | y := ",
			30) + "1" + strings.Repeat("]", 30), "more than 6 deep"},
		{"template strings", "package nuon\ndeny contains " + strings.Repeat("$`{",
			30) + "1" + strings.Repeat("}`", 30), "more than 6 deep"},
		{"rules", "package nuon\n" + strings.Repeat("deny contains \"x\" if input.a\n", 1001), "more than 1000 rules"},
		{"else", "package nuon\ndeny if input.a" + strings.Repeat(" else if input.a", 1001), "more than 1000 rules"},
		{"conditions", "package nuon\ndeny contains \"x\" if {" + strings.Repeat("input.a\n",
			400) + "}", "too many conditions"},
		{"terms", "package nuon\nx := [" + strings.Repeat("1,", 50_001) + "1]", "more than 50000 terms"},
		{"literals", "package nuon\nx := [" + strings.Repeat("{1},", 5001) + "1]", "more than 5000 objects"},
		{"doubled types", "package nuon\ndeny contains \"x\" if {\nxa := 1\n" + chain("NEXT := [THIS, THIS]\n", 60) +
			"abs(" + name(60) + ")\n}", "copies of copies"},
		{"doubled types, backwards", "package nuon\ndeny contains \"x\" if {\n" +
			backwards(chain("NEXT = [THIS, THIS]\n", 60)) + "xa = 1\nabs(" + name(60) + ")\n}", "copies of copies"},
		{"doubled rules", "package nuon\nxa := 1\n" + chain("NEXT := [data.nuon.THIS, THIS]\n",
			60) + "deny contains \"x\" if abs(" + name(60) + ")", "copies of copies"},
		{"doubled functions", "package nuon\nxa(x) := x\n" + chain("NEXT(x) := [THIS(x), THIS(x)]\n",
			60) + "deny contains \"x\" if abs(" + name(60) + "(1))", "copies of copies"},
		{"a long number", "package nuon\nx := " + strings.Repeat("9", 1_000_000), "more than 100 digits"},
		{"numbers of one hash", "package nuon\nx := {" + strings.Repeat("9999999999999999999, ", 2000) + "1}",
			"more than 100 numbers"},
		{"fractions of one hash", "package nuon\nx := {" + strings.Repeat("1.25, ", 2000) + "1}",
			"more than 100 numbers"},
		{"lists of one hash", "package nuon\nx := {" + strings.Repeat("[1, 2], ", 5000) + "1}", "too many elements"},
		{"keys of one hash", "package nuon\nx := {" + strings.Repeat("[1, 2]: \"a\", ",
			5000) + "1: 1}", "too many elements"},
		{"not UTF-8", "package nuon\n# \xff\n", "not UTF-8"},
		{"nul", "package nuon\x00", "null"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var found []diagnostic.Diagnostic
			testtime.CheckCPUCost(t, 10_000, func() { found = rego.Check("p.rego", test.text) })
			sourcetest.CheckUsable(t, test.text, found)
			if said := diagnostic.Diagnostics(found).String(); !strings.Contains(said, test.want) {
				t.Errorf("said %q, not %q", said, test.want)
			}
		})
	}
}

func name(i int) string { return "x" + strings.Repeat("i", i%10) + string(rune('a'+i/10)) }

func backwards(lines string) string {
	all := strings.SplitAfter(lines, "\n")
	slices.Reverse(all)
	return strings.Join(all, "")
}

func TestReadGivesWhatAPolicyDeclares(t *testing.T) {
	module, found := rego.Read("p.rego",
		"package nuon\nimport input.image as i\nwarn contains input.plan.x if input.review\npass if { input.plan; i }\n"+
			"deny contains \"x\" if input[\"tag\"][input.plan.y]\n", nil)
	if found != nil {
		t.Fatal(found)
	}
	module.AST = nil
	want := &rego.Module{Version: rego.V1, Rules: []string{"deny", "warn", "pass"}, Inputs: []rego.Input{
		{Root: "image", Line: 2, Column: 8}, {Root: "plan", Line: 3, Column: 15}, {Root: "review", Line: 3, Column: 31},
		{Root: "tag", Line: 5, Column: 22},
	}}
	if diff := cmp.Diff(want, module); diff != "" {
		t.Error(diff)
	}
}

func TestReadTellsTheVersion(t *testing.T) {
	for text, want := range map[string]string{good: rego.V1,
		"package nuon\ndeny[m] { m := \"x\" }": rego.V0, "# later": rego.V1} {
		module, found := rego.Read("p.rego", text, nil)
		if module == nil || module.Version != want {
			t.Errorf("%q: %+v, %v", text, module, found)
		}
	}
}

func TestCheckForWarnsOfInputsThatAreNeverThere(t *testing.T) {
	text := "package nuon\ndeny contains \"x\" if {\n\tinput.plan.a\n\tinput.review.object.b\n\tinput.review.object.c\n" +
		"\tinput[input.plan.d]\n}"
	want := "4:2+12 warning rego-input: input.review is never there: a policy of this type sees input.plan\n\tread " +
		"input.plan, or change the policy's type\n"
	if diff := cmp.Diff(want,
		sourcetest.Format(rego.CheckFor("p.rego", text, rego.Inputs("terraform_module")))); diff != "" {
		t.Error(diff)
	}
	if found := rego.CheckFor("p.rego", text, rego.Inputs("kubernetes_cluster")); found != nil {
		t.Errorf("of a type whose inputs are not known: %v", found)
	}
}

func TestCapabilitiesHaveNothingForbidden(t *testing.T) {
	for _, version := range []string{rego.V0, rego.V1} {
		c := rego.Capabilities(version)
		for _, b := range c.Builtins {
			if slices.Contains([]string{"http.send", "json.match_schema", "json.verify_schema", "net.lookup_ip_addr",
				"opa.runtime", "rego.parse_module", "trace"}, b.Name) {
				t.Errorf("%s: %s", version, b.Name)
			}
		}
		if c.AllowNet == nil {
			t.Errorf("%s: schemas may be fetched from anywhere", version)
		}
	}
}

// TestCheckOfAnyRules combines words of the language in random order. The diagnostics must be
// sound.
func TestCheckOfAnyRules(t *testing.T) {
	words := []string{"deny", "warn", "contains", "if", "msg", "{", "}", "[", "]", "(", ")", ":=", "=", "==", "some",
		"in", "every", "not", "with", "as", "input", ".plan", "else", "default", "import",
		"data", ".lib", "|", ",", ";", "\n", "\"x\"", "`y`", "$\"{", "1", "1e400", "true", "null", "_", "x", "y",
		"http.send", "#", "package", "nuon", ":", "&", "-", "é", "\x00"}
	rapid.Check(t, func(r *rapid.T) {
		text := "package nuon\n" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 60).Draw(r, "words"), " ")
		found := rego.Check("p.rego", text)
		sourcetest.CheckUsable(t, text, found)
		if module, again := rego.Read("p.rego",
			text, nil); (module == nil) != diagnostic.Diagnostics(again).HasErrors() || len(again) != len(found) {
			r.Fatalf("Read and Check differ: %v, %v", found, again)
		}
	})
}

func FuzzCheck(f *testing.F) {
	f.Add(good)
	f.Add("package nuon\n\ndeny[msg] {\n\tinput.plan.x\n\tmsg := \"no\"\n}\n")
	f.Add("package nuon\nimport rego.v1\nwarn contains {\"msg\": $`{input.x}`} if { every x in [1] { x }; some k, v in " +
		"input.plan } else := 1")
	f.Add("package nuon\ndeny := {x: [y | y := input[_]] | some x in {1, 2} } with input.a as 1")
	f.Fuzz(func(t *testing.T, text string) {
		sourcetest.CheckUsable(t, text, rego.Check("p.rego", text))
	})
}

func BenchmarkCheck(b *testing.B) {
	for b.Loop() {
		if rego.Check("p.rego", good) != nil {
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
	files, err := filepath.Glob(filepath.Join(root, "*", "policies", "*.rego"))
	if err != nil {
		t.Fatal(err)
	}
	warnings := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := rego.Check(file, string(text))
		wrong, warned := diagnostic.Diagnostics(found).Count()
		if warnings += warned; wrong > 0 {
			t.Errorf("%s", diagnostic.Diagnostics(found))
		}
	}
	t.Logf("%d policies, %d warnings", len(files), warnings)
}
