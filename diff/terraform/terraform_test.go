package terraform_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terraform"
)

func TestBadPlans(t *testing.T) {
	resource := func(change string) string {
		return `{"format_version":"1.2","resource_changes":[{"address":"a.b","mode":"managed","type":"a","name":"b"` + change + `}]}`
	}
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", "ends too early"},
		{"not JSON", "Terraform will perform", "not valid JSON"},
		{"a list", "[]", "not a JSON object"},
		{"cut off", `{"format_version":"1.2","resource_changes":[{"address":"a"`, "in resource_changes, at byte"},
		{"cut off between sections", `{"format_version":"1.2",`, "ends too early"},
		{"no version", `{}`, "no format_version"},
		{"a newer version", `{"format_version":"2.0"}`, "update nuon"},
		{"more after the end", `{"format_version":"1.2"}{}`, "more after its end"},
		{"noise after the end", `{"format_version":"1.2"}x`, "not valid JSON"},
		{"a section twice", `{"format_version":"1.2","resource_changes":[],"resource_changes":[]}`, "comes twice"},
		{"a section of the wrong type", `{"format_version":"1.2","resource_changes":{}}`, "not a list"},
		{"a field of the wrong type", `{"format_version":1}`, "wrong type"},
		{"no change", resource(""), "no change"},
		{"an unknown action", resource(`,"change":{"actions":["explode"]}`), "a.b: not a Terraform plan"},
		{"no action", resource(`,"change":{"actions":[]}`), "not known"},
		{"an unknown output action", `{"format_version":"1.2","output_changes":{"o":{"actions":["melt"]}}}`, `output "o"`},
		{"a deferred nothing", `{"format_version":"1.2","deferred_changes":[{"reason":"x"}]}`, "deferred"},
		{"too deep", `{"format_version":"1.2","variables":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}", "not valid JSON"},
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
	const plan = `{"format_version":"1.2"}`
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
		if _, err := terraform.Report(strings.NewReader(in), terraform.Options{}); err == nil || strings.Contains(err.Error(), "planted") {
			t.Errorf("got %v", err)
		}
	}
}

func TestApplyable(t *testing.T) {
	const outputs = `"output_changes":{"o":{"actions":["create"],"before":null,"after":1}}`
	for in, want := range map[string]bool{
		`{"format_version":"1.2"}`:                                     false,
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

// TestFields is the comparison, value by value, as a person reads it.
func TestFields(t *testing.T) {
	for _, c := range []struct {
		name   string
		change string
		want   []string
	}{
		{"null and a value", `"before":{"a":null},"after":{"a":"x"}`, []string{`a: null → "x"`}},
		{"a key goes and comes", `"before":{"t":{"a":1}},"after":{"t":{"b":1}}`, []string{`t.a: 1 → (none)`, `t.b: (none) → 1`}},
		{"an empty object comes", `"before":{"a":{}},"after":{"a":{"b":{}}}`, []string{`a.b: (none) → {}`}},
		{"null, then empty", `"before":{"a":null},"after":{"a":[]}`, []string{`a: null → []`}},
		{"another type", `"before":{"a":{"b":1}},"after":{"a":"x"}`, []string{`a: {"b":1} → "x"`}},
		{"another type with a mark inside", `"before":{"a":{"b":"pw"}},"after":{"a":"x"},"before_sensitive":{"a":{"b":true}}`, []string{`a: (sensitive, changed)`}},
		{"one in front", `"before":{"l":["a","b","c"]},"after":{"l":["z","a","b","c"]}`, []string{`l[0]: (none) → "z"`}},
		{"one in the middle goes", `"before":{"l":["a","b","c"]},"after":{"l":["a","c"]}`, []string{`l[1]: "b" → (none)`}},
		{"null elements", `"before":{"l":[null]},"after":{"l":[]}`, []string{`l[0]: null → (none)`}},
		{"named objects", `"before":{"l":[{"name":"a","v":1},{"name":"b","v":1}]},"after":{"l":[{"name":"c","v":1},{"name":"b","v":2}]}`,
			[]string{`l[0].name: (none) → "c"`, `l[0].v: (none) → 1`, `l[1].v: 1 → 2`, `l[0].name: "a" → (none)`, `l[0].v: 1 → (none)`}},
		{"unnamed objects", `"before":{"l":[{"v":1}]},"after":{"l":[{"v":2}]}`, []string{`l[0].v: 1 → 2`}},
		{"places change", `"before":{"l":["a","b"]},"after":{"l":["b","a"]}`, []string{`l[0]: "a" → (none)`, `l[1]: (none) → "a"`}},
		{"an element is unknown", `"before":{"l":["a","b"]},"after":{"l":["a",null]},"after_unknown":{"l":[false,true]}`, []string{`l[1]: "b" → (known after apply)`}},
		{"an attribute is unknown", `"before":{"a":"x","b":1},"after":{"b":1},"after_unknown":{"a":true}`, []string{`a: "x" → (known after apply)`}},
		{"a nested one is unknown and new", `"before":{"a":{}},"after":{"a":{}},"after_unknown":{"a":{"b":true}}`, []string{`a.b: (known after apply)`}},
		{"sensitive element", `"before":{"l":["a","pw"]},"after":{"l":["a","pw2"]},"before_sensitive":{"l":[false,true]},"after_sensitive":{"l":[false,true]}`, []string{`l[1]: (sensitive, changed)`}},
		{"only the mark changes", `"before":{"a":"x"},"after":{"a":"x"},"after_sensitive":{"a":true}`, []string{`a: (sensitive, unchanged)`}},
		{"all sensitive", `"before":{"a":1},"after":{"a":2},"before_sensitive":true,"after_sensitive":true`, []string{`value: (sensitive, changed)`}},
		{"odd keys", `"before":{"t":{"a b":1,"":1,"x\"y":1}},"after":{"t":{}}`, []string{`t[""]: 1 → (none)`, `t["a b"]: 1 → (none)`, `t["x\"y"]: 1 → (none)`}},
		{"large numbers", `"before":{"a":12345678901234567890},"after":{"a":12345678901234567891}`, []string{`a: 12345678901234567890 → 12345678901234567891`}},
		{"marks of the wrong shape", `"before":{"a":1},"after":{"a":2},"after_unknown":[true],"before_sensitive":{"a":{"b":true}},"after_sensitive":"x"`, []string{`a: (sensitive, changed)`}},
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

// TestDeepValuesAreComparedWhole: depth is bounded and nothing is lost by it.
func TestDeepValuesAreComparedWhole(t *testing.T) {
	deep := func(leaf string) string {
		return strings.Repeat(`{"a":`, 3000) + leaf + strings.Repeat("}", 3000)
	}
	plan := `{"format_version":"1.2","resource_changes":[{"address":"a.b","change":{"actions":["update"],"before":` + deep("1") + `,"after":` + deep("2") + `}}]}`
	r, err := terraform.Report(strings.NewReader(plan), terraform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if fields := r.Changes[0].Fields; len(fields) != 1 || strings.Count(fields[0].Path, "a") != 64 || fields[0].Before.Sum == fields[0].After.Sum {
		t.Errorf("fields %.300v", fields)
	}
}

func TestReplaceReasons(t *testing.T) {
	for _, c := range []struct{ more, paths, want string }{
		{`"action_reason":"replace_because_cannot_update"`, `[["a"]]`, "a changed"},
		{`"action_reason":"replace_because_cannot_update"`, `[["a"],["a"],["b",0,"c"],["d"],["e"],["f"]]`, "a, b[0].c, d and 2 more changed"},
		{`"action_reason":"replace_because_cannot_update"`, `[]`, "it cannot change in place"},
		{`"action_reason":"replace_by_triggers"`, `[["a"]]`, "something in its replace_triggered_by changes"},
		{`"action_reason":"replace_by_request"`, `null`, "someone asked for a replacement"},
		{`"action_reason":"of_a_later_version"`, `null`, ""},
	} {
		plan := `{"format_version":"1.2","resource_changes":[{"address":"a.b",` + c.more + `,"change":{"actions":["delete","create"],"before":{"a":1},"after":{"a":2},"replace_paths":` + c.paths + `}}]}`
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

// TestCopiesOfSensitiveValuesAreMasked: a provider that copies a sensitive attribute into one that is not marked must not undo
// the mark, nor may a root variable that is declared as sensitive come out elsewhere.
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

// generated is a plan of n resources, of which every tenth changes.
func generated(b *testing.B, n int) []byte {
	b.Helper()
	type m = map[string]any
	var list []any
	for i := range n {
		before := m{"id": fmt.Sprint("i-", i), "tags": m{"owner": "team", "n": i}, "password": "pw", "ports": []any{80, 443}}
		after, actions := before, []string{"no-op"}
		if i%10 == 0 {
			after = m{"id": before["id"], "tags": m{"owner": "other", "n": i}, "password": "pw", "ports": []any{80, 8443, 443}}
			actions = []string{"update"}
		}
		list = append(list, m{"address": fmt.Sprintf("module.m[%d].aws_instance.a", i), "mode": "managed", "type": "aws_instance", "name": "a",
			"change": m{"actions": actions, "before": before, "after": after, "after_unknown": m{}, "before_sensitive": m{"password": true}, "after_sensitive": m{"password": true}}})
	}
	data, err := json.Marshal(m{"format_version": "1.2", "resource_changes": list, "planned_values": list, "prior_state": list})
	if err != nil {
		b.Fatal(err)
	}
	return data
}

func BenchmarkReport(b *testing.B) {
	plan := generated(b, 10_000)
	b.Run("report", func(b *testing.B) {
		b.SetBytes(int64(len(plan)))
		for b.Loop() {
			if _, err := terraform.Report(bytes.NewReader(plan), terraform.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(plan)))
		for b.Loop() {
			var v any
			if err := json.Unmarshal(plan, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
