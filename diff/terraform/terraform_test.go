package terraform_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terraform"
)

func TestBadPlans(t *testing.T) {
	resource := func(change string) string {
		return `{"format_version":"1.2","resource_changes":[{"address":"a.b","mode":"managed","type":"a","name":"b"` +
			change + `}]}`
	}
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", "ends too early"},
		{"not JSON", "Terraform will perform", "not valid JSON"},
		{"a list", "[]", "not a JSON object"},
		{"cut off", `{"format_version":"1.2","resource_changes":[{"address":"a"`, "in resource_changes, at byte"},
		{"cut off between sections", `{"format_version":"1.2",`, "ends too early"},
		{"no version", `{}`, "no format_version"},
		{"a newer version", `{"format_version":"2.0"}`, "update nuon"},
		{"a state", `{"format_version":"1.0","terraform_version":"1.9.0","values":{"root_module":{"resources":[]}}}`,
			"it is the JSON of a state; make a plan's with `terraform show -json PLANFILE`"},
		{"a state of outputs, with the section of a plan",
			`{"format_version":"1.0","values":{"outputs":{}},"resource_changes":[]}`, "of a state"},
		{"an empty state", `{"format_version":"1.0"}`, "it has no section of a plan"},
		{"a state file", `{"version":4,"terraform_version":"1.9.0","serial":1,"lineage":"a","outputs":{},"resources":[]}`,
			"of a state file"},
		{"a list of schemas", `{"format_version":"1.0","provider_schemas":{}}`, "of a list of provider schemas"},
		{"more after the end", `{"format_version":"1.2"}{}`, "more data after its end"},
		{"noise after the end", `{"format_version":"1.2"}x`, "not valid JSON"},
		{"a name twice", resource(`,"change":{"actions":["no-op"],"actions":["delete"]}`),
			"a name occurs twice in one object, in resource_changes, at byte"},
		{"a name twice that only escapes tell apart", resource(`,"change":{"actions":["no-op"],"a\u0063tions":["delete"]}`),
			"a name occurs twice"},
		{"not UTF-8", resource(`,"change":{"actions":["create"],"after":{"a":"` + "\xff" + `"}}`),
			"not valid JSON, in resource_changes"},
		{"an address that is a number", `{"format_version":"1.2","resource_changes":[{},{"address":1}]}`,
			"wrong type, in resource_changes, at byte 47"},
		{"a change that is a list", resource(`,"change":[]`), "wrong type"},
		{"replace paths that are none", resource(`,"change":{"actions":["update"],"replace_paths":{}}`), "wrong type"},
		{"an id that is a number", resource(`,"change":{"actions":["update"],"importing":{"id":1}}`), "wrong type"},
		{"checks that are none", `{"format_version":"1.2","checks":{}}`, "wrong type, in checks"},
		{"relevant attributes that are none", `{"format_version":"1.2","relevant_attributes":[1]}`,
			"wrong type, in relevant_attributes"},
		{"actions that are none", `{"format_version":"1.2","action_invocations":[[]]}`, "wrong type, in action_invocations"},
		{"a module that is none", `{"format_version":"1.2","configuration":{"root_module":[]}}`,
			"wrong type, in configuration"},
		{"a variable that is none", `{"format_version":"1.2","configuration":{"root_module":{"variables":{"a":1}}}}`,
			"wrong type, in configuration"},
		{"a flag that is none", `{"format_version":"1.2","complete":"yes"}`, "wrong type, in complete"},
		{"a section of a later version, cut off", `{"format_version":"1.2","later":[{"a":`, "ends too early, in later"},
		{"a section twice", `{"format_version":"1.2","resource_changes":[],"resource_changes":[]}`, "occurs twice"},
		{"a section of the wrong type", `{"format_version":"1.2","resource_changes":{}}`, "not a list"},
		{"a field of the wrong type", `{"format_version":1}`, "wrong type"},
		{"no change", resource(""), "no change"},
		{"an unknown action", resource(`,"change":{"actions":["explode"]}`), "a.b: not a Terraform plan"},
		{"no action", resource(`,"change":{"actions":[]}`), "not known"},
		{"an unknown output action", `{"format_version":"1.2","output_changes":{"o":{"actions":["melt"]}}}`, `output "o"`},
		{"a deferred nothing", `{"format_version":"1.2","deferred_changes":[{"reason":"x"}]}`, "deferred"},
		{"too deep", `{"format_version":"1.2","variables":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}",
			"not valid JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := terraform.Report(strings.NewReader(c.in), terraform.Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("want an error with %q, got %v", c.want, err)
			}
			if !errors.Is(err, terraform.ErrNotPlan) {
				t.Errorf("%v does not wrap ErrNotPlan", err)
			}
			if r != nil {
				t.Error("there is a report, too")
			}
		})
	}
}

func TestReaderErrorsAndLimit(t *testing.T) {
	broken := errors.New("the pipe broke")
	if _, err := terraform.Report(iotest.ErrReader(broken), terraform.Options{}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	const plan = `{"format_version":"1.2","checks":null}`
	if _, err := terraform.Report(strings.NewReader(plan), terraform.Options{MaxBytes: int64(len(plan))}); err != nil {
		t.Errorf("a plan of exactly the limit: %v", err)
	}
	_, err := terraform.Report(strings.NewReader(plan+" "), terraform.Options{MaxBytes: int64(len(plan))})
	if !errors.Is(err, terraform.ErrNotPlan) || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a plan over the limit: %v", err)
	}
}

func TestErrorsQuoteNoValues(t *testing.T) {
	for _, in := range []string{
		`{"format_version":"1.2","resource_changes":[{"address":"a","change":{"actions":"planted"}}]}`,
		`{"format_version":"1.2","variables":{"x":"planted"}}`,
		`{"format_version":"1.2","resource_changes":[{"address":"a","change":{"before":planted}}]}`,
		`{"format_version":"1.2","output_changes":["planted"]}`,
	} {
		if _, err := terraform.Report(strings.NewReader(in), terraform.Options{}); err == nil ||
			strings.Contains(err.Error(), "planted") {
			t.Errorf("got %v", err)
		}
	}
}

func TestApplyable(t *testing.T) {
	const outputs = `"output_changes":{"o":{"actions":["create"],"before":null,"after":1}}`
	for in, want := range map[string]bool{
		`{"format_version":"1.2","checks":null}`:                       false,
		`{"format_version":"1.2",` + outputs + `}`:                     true,
		`{"format_version":"1.2",` + outputs + `,"applyable":false}`:   false,
		`{"format_version":"1.2","applyable":true}`:                    true,
		`{"format_version":"1.2",` + outputs + `,"errored":true}`:      false,
		`{"format_version":"0.2","resource_changes":null}`:             false,
		`{"format_version":"1.2",` + outputs + `,"resource_drift":[]}`: true,
	} {
		r, err := terraform.Report(strings.NewReader(in), terraform.Options{})
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		if r.Applyable != want {
			t.Errorf("%s: applyable %t, want %t", in, r.Applyable, want)
		}
	}
}

// TestFields shows the comparison of single values as a person reads it.
func TestFields(t *testing.T) {
	for _, c := range []struct {
		name   string
		change string
		want   []string
	}{
		{"null and a value", `"before":{"a":null},"after":{"a":"x"}`, []string{`a: null → "x"`}},
		{"a key goes and comes", `"before":{"t":{"a":1}},"after":{"t":{"b":1}}`,
			[]string{`t.a: 1 → (none)`, `t.b: (none) → 1`}},
		{"an empty object comes", `"before":{"a":{}},"after":{"a":{"b":{}}}`, []string{`a.b: (none) → {}`}},
		{"null, then empty", `"before":{"a":null},"after":{"a":[]}`, []string{`a: null → []`}},
		{"another type", `"before":{"a":{"b":1}},"after":{"a":"x"}`, []string{`a: {"b":1} → "x"`}},
		{"another type with a mark inside", `"before":{"a":{"b":"pw"}},"after":{"a":"x"},"before_sensitive":{"a":{"b":true}}`,
			[]string{`a: (sensitive, changed)`}},
		{"one in front", `"before":{"l":["a","b","c"]},"after":{"l":["z","a","b","c"]}`, []string{`l[0]: (none) → "z"`}},
		{"one in the middle goes", `"before":{"l":["a","b","c"]},"after":{"l":["a","c"]}`, []string{`l[1]: "b" → (none)`}},
		{"null elements", `"before":{"l":[null]},"after":{"l":[]}`, []string{`l[0]: null → (none)`}},
		{"named objects", `"before":{"l":[{"name":"a","v":1},{"name":"b","v":1}]},"after":{"l":[{"name":"c","v":1},{"name":"b","v":2}]}`,
			[]string{`l[0].name: (none) → "c"`, `l[0].v: (none) → 1`, `l[1].v: 1 → 2`, `l[0].name: "a" → (none)`,
				`l[0].v: 1 → (none)`}},
		{"unnamed objects", `"before":{"l":[{"v":1}]},"after":{"l":[{"v":2}]}`, []string{`l[0].v: 1 → 2`}},
		{"places change", `"before":{"l":["a","b"]},"after":{"l":["b","a"]}`, []string{`l: ["a","b"] → ["b","a"]`}},
		{"places and a value change", `"before":{"l":["a","b","c"]},"after":{"l":["c","a","d"]}`,
			[]string{`l: ["a","c"] → ["c","a"]`, `l[1]: "b" → (none)`, `l[2]: (none) → "d"`}},
		{"named objects change places",
			`"before":{"l":[{"name":"a"},{"name":"b"}]},"after":{"l":[{"name":"b"},{"name":"a"}]}`,
			[]string{`l: ["a","b"] → ["b","a"]`}},
		{"nameless objects change places", `"before":{"l":[{"v":1},{"v":2}]},"after":{"l":[{"v":2},{"v":1}]}`,
			[]string{`l: [1,2] → [2,1]`}},
		{"objects that nothing tells apart change places",
			`"before":{"l":[{"v":[1]},{"v":[2]}]},"after":{"l":[{"v":[2]},{"v":[1]}]}`, []string{`l: [0,1] → [1,0]`}},
		{"a policy", `"before":{"p":"{\"a\":[1]}"},"after":{"p":"{\"a\":[1,2],\"b\":null}"}`,
			[]string{`p (json) a[1]: (none) → 2`, `p (json) b: (none) → null`}},
		{"a policy comes", `"before":{"p":null},"after":{"p":"{\"a\":{\"b c\":1}}"}`,
			[]string{`p (json) a["b c"]: (none) → 1`}},
		{"JSON in JSON in base64", `"before":{"p":"eyJhIjoie1wiYlwiOjF9In0="},"after":{"p":"eyJhIjoie1wiYlwiOjJ9In0="}`,
			[]string{`p (base64) (json) a (json) b: 1 → 2`}},
		{"a sensitive policy is not looked into",
			`"before":{"p":"{\"a\":1}"},"after":{"p":"{\"a\":2}"},"after_sensitive":{"p":true}`,
			[]string{`p: (sensitive, changed)`}},
		{"nor is one with a mark inside",
			`"before":{"p":"{\"a\":1}"},"after":{"p":"{\"a\":2}"},"before_sensitive":{"p":{"a":true}}`,
			[]string{`p: (sensitive, changed)`}},
		{"an unknown policy is not looked into", `"before":{"p":"{\"a\":1}"},"after":{},"after_unknown":{"p":true}`,
			[]string{`p: "{\"a\":1}" → (known after apply)`}},
		{"text and a policy", `"before":{"p":"x"},"after":{"p":"{\"a\":2}"}`, []string{`p: "x" → "{\"a\":2}"`}},
		{"sensitive elements change places",
			`"before":{"l":["pw1","pw2"]},"after":{"l":["pw2","pw1"]},"before_sensitive":{"l":[true,true]},"after_sensitive":{"l":[true,true]}`,
			[]string{`l: (sensitive, changed)`}},
		{"an element is unknown", `"before":{"l":["a","b"]},"after":{"l":["a",null]},"after_unknown":{"l":[false,true]}`,
			[]string{`l[1]: "b" → (known after apply)`}},
		{"an attribute is unknown", `"before":{"a":"x","b":1},"after":{"b":1},"after_unknown":{"a":true}`,
			[]string{`a: "x" → (known after apply)`}},
		{"a nested one is unknown and new", `"before":{"a":{}},"after":{"a":{}},"after_unknown":{"a":{"b":true}}`,
			[]string{`a.b: (known after apply)`}},
		{"sensitive element", `"before":{"l":["a","pw"]},"after":{"l":["a","pw2"]},"before_sensitive":{"l":[false,true]},"after_sensitive":{"l":[false,true]}`, []string{`l[1]: (sensitive, changed)`}},
		{"only the mark changes", `"before":{"a":"x"},"after":{"a":"x"},"after_sensitive":{"a":true}`,
			[]string{`a: (sensitive, unchanged)`}},
		{"all sensitive", `"before":{"a":1},"after":{"a":2},"before_sensitive":true,"after_sensitive":true`,
			[]string{`value: (sensitive, changed)`}},
		{"odd keys", `"before":{"t":{"a b":1,"":1,"x\"y":1}},"after":{"t":{}}`,
			[]string{`t[""]: 1 → (none)`, `t["a b"]: 1 → (none)`, `t["x\"y"]: 1 → (none)`}},
		{"large numbers", `"before":{"a":12345678901234567890},"after":{"a":12345678901234567891}`,
			[]string{`a: 12345678901234567890 → 12345678901234567891`}},
		{"marks of the wrong shape",
			`"before":{"a":1},"after":{"a":2},"after_unknown":[true],"before_sensitive":{"a":{"b":true}},"after_sensitive":"x"`,
			[]string{`a: (sensitive, changed)`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := `{"format_version":"1.2","resource_changes":[{"address":"a.b","type":"a","name":"b","change":{"actions":["update"],` + c.change + `}}]}`
			r, err := terraform.Report(strings.NewReader(plan), terraform.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, lines(r.Changes[0])); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestFolds checks which fields are folded, and which must never be.
func TestFolds(t *testing.T) {
	for _, c := range []struct{ name, change, want string }{
		{"formatting", `"actions":["update"],"before":{"policy":"{\"a\":1}"},"after":{"policy":"{ \"a\": 1 }"}`,
			"formatting"},
		{"formatting in a block", `"actions":["update"],"before":{"p":[{"redrive_policy":"{\"a\":1}"}]},"after":{"p":[{"redrive_policy":"{ \"a\": 1 }"}]}`, "formatting"},
		{"formatting of a script", `"actions":["update"],"before":{"user_data":"{\"a\":1}"},"after":{"user_data":"{ \"a\": 1 }"}`, ""},
		{"formatting of a policy for a script",
			`"actions":["update"],"before":{"user_data":{"policy":"{\"a\":1}"}},"after":{"user_data":{"policy":"{ \"a\": 1 }"}}`,
			""},
		{"formatting of what a program reads",
			`"actions":["update"],"before":{"content":"{\"a\":1}"},"after":{"content":"{ \"a\": 1 }"}`, ""},
		{"the first line of a script",
			`"actions":["update"],"before":{"policy":"#!/bin/sh\na: 1\n"},"after":{"policy":"#cloud-config\na: 1\n"}`, ""},
		{"formatting that forces a replacement",
			`"actions":["delete","create"],"before":{"policy":"{\"a\":1}"},"after":{"policy":"{ \"a\": 1 }"},"replace_paths":[["policy"]]`, ""},
		{"formatting of what is sensitive",
			`"actions":["update"],"before":{"policy":"{\"a\":1}"},"after":{"policy":"{ \"a\": 1 }"},"before_sensitive":{"policy":true}`, ""},
		{"null and an empty list", `"actions":["update"],"before":{"p":null},"after":{"p":[]}`, "null or empty"},
		{"an empty text and null", `"actions":["update"],"before":{"p":""},"after":{"p":null}`, "null or empty"},
		{"a map of null", `"actions":["update"],"before":{"p":{"k":null}},"after":{"p":{"k":""}}`, "null or empty"},
		{"null and an empty map of tags", `"actions":["update"],"before":{"tags":null},"after":{"tags":{}}`, "null or empty"},
		{"null and an empty object", `"actions":["update"],"before":{"selector":null},"after":{"selector":{}}`, ""},
		{"an empty block that comes", `"actions":["update"],"before":{"p":[]},"after":{"p":[{"custom_response":[]}]}`, ""},
		{"null and false", `"actions":["update"],"before":{"p":null},"after":{"p":false}`, ""},
		{"nothing and empty, where no schema is",
			`"actions":["update"],"before":{"p":{"a":1}},"after":{"p":{"a":1,"podSelector":{}}}`, ""},
		{"an element that is empty", `"actions":["update"],"before":{"p":[]},"after":{"p":[{}]}`, ""},
		{"an empty element of null", `"actions":["update"],"before":{"p":[null]},"after":{"p":[""]}`, ""},
		{"empty in a document", `"actions":["update"],"before":{"p":"{\"a\":null}"},"after":{"p":"{\"a\":[]}"}`, ""},
		{"empty and sensitive", `"actions":["update"],"before":{"p":null},"after":{"p":""},"after_sensitive":{"p":true}`, ""},
		{"empty and not known", `"actions":["update"],"before":{"p":null},"after":{},"after_unknown":{"p":true}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := terraform.Report(
				strings.NewReader(`{"format_version":"1.2","resource_changes":[{"address":"a.b","type":"a","name":"b","change":{`+
					c.change+`}}]}`), terraform.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Validate(); err != nil {
				t.Error(err)
			}
			fields := r.Changes[0].Fields
			if len(fields) != 1 || fields[0].Fold != c.want {
				t.Fatalf("%+v, want one that is folded by %q", fields, c.want)
			}
			if noise := c.want != ""; r.Changes[0].IsNoise() != noise || (r.Totals.Noise == 1) != noise {
				t.Errorf("noise: %t, totals %+v", r.Changes[0].IsNoise(), r.Totals)
			}
		})
	}
	r, err := terraform.Report(strings.NewReader(
		`{"format_version":"1.2","output_changes":{"o":{"actions":["update"],"before":{"a":null},"after":{"a":""}}}}`),
		terraform.Options{})
	if err != nil || r.Outputs[0].Fields[0].Fold != "" {
		t.Errorf("an output is folded: %+v, %v", r, err)
	}
}

func lines(c diff.Change) []string {
	var out []string
	for _, f := range c.Fields {
		before, after := f.Sides(c.Action)
		if before != "" {
			after = before + " → " + after
		}
		out = append(out, f.Name()+": "+after)
	}
	return out
}

// TestDeepValuesAreComparedWhole checks that the depth is bounded without losing a difference.
func TestDeepValuesAreComparedWhole(t *testing.T) {
	deep := func(leaf string) string {
		return strings.Repeat(`{"a":`, 3000) + leaf + strings.Repeat("}", 3000)
	}
	plan := `{"format_version":"1.2","resource_changes":[{"address":"a.b","change":{"actions":["update"],"before":` +
		deep("1") + `,"after":` + deep("2") + `}}]}`
	r, err := terraform.Report(strings.NewReader(plan), terraform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if fields := r.Changes[0].Fields; len(fields) != 1 || strings.Count(fields[0].Path, "a") != 64 ||
		fields[0].Before.Text == fields[0].After.Text {
		t.Errorf("fields %.300v", fields)
	}
}

// TestManyDifferencesAreBounded checks that too many differences become a single one, which is
// masked if any of them is.
func TestManyDifferencesAreBounded(t *testing.T) {
	list := func(n int, element string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
	}
	object := func(n int, value string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"k%d":%s`, i, value)
		}
		return "{" + b.String()[1:] + "}"
	}
	for _, c := range []struct {
		name, before, after, more string
		least, most               int
		masked                    bool
	}{
		{"a list", list(20_000, "1"), list(20_000, "2"), "", 1, 1, false},
		{"a map", object(20_000, "1"), object(20_000, "2"), "", 1, 1, false},
		{"a list of which little changes", list(20_000, "1"), list(20_001, "1"), "", 1, 1, false},
		{"lists of lists", list(300, list(300, "1")), list(300, list(300, "2")), "", 300, 5300, false},
		{"with a secret", list(20_000, "1"), list(20_000, "2"), `,"before_sensitive":{"l":[true]}`, 1, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := report(t, `"resource_changes":[{"address":"a.b","type":"a","name":"b","change":{"actions":["update"],
				"before":{"l":`+c.before+`},"after":{"l":`+c.after+`}`+c.more+`}}]`)
			fields := r.Changes[0].Fields
			if n := len(fields); n < c.least || n > c.most || fields[0].After.Masked != c.masked {
				t.Errorf("%d differences, the first one %.300v", n, fields[0])
			}
		})
	}
}

func TestReplaceReasons(t *testing.T) {
	for _, c := range []struct{ more, paths, want string }{
		{`"action_reason":"replace_because_cannot_update"`, `[["a"]]`, "a changed"},
		{`"action_reason":"replace_because_cannot_update"`, `[["a"],["a"],["b",0,"c"],["d"],["e"],["f"]]`,
			"a, b[0].c, d and 2 more changed"},
		{`"action_reason":"replace_because_cannot_update"`, `[]`, "it cannot change in place"},
		{`"action_reason":"replace_by_triggers"`, `[["a"]]`, "something in its replace_triggered_by changes"},
		{`"action_reason":"replace_by_request"`, `null`, "a replacement was requested"},
		{`"action_reason":"of_a_later_version"`, `null`, ""},
	} {
		plan := `{"format_version":"1.2","resource_changes":[{"address":"a.b",` + c.more +
			`,"change":{"actions":["delete","create"],"before":{"a":1},"after":{"a":2},"replace_paths":` + c.paths + `}}]}`
		r, err := terraform.Report(strings.NewReader(plan), terraform.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Changes[0].Why; got != c.want {
			t.Errorf("%s %s: %q, want %q", c.more, c.paths, got, c.want)
		}
		if r.Changes[0].Risk != diff.RiskReplace || !r.Destructive() {
			t.Error("a replacement is not called one")
		}
	}
}

// TestCopiesOfSensitiveValuesAreMasked checks that a sensitive value stays masked where a provider
// copies it into an unmarked attribute, and that a root variable declared as sensitive appears
// nowhere.
func TestCopiesOfSensitiveValuesAreMasked(t *testing.T) {
	const plan = `{"format_version":"1.2",
		"variables":{"token":{"value":"planted-in-variable"},"region":{"value":"eu-central-1"}},
		"configuration":{"root_module":{"variables":{"token":{"sensitive":true},"region":{}}}},
		"resource_changes":[
			{"address":"a.same","change":{"actions":["no-op"],"before":{"p":"planted-in-state"},"after":{"p":"planted-in-state"},"before_sensitive":{"p":true},"after_sensitive":{"p":true}}},
			{"address":"a.b","change":{"actions":["update"],"before":{"x":"1","y":"1","z":"1"},"after":{"x":"<planted-in-variable>","y":"<planted-in-state>","z":"eu-central-1"}}}]}`
	r, err := terraform.Report(strings.NewReader(plan), terraform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`x: (sensitive, changed)`, `y: (sensitive, changed)`, `z: "1" → "eu-central-1"`}
	if d := cmp.Diff(want, lines(r.Changes[0])); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// generated returns a plan of n resources of realistic size. Every other one changes, and in every
// twentieth the policy.
func generated(b testing.TB, n int) []byte {
	b.Helper()
	type m = map[string]any
	var list, values []any
	for i := range n {
		instance := func(owner, bucket string, ports ...any) m {
			return m{"id": fmt.Sprint("i-", i), "arn": fmt.Sprint("arn:aws:ec2:eu-central-1:123456789012:instance/i-", i),
				"ami":  "ami-0123456789abcdef0",
				"tags": m{"owner": owner, "n": fmt.Sprint(i), "Name": "web"}, "tags_all": m{"owner": owner, "n": fmt.Sprint(i),
					"Name": "web"},
				"password": "a-password-of-all", "ports": ports, "instance_type": "t3.large", "availability_zone": "eu-central-1a",
				"ebs_optimized": false,
				"monitoring":    true, "user_data": nil, "root_block_device": []any{m{"volume_size": 20, "volume_type": "gp3",
					"encrypted": true, "iops": 3000}},
				"policy": fmt.Sprintf(
					`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:Get*"],"Resource":"arn:aws:s3:::%s"}]}`,
					bucket),
				"vpc_security_group_ids": []any{"sg-1", "sg-2"}, "private_ip": fmt.Sprintf("10.0.%d.%d", i/250, i%250),
				"timeouts": nil}
		}
		before := instance("team", "reports", 80, 443)
		after, actions := before, []string{"no-op"}
		if i%2 == 0 {
			bucket := "reports"
			if i%20 == 0 {
				bucket = "archive"
			}
			after, actions = instance("other", bucket, 80, 8443, 443), []string{"update"}
		}
		address := fmt.Sprintf("module.m[%d].aws_instance.a", i)
		list = append(list, m{"address": address, "module_address": fmt.Sprintf("module.m[%d]", i), "mode": "managed",
			"type": "aws_instance", "name": "a", "provider_name": "registry.example.com/hashicorp/aws",
			"change": m{"actions": actions, "before": before, "after": after, "after_unknown": m{},
				"before_sensitive": m{"password": true}, "after_sensitive": m{"password": true}}})
		values = append(values, m{"address": address, "values": after, "sensitive_values": m{"password": true}})
	}
	state := m{"root_module": m{"resources": values}}
	data, err := json.Marshal(m{"format_version": "1.2", "resource_changes": list, "planned_values": state,
		"prior_state": m{"values": state}})
	if err != nil {
		b.Fatal(err)
	}
	return data
}

// BenchmarkReport compares the time of a report with that of encoding/json for the bare values. The
// metric ratio is their quotient.
func BenchmarkReport(b *testing.B) {
	plan := generated(b, 10_000)
	var report, bare time.Duration
	b.SetBytes(int64(len(plan)))
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		if _, err := terraform.Report(bytes.NewReader(plan), terraform.Options{}); err != nil {
			b.Fatal(err)
		}
		report += time.Since(start)
		b.StopTimer()
		start = time.Now()
		var v any
		if err := json.Unmarshal(plan, &v); err != nil {
			b.Fatal(err)
		}
		bare += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(float64(report)/float64(bare), "ratio")
	b.ReportMetric(peak(b, plan)/float64(len(plan)), "peak/input")
}

// peak returns the maximum heap that a report adds at one time, in bytes, as the garbage collector
// measures it.
func peak(b *testing.B, plan []byte) float64 {
	b.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	before, most := stats.HeapAlloc, uint64(0)
	source := &watched{from: bytes.NewReader(plan), watch: func() {
		runtime.ReadMemStats(&stats)
		most = max(most, stats.HeapAlloc)
	}}
	r, err := terraform.Report(source, terraform.Options{})
	if err != nil {
		b.Fatal(err)
	}
	runtime.ReadMemStats(&stats)
	most = max(most, stats.HeapAlloc)
	runtime.KeepAlive(r)
	return float64(most - min(most, before))
}

// watched is a reader that calls watch at each read.
type watched struct {
	watch func()
	from  *bytes.Reader
}

func (w *watched) Read(p []byte) (int, error) {
	w.watch()
	return w.from.Read(p)
}
