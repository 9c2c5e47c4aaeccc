package terraform_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/sample"
	"github.com/nuon-toolkit/nuon/diff/terraform"
)

// values draws a JSON value of the shapes that providers use.
func values(leaf *rapid.Generator[any], depth int) *rapid.Generator[any] {
	if depth == 0 {
		return leaf
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return values(leaf, depth-1) })
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-d]{1,2}`), inner, 0, 4), func(m map[string]any) any { return m }),
		rapid.Map(rapid.SliceOfN(inner, 0, 3), func(l []any) any {
			named := make([]any, len(l))
			for i, v := range l {
				named[i] = map[string]any{"name": fmt.Sprintf("n%d", i), "value": v}
			}
			return named
		}))
}

func harmless() *rapid.Generator[any] {
	return rapid.OneOf(rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any]("x\ny\nz"),
		rapid.Map(rapid.IntRange(0, 3), func(n int) any { return n }),
		rapid.Map(rapid.StringMatching(`[x-z]{0,2}`), func(s string) any { return s }))
}

func attributes(leaf *rapid.Generator[any]) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(rapid.StringMatching(`[a-d]`), values(leaf, 3), 0, 4)
}

// updatePlan returns a plan of one resource that changes from before to after.
func updatePlan(t interface {
	Helper()
	Fatal(...any)
}, change map[string]any, more map[string]any) []byte {
	t.Helper()
	plan := map[string]any{
		"format_version": "1.2",
		"resource_changes": []any{map[string]any{
			"address": "a.b", "mode": "managed", "type": "a", "name": "b", "change": change,
		}},
	}
	for k, v := range more {
		plan[k] = v
	}
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestFieldsSayIfAndOnlyIf checks that equal values have no fields and different values at least
// one.
func TestFieldsSayIfAndOnlyIf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := attributes(harmless()).Draw(t, "before")
		after := attributes(harmless()).Draw(t, "after")
		if rapid.Bool().Draw(t, "alike") {
			after = before
		}
		plan := updatePlan(t, map[string]any{"actions": []string{"update"}, "before": before, "after": after}, nil)
		r, err := terraform.Report(bytes.NewReader(plan), terraform.Options{})
		if err != nil {
			t.Fatal(err)
		}
		was, _ := json.Marshal(before)
		is, _ := json.Marshal(after)
		fields := r.Changes[0].Fields
		if alike := bytes.Equal(was, is); alike != (len(fields) == 0) {
			t.Fatalf("%s and %s have %d fields: %+v", was, is, len(fields), fields)
		}
		for _, f := range fields {
			if f.Before == f.After {
				t.Fatalf("%s and %s: field %q is the same on both sides: %+v", was, is, f.Path, f)
			}
		}
	})
}

// TestUnknownIsNeverLost checks that every value that is known only after apply has a field.
func TestUnknownIsNeverLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := attributes(harmless()).Draw(t, "before")
		after := map[string]any{}
		unknown := map[string]any{}
		for k, v := range before {
			if rapid.Bool().Draw(t, "unknown "+k) {
				unknown[k] = true
			} else {
				after[k] = v
			}
		}
		plan := updatePlan(t, map[string]any{"actions": []string{"update"}, "before": before, "after": after,
			"after_unknown": unknown}, nil)
		r, err := terraform.Report(bytes.NewReader(plan), terraform.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(r.Changes[0].Fields); got != len(unknown) {
			t.Fatalf("%d fields for %d unknown attributes: %+v", got, len(unknown), r.Changes[0].Fields)
		}
		for _, f := range r.Changes[0].Fields {
			if !f.After.Unknown {
				t.Fatalf("%+v is not unknown", f)
			}
		}
	})
}

// planted draws a leaf that is harmless or contains one of the secrets, in various spellings inside
// some text.
func planted(secrets []string) *rapid.Generator[any] {
	holding := rapid.Custom(func(t *rapid.T) any {
		text := rapid.StringMatching(`[ a-z\n"]{0,6}`).Draw(t, "before") +
			rapid.SampledFrom(secrets).Draw(t, "secret") + rapid.StringMatching(`[ a-z\n"]{0,6}`).Draw(t, "after")
		quoted, _ := json.Marshal(map[string]string{"k": text})
		document := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "some: yaml\nother:\n  - %s\n", quoted))
		return rapid.SampledFrom([]string{text, string(quoted), "[1, " + string(quoted) + "]",
			base64.StdEncoding.EncodeToString([]byte(text)), document}).Draw(t, "spelling")
	})
	return rapid.OneOf(harmless(), holding)
}

// TestNoSecretEverAppears plants secrets in values and keys and searches every rendering for them.
// Some secrets are known; others are marked as sensitive in one place of the plan and unmarked in
// others.
func TestNoSecretEverAppears(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Z0-9!#%]{12,16}`)
		known, marked := secret.Draw(t, "known"), secret.Draw(t, "marked")
		leaf := planted([]string{known, marked})
		side := func(name string) map[string]any {
			m := attributes(leaf).Draw(t, name)
			if rapid.Bool().Draw(t, "key") {
				m["tags"] = map[string]any{"key " + known: "v", marked: 1}
			}
			m["password"] = marked
			return m
		}
		change := map[string]any{
			"actions": rapid.SampledFrom([][]string{{"update"}, {"delete", "create"}, {"create", "delete"}}).Draw(t, "actions"),
			"before":  side("before"), "after": side("after"),
			"before_sensitive": map[string]any{"password": true},
			"replace_paths":    []any{[]any{"tags", "key " + known}, []any{"a", 0}},
			"importing": rapid.SampledFrom([]any{map[string]any{"id": "id " + known},
				map[string]any{"identity": map[string]any{"a": known, marked: "b"}},
				map[string]any{"identity": side("identity")}, map[string]any{"unknown": true}}).Draw(t, "importing"),
			"generated_config": "x = " + known,
		}
		output := map[string]any{"actions": []string{"update"}, "before": leaf.Draw(t, "was"), "after": side("is")}
		drift := map[string]any{
			"address": `a.b["` + marked + `"]`, "previous_address": `a.c["x` + known + `"]`, "mode": "managed", "type": "a",
			"name":   "b",
			"change": map[string]any{"actions": []string{"delete"}, "before": side("lost"), "after": nil},
		}
		plan := updatePlan(t, change, map[string]any{
			"output_changes": map[string]any{"o": output}, "resource_drift": []any{drift},
			"deferred_changes": []any{map[string]any{"reason": known, "resource_change": drift}},
			"checks": []any{map[string]any{"address": map[string]any{"to_display": `check.a["` + marked + `"]`},
				"status": "fail",
				"instances": []any{map[string]any{"address": map[string]any{"to_display": "check.a"}, "status": "fail",
					"problems": []any{map[string]any{"message": "It is " + marked + "."}, map[string]any{"message": known}}}}}},
			"condition_results": []any{map[string]any{"address": "x", "error_message": known}},
			"action_invocations": []any{map[string]any{"address": `action.a.b["` + known + `"]`,
				"lifecycle_action_trigger": map[string]any{"triggering_resource_address": `a.b["` + marked + `"]`,
					"action_trigger_event": known}}},
			"relevant_attributes": []any{map[string]any{"resource": known, "attribute": []any{marked}}},
		})
		r, err := terraform.Report(bytes.NewReader(plan), terraform.Options{
			Secrets: diff.NewSecrets([]byte(known)).Contains, TagKey: []byte("k"),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		find := diff.NewSecrets([]byte(known), []byte(marked))
		for ext, text := range renderings(t, r) {
			if find.Contains(text) || strings.Contains(text, known) || strings.Contains(text, marked) {
				t.Fatalf("a secret (%s or %s) is in the %s rendering:\n%s", known, marked, ext, text)
			}
		}
	})
}

// TestRenderingsAreNeutral checks that no value, name or reason can control a terminal.
func TestRenderingsAreNeutral(t *testing.T) {
	const evil = "\x1b]0;owned\x07\u202e\r\n\u009b2J"
	change := map[string]any{
		"actions": []string{"update"}, "before": map[string]any{"a": evil, evil: 1},
		"after":     map[string]any{"a": evil + "\n" + evil, "m": map[string]any{evil: evil}},
		"importing": map[string]any{"identity": map[string]any{evil: evil}},
	}
	plan := updatePlan(t, change, map[string]any{
		"output_changes": map[string]any{evil: map[string]any{"actions": []string{"create"}, "before": nil, "after": evil}},
		"checks": []any{map[string]any{"address": map[string]any{"to_display": evil}, "status": evil,
			"problems": []any{map[string]any{"message": evil}}}},
		"action_invocations": []any{map[string]any{"address": evil, "lifecycle_action_trigger": map[string]any{
			"triggering_resource_address": evil, "action_trigger_event": evil}}},
		"resource_drift": []any{map[string]any{
			"address": "x." + evil, "previous_address": "y." + evil, "deposed": evil, "mode": evil, "type": evil, "name": evil,
			"action_reason": evil,
			"change": map[string]any{"actions": []string{"delete", "create"}, "before": map[string]any{evil: evil},
				"after": nil, "replace_paths": []any{[]any{evil}}},
		}},
	})
	r, err := terraform.Report(bytes.NewReader(plan), terraform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for ext, text := range renderings(t, r) {
		if ext == "ansi" || ext == "json" {
			continue
		}
		for _, bad := range []string{"\x1b", "\x07", "\u202e", "\r", "\u009b"} {
			if strings.Contains(text, bad) {
				t.Errorf("%q is in the %s rendering:\n%q", bad, ext, text)
			}
		}
	}
	if ansi := renderings(t, r)["ansi"]; strings.Contains(ansi, "\x1b]") || strings.Contains(ansi, "\x07") {
		t.Errorf("a value's escape code is in the coloured rendering:\n%q", ansi)
	}
}

// FuzzReport checks that no input causes a panic or an invalid report.
func FuzzReport(f *testing.F) {
	plans, err := filepath.Glob("testdata/plans/*.json")
	if err != nil || len(plans) == 0 {
		f.Fatalf("no plans: %v", err)
	}
	for _, p := range plans {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, a := range situations(f) {
		f.Add(a.Files[0].Data)
	}
	f.Add([]byte(`{"format_version":"1.0","resource_changes":[{"address":"a","change":{"actions":["update"],"before":[1],"after":{"a":[]},"after_unknown":[true],"before_sensitive":[[true]]}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := terraform.Report(bytes.NewReader(data), terraform.Options{MaxBytes: 1 << 20})
		if err != nil {
			return
		}
		if err := r.Validate(); err != nil {
			t.Errorf("not valid: %v", err)
		}
		renderings(t, r)
		again, err := terraform.Report(bytes.NewReader(data), terraform.Options{MaxBytes: 1 << 20})
		if err != nil || again.Digest() != r.Digest() {
			t.Errorf("another report of the same plan: %v", err)
		}
	})
}

// TestPointersLead checks that each pointer leads to the reported value on its side.
func TestPointersLead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := attributes(harmless()).Draw(t, "before"), attributes(harmless()).Draw(t, "after")
		plan := updatePlan(t, map[string]any{"actions": []string{"update"}, "before": before, "after": after}, nil)
		r, err := terraform.Report(bytes.NewReader(plan), terraform.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Changes[0].Fields {
			if err := sample.Leads(any(before), any(after), &r.Changes[0].Fields[i]); err != nil {
				t.Fatal(err)
			}
		}
	})
}
