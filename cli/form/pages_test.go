package form

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

func text(s string) *string { return &s }

// unchecked compares fields without their checks.
var unchecked = cmpopts.IgnoreFields(Field{}, "Check")

// TestChecks checks that a field validates its type.
func TestChecks(t *testing.T) {
	for _, typed := range []string{"number", "bool", "json"} {
		in := Inputs(api.AppConfig{Inputs: []api.DeclaredInput{{Name: "x", Type: typed}}}, nil, nil, nil)
		of := Parameters(api.DeclaredAction{Inputs: []api.DeclaredParameter{{Name: "x", Type: typed}}}, nil)
		for _, f := range []Field{in[0].Fields[0], of[0].Fields[0]} {
			if f.wrong("{") == "" || f.wrong("") != "" {
				t.Errorf("a %s: %q, %q", typed, f.wrong("{"), f.wrong(""))
			}
		}
	}
}

// TestInputs checks that there is a page for each group in the app's order without given
// inputs, that the values of the install are the initial values, and that a stored secret
// need not be entered again.
func TestInputs(t *testing.T) {
	config := api.AppConfig{
		Groups: []api.DeclaredGroup{{Name: "b", DisplayName: "The Bs", Description: "All Bs"}, {Name: "none"}},
		Inputs: []api.DeclaredInput{
			{Name: "a1", Group: "a", Type: "string", Required: true},
			{Name: "b1", Group: "b", Type: "number", Default: text("2"), Required: true, DisplayName: "B one",
				Description: "The first B", ReadBy: []string{"web", "action/check"}},
			{Name: "b2", Group: "b", Type: "string", Sensitive: true, Required: true},
			{Name: "b3", Group: "b", Type: "bool"},
		},
	}
	b1 := Field{Name: "b1", Title: "B one", Description: "The first B. Used by web, action/check.",
		Type: "number", Value: "2"}
	want := []Page{
		{Title: "The Bs", Description: "All Bs",
			Fields: []Field{b1, {Name: "b2", Type: "string", Sensitive: true, Required: true},
				{Name: "b3", Type: "bool"}}},
		{Title: "a", Fields: []Field{{Name: "a1", Type: "string", Required: true}}},
	}
	if d := cmp.Diff(want, Inputs(config, nil, nil, nil), unchecked); d != "" {
		t.Error(d)
	}
	b1.Value = "5"
	kept := Field{Name: "b2", Description: "Leave empty to keep the current value.", Type: "string", Sensitive: true}
	want = []Page{{Title: "The Bs", Description: "All Bs", Fields: []Field{b1, kept}}}
	if d := cmp.Diff(want, Inputs(config, map[string]bool{"a1": true, "b3": true}, map[string]string{"b1": "5"},
		map[string]bool{"b2": true}), unchecked); d != "" {
		t.Error(d)
	}
}

// TestNeeded checks that only required fields without a value remain.
func TestNeeded(t *testing.T) {
	field := func(name, value string, required bool) Field {
		return Field{Name: name, Value: value, Required: required}
	}
	pages := []Page{
		{Title: "a", Fields: []Field{field("optional", "", false), field("default", "2", false)}},
		{Title: "b", Fields: []Field{field("needed", "", true), field("there", "1", true),
			field("optional", "", false)}},
	}
	want := []Page{{Title: "b", Fields: []Field{field("needed", "", true)}}}
	if d := cmp.Diff(want, RequiredPages(pages), unchecked); d != "" {
		t.Error(d)
	}
	if got := RequiredPages(pages[:1]); got != nil {
		t.Errorf("asks for %v", got)
	}
}

// TestParameters checks that the page contains the action's inputs that were not given.
func TestParameters(t *testing.T) {
	a := api.DeclaredAction{Name: "migrate", Description: "Moves the data", Inputs: []api.DeclaredParameter{
		{Name: "to", Type: "number", Required: true},
		{Name: "mode", Type: "string", Required: true, Default: text("safe")}, {Name: "given", Type: "string"},
	}}
	want := []Page{{Title: "migrate", Description: "Moves the data",
		Fields: []Field{{Name: "to", Type: "number", Required: true}, {Name: "mode", Type: "string", Value: "safe"}}}}
	if d := cmp.Diff(want, Parameters(a, map[string]string{"given": ""}), unchecked); d != "" {
		t.Error(d)
	}
	if got := Parameters(a, map[string]string{"given": "", "to": "1", "mode": "x"}); got != nil {
		t.Errorf("asks for %v", got)
	}
}
