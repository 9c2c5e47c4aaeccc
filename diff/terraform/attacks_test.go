package terraform_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/risk"
	"github.com/nuon-toolkit/nuon/diff/terraform"
)

// attack is one element of testdata/attacks.yaml.
type attack struct {
	Name, Type, Mode, Deposed, Previous, Reason string
	Actions                                     []string
	Before, After                               any
	Unknown, Config, Importing                  any
	Marks                                       []any
	// Runs lists the kinds of the provisioners in the configuration.
	Runs []string
	// Output holds the sensitive marks of an output before and after.
	Output       []bool
	Want, Spares []string
}

// plan returns the JSON of a plan with the attack as its only change.
func (a attack) plan(t *testing.T) []byte {
	t.Helper()
	p := map[string]any{"format_version": "1.2", "terraform_version": "1.14.0"}
	if a.Output != nil {
		p["output_changes"] = map[string]any{"o": map[string]any{"actions": []string{"update"}, "before": "planted",
			"after": "planted", "before_sensitive": a.Output[0], "after_sensitive": a.Output[1], "after_unknown": false}}
	} else {
		p["resource_changes"] = []any{a.resource()}
	}
	if a.Config != nil || a.Runs != nil {
		var provisioners []any
		for _, kind := range a.Runs {
			provisioners = append(provisioners, map[string]any{"type": kind,
				"expressions": map[string]any{"command": map[string]any{"constant_value": "x"}}})
		}
		p["configuration"] = map[string]any{"root_module": map[string]any{"module_calls": map[string]any{"m": map[string]any{
			"module": map[string]any{"resources": []any{map[string]any{"address": a.Type + ".x", "expressions": a.Config,
				"provisioners": provisioners}}},
		}}}}
	}
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (a attack) resource() map[string]any {
	if a.Mode == "" {
		a.Mode = "managed"
	}
	if a.Marks == nil {
		a.Marks = []any{map[string]any{}, map[string]any{}}
	}
	switch {
	case a.Actions != nil:
	case a.Before == nil:
		a.Actions = []string{"create"}
	case a.After == nil:
		a.Actions = []string{"delete"}
	default:
		a.Actions = []string{"update"}
	}
	change := map[string]any{"actions": a.Actions, "before": a.Before, "after": a.After, "after_unknown": a.Unknown,
		"before_sensitive": a.Marks[0], "after_sensitive": a.Marks[1]}
	if a.Importing != nil {
		change["importing"] = a.Importing
	}
	return map[string]any{"address": `module.m["k]"].` + a.Type + ".x[0]", "module_address": `module.m["k]"]`,
		"mode": a.Mode, "type": a.Type,
		"name": "x", "deposed": a.Deposed, "previous_address": a.Previous, "action_reason": a.Reason, "change": change}
}

// TestAttacks checks that each change that could be hidden in a plan has its finding, and that
// similar harmless changes have none about security.
func TestAttacks(t *testing.T) {
	data, err := os.ReadFile("testdata/attacks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var attacks []attack
	if err := yaml.UnmarshalStrict(data, &attacks); err != nil {
		t.Fatal(err)
	}
	for _, a := range attacks {
		t.Run(a.Name, func(t *testing.T) {
			r, err := terraform.Report(bytes.NewReader(a.plan(t)), terraform.Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkReport(t, r)
			var found []string
			security := false
			for _, c := range slices.Concat(r.Changes, r.Outputs) {
				for _, f := range c.Findings {
					found = append(found, f.Rule, f.Rule+" at "+f.Path)
					security = security || f.Security
				}
			}
			for _, want := range a.Want {
				name, _, _ := strings.Cut(want, " ")
				switch _, known := risk.Find(name); {
				case want == "none" && security:
					t.Errorf("found %v", found)
				case want != "none" && !known && name != diff.RuleMasked:
					t.Errorf("there is no rule %s", name)
				case want != "none" && !slices.Contains(found, want):
					t.Errorf("%s is missing; found %v", want, found)
				}
			}
			for _, rule := range a.Spares {
				if slices.Contains(found, rule) {
					t.Errorf("found %s", rule)
				}
			}
			if len(a.Want)+len(a.Spares) == 0 {
				t.Error("it says nothing of what must be found")
			}
		})
	}
}
