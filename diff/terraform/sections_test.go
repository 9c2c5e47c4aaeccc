package terraform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terraform"
)

func report(t *testing.T, sections string) *diff.Report {
	t.Helper()
	if !strings.Contains(sections, "format_version") {
		sections = `"format_version":"1.2",` + sections
	}
	r, err := terraform.Report(strings.NewReader("{"+sections+"}"), terraform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestChecks(t *testing.T) {
	const condition = `"condition_results":[{"address":"a","result":true},{"address":"b","result":false,"error_message":"no"},{"address":"c","unknown":true}]`
	many := strings.Repeat(`{"message":"m"},`, 30) + `{"message":"last"}`
	for _, c := range []struct {
		name, sections string
		want           []diff.Check
		passed         int
	}{
		{"none", `"checks":null`, nil, 0},
		{"one for each instance", `"checks":[{"address":{"to_display":"a.b"},"status":"fail","instances":[
			{"address":{"to_display":"a.b[0]"},"status":"pass"},{"address":{"to_display":"a.b[1]"},"status":"error"}]}]`,
			[]diff.Check{{Address: "a.b[1]", Status: diff.CheckError}}, 1},
		{"without instances", `"checks":[{"address":{"to_display":"a.b"},"status":"unknown"},{"address":{"to_display":"a.c"},"status":"pass"}]`,
			[]diff.Check{{Address: "a.b", Status: diff.CheckUnknown}}, 1},
		{"a later status passes for nothing", `"checks":[{"address":{"to_display":"a.b"},"status":"fine"},{}]`,
			[]diff.Check{{Address: "a check without a name", Status: diff.CheckUnknown},
				{Address: "a.b", Status: diff.CheckUnknown}}, 0},
		{"the older form", condition, []diff.Check{{Address: "b", Status: diff.CheckFail, Problems: []string{"no"}},
			{Address: "c", Status: diff.CheckUnknown}}, 1},
		{"the newer form counts", condition + `,"checks":[{"address":{"to_display":"b"},"status":"fail"}]`,
			[]diff.Check{{Address: "b", Status: diff.CheckFail}}, 0},
		{"many problems", `"checks":[{"address":{"to_display":"b"},"status":"fail","problems":[` + many + `]}]`,
			[]diff.Check{{Address: "b", Status: diff.CheckFail,
				Problems: append(strings.Split(strings.Repeat("m ", 19)+"m", " "), "11 more messages")}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := report(t, c.sections)
			if d := cmp.Diff(c.want, r.Checks); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if got := folded(r, "passed"); got != c.passed {
				t.Errorf("%d passed, want %d", got, c.passed)
			}
		})
	}
}

func folded(r *diff.Report, rule string) int {
	n := 0
	for _, f := range r.Folded {
		if f.Rule == rule {
			n += f.Count
		}
	}
	return n
}

func TestDriftThatNothingReadsIsFolded(t *testing.T) {
	drift := func(address, change string) string {
		return fmt.Sprintf(`"resource_drift":[{"address":%q,"type":"a","name":"b","change":%s}]`, address, change)
	}
	const update = `{"actions":["update"],"before":{"p":1,"q":{"r":[1]}},"after":{"p":2,"q":{"r":[2]}}}`
	const changes = `,"resource_changes":[{"address":"x.y","change":{"actions":["no-op"]}}]`
	relevant := func(resource, path string) string {
		return fmt.Sprintf(`,"relevant_attributes":[{"resource":%q,"attribute":%s}]`, resource, path)
	}
	for _, c := range []struct {
		name, sections string
		folded, fields int
	}{
		{"nothing reads it", drift("a.b", update) + changes, 2, 2},
		{"one attribute is read", drift("a.b", update) + changes + relevant("a.b", `["p"]`), 1, 2},
		{"a part of it is read", drift("a.b", update) + changes + relevant("a.b", `["q","r",7]`), 1, 2},
		{"all of it is read", drift("a.b", update) + changes + relevant("a.b", `[]`), 0, 2},
		{"all instances are read", drift(`a.b["k"]`, update) + changes + relevant("a.b", `["p"]`), 1, 2},
		{"another resource is read", drift("a.bc", update) + changes + relevant("a.b", `["p"]`), 2, 2},
		{"the plan only refreshes", drift("a.b", update), 0, 2},
		{"an older form does not tell", `"format_version":"1.0",` + drift("a.b", update) + changes, 0, 2},
		{"what is gone is told", drift("a.b", `{"actions":["delete"],"before":{"p":1},"after":null}`) + changes, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := report(t, c.sections)
			if got := folded(r, "not read by this plan"); got != c.folded {
				t.Errorf("%d fields are folded, want %d", got, c.folded)
			}
			if got := len(r.Drift[0].Fields); got != c.fields {
				t.Errorf("%d fields, want %d", got, c.fields)
			}
			if r.Drift[0].Risk != diff.RiskNone || r.Totals.Drift != 1 {
				t.Errorf("risk %s, totals %+v", r.Drift[0].Risk, r.Totals)
			}
		})
	}
}

func TestImports(t *testing.T) {
	for importing, want := range map[string]string{
		`{"id":"i-1"}`: "i-1",
		`{}`:           "",
		`{"identity":{"region":"eu","account":1,"nothing":null}}`: "account=1, region=eu",
		`{"unknown":true}`: "(known after apply)",
	} {
		r := report(t, `"resource_changes":[{"address":"a.b","change":{"actions":["no-op"],"importing":`+importing+`}}]`)
		if c := r.Changes[0]; c.ImportID != want || c.Action != diff.Import || !c.Imported {
			t.Errorf("%s: %s %q, want %q", importing, c.Action, c.ImportID, want)
		}
	}
}

func TestActionsThatRun(t *testing.T) {
	one := func(name, event string) string {
		return fmt.Sprintf(`{"address":"action.a.%s","lifecycle_action_trigger":{"triggering_resource_address":"x.y","action_trigger_event":%q}}`, name, event)
	}
	r := report(t, `"action_invocations":[`+one("d", "BeforeCreate")+","+one("c", "after_destroy")+","+one("b", "AtNoon")+`,{"address":"action.a.a","invoke_action_trigger":{}}],
		"deferred_action_invocations":[{"reason":"x","action_invocation":`+one("e", "AfterUpdate")+`}]`)
	const end = ". A plan does not show what it does."
	want := []string{
		"Action action.a.a runs" + end,
		"Action action.a.b runs, with a change of x.y" + end,
		"Action action.a.c runs, after the destruction of x.y" + end,
		"Action action.a.d runs, before the creation of x.y" + end,
		"Action action.a.e is left for a later plan, after the update of x.y" + end,
	}
	if d := cmp.Diff(want, r.Notes); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	long := strings.Repeat(`{"address":"`+strings.Repeat("x", 5000)+`"},`, 500)
	r = report(t, `"action_invocations":[`+long+`{"address":"action.z"}]`)
	if n := len(r.Notes); n != 31 || r.Notes[30] != "471 actions run more." {
		t.Errorf("%d notes, the last one %.100q", n, r.Notes[n-1])
	}
}

// TestKeysOfOutputsCanBeSecret checks outputs, where the top-level keys are not the names of a
// schema.
func TestKeysOfOutputsCanBeSecret(t *testing.T) {
	r := report(t, `"variables":{"v":{"value":"planted-in-variable"}},"configuration":{"root_module":{"variables":{"v":{"sensitive":true}}}},
		"output_changes":{"o":{"actions":["update"],"before":{"a planted-in-variable":1},"after":{"b":1}}}`)
	if f := r.Outputs[0].Fields; len(f) != 1 || !f[0].After.Masked || f[0].Path != "" {
		t.Errorf("%+v", f)
	}
	checkNothingPlanted(t, r)
}

// TestSecretsOfWhatStaysAreLearned checks that secrets of unchanged resources are learned, from
// either side and from any mark.
func TestSecretsOfWhatStaysAreLearned(t *testing.T) {
	for _, c := range []string{
		`"before":{"a":["planted-value-x"]},"after":{"a":["planted-value-x"]},"before_sensitive":{"a":[true]}`,
		`"before":{"a":"y"},"after":{"a":"planted-value-x"},"after_sensitive":{"a":true}`,
		`"before":"planted-value-x","before_sensitive":true`,
	} {
		r := report(t, `"resource_changes":[{"address":"a.b","change":{"actions":["no-op"],`+c+`}},
			{"address":"a.c","change":{"actions":["update"],"before":{"a":1},"after":{"a":"<planted-value-x>"}}}]`)
		checkNothingPlanted(t, r)
		if r.Totals.Unchanged != 1 || len(r.Changes) != 1 {
			t.Errorf("totals %+v", r.Totals)
		}
	}
	checkNothingPlanted(t, report(t, `"action_invocations":[{"address":"action.a","config_values":{"p":"planted-value-x"},"config_sensitive":{"p":true}}],
		"resource_changes":[{"address":"a.c","change":{"actions":["update"],"before":{"a":1},"after":{"a":"<planted-value-x>"}}}]`))
}

// TestSecretsOfTheStateAreLearned checks values that are marked in the prior state and the planned
// values. They often have no change entry, as data sources.
func TestSecretsOfTheStateAreLearned(t *testing.T) {
	const changed = `"resource_changes":[{"address":"a.c","change":{"actions":["update"],"before":{"a":1},"after":{"a":"<planted-value-x>"}}}]`
	for name, values := range map[string]string{
		"resource":    `{"root_module":{"resources":[{"address":"a.b","values":{"a":["planted-value-x"]},"sensitive_values":{"a":[true]}}]}}`,
		"data source": `{"root_module":{"resources":[{"address":"data.a.b","mode":"data","sensitive_values":{"a":true},"values":{"a":"planted-value-x"}}]}}`,
		"module": `{"root_module":{"child_modules":[{"child_modules":[{"address":"module.a.module.b",
			"resources":[{"values":{"o":{"p":"planted-value-x"}},"sensitive_values":{"o":{"p":true}}}]}]}]}}`,
		"output": `{"outputs":{"o":{"sensitive":true,"type":"string","value":"planted-value-x"}}}`,
	} {
		for _, section := range []string{`"planned_values":` + values, `"prior_state":{"values":` + values + `}`} {
			// Terraform writes the sections in any order.
			for _, plan := range []string{section + "," + changed, changed + "," + section} {
				r := report(t, plan)
				checkNothingPlanted(t, r)
				if len(r.Changes) != 1 {
					t.Errorf("%s: %d changes", name, len(r.Changes))
				}
			}
		}
	}
	r := report(t, changed+`,"prior_state":null,"planned_values":{"outputs":null,"root_module":{"resources":[
		{"values":{"a":"<planted-value-x>","sensitive_values":true},"sensitive_values":{"a":false}}]}}`)
	if len(r.Changes) != 1 || r.Changes[0].Fields[0].After.Text != "<planted-value-x>" {
		t.Errorf("what is not marked is masked: %+v", r.Changes)
	}
}

// TestWhatStaysIsDroppedOnlyWhenNothingHappensToIt checks that only changes with no effect are
// dropped.
func TestWhatStaysIsDroppedOnlyWhenNothingHappensToIt(t *testing.T) {
	r := report(t, `"resource_changes":[
		{"address":"a.stays","previous_address":"a.stays","change":{"actions":["no-op"],"importing":null}},
		{"address":"a.spaced","change":{"actions":[ "no-op" ]}},
		{"address":"a.moves","previous_address":"b.moves","change":{"actions":["no-op"]}},
		{"address":"a.comes","change":{"actions":["no-op"],"importing":{}}}]`)
	if r.Totals.Unchanged != 2 || len(r.Changes) != 2 || r.Totals.Move != 1 || r.Totals.Import != 1 {
		t.Errorf("%d changes, totals %+v", len(r.Changes), r.Totals)
	}
}
