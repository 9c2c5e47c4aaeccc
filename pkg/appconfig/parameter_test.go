package appconfig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestActionInputs(t *testing.T) {
	const declared = `enable_kube_config = true
[[inputs]]
name = "worker-count"
description = "how many"
type = "number"
default = 3
[[inputs]]
name = "region"
required = true
[[inputs]]
name = "dry"
type = "bool"
default = "false"
`
	app, found := Load(small().and(files{"actions/a.toml": action(declared)}).fs(), Options{})
	if len(found) > 0 {
		t.Fatal(found)
	}
	a, _ := app.Action("a")
	three, no := "3", "false"
	want := []ActionInput{
		{Name: "worker-count", Description: "how many", Type: "number", Default: &three},
		{Name: "region", Type: "string", Required: true},
		{Name: "dry", Type: "bool", Default: &no},
	}
	if diff := cmp.Diff(want, a.Inputs); diff != "" || !a.KubeConfig {
		t.Errorf("kubeconfig %v\n%s", a.KubeConfig, diff)
	}
}

func TestBadActionInputs(t *testing.T) {
	for name, test := range map[string]struct {
		declared string
		want     []string
	}{
		"types and defaults": {
			"[[inputs]]\nname='a'\ntype='strin'\n[[inputs]]\nname='b'\ntype='number'\ndefault='x'\n[[inputs]]\nname='c'\ntype='list'\n[[inputs]]\nname='d'\ntype='json'\ndefault=''\n", []string{
				`actions/a.toml:4:6: error: inputs[0]: an input of an action has no type "strin" (did you mean "string"?)`,
				`actions/a.toml:8:9: error: inputs[1]: the default of input b is not a number`,
				`actions/a.toml:11:6: error: inputs[2]: an input of an action has no type "list" (one of string, number, bool, json)`,
				`actions/a.toml:15:9: error: inputs[3]: the default of input d must not be empty: it is a json`,
			},
		},
		"names": {"[[inputs]]\nname='a b'\n[[inputs]]\nname='x-y'\n[[inputs]]\nname='X_Y'\n[[inputs]]\ndescription='none'\n", []string{
			`actions/a.toml:3:6: error: "a b" is no name for an input (use letters, digits, underscores and dashes)`,
			`actions/a.toml:7:6: error: inputs[2]: x-y and X_Y would both be the variable NUON_INPUT_X_Y (rename one of them)`,
			`actions/a.toml:8:3: error: "inputs[3].name" is missing`,
		}},
		"keys": {"[[inputs]]\nname='a'\nsensitive=true\nrequird=true\n", []string{
			`actions/a.toml:4:1: error: "inputs[0].sensitive" is not accepted any more (declare a sensitive input of the app instead: what is asked for with a run is kept and shown as it is)`,
			`actions/a.toml:5:1: error: unknown key "inputs[0].requird" (did you mean "required"?)`,
		}},
		"nobody asks": {"[[inputs]]\nname='a'\nrequired=true\n[[inputs]]\nname='b'\nrequired=true\ndefault='x'\n[[triggers]]\ntype='post-provision'\n", []string{
			`actions/a.toml:3:6: warning: input a is required, and nobody gives it when the action runs by post-provision: it would fail (give it a default)`,
		}},
		"too many": {strings.Repeat("[[inputs]]\nname='a'\n", mostActionInputs+1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, found := Load(small().and(files{"actions/a.toml": action(test.declared)}).fs(), Options{})
			if test.want == nil {
				if !strings.Contains(found.String(), "an action has at most 100 inputs") {
					t.Error(found)
				}
				return
			}
			var got []string
			for _, one := range found {
				got = append(got, one.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckInputs(t *testing.T) {
	small, empty := "small", ""
	a := Action{Name: "scale", Inputs: []ActionInput{
		{Name: "worker-count", Type: "number", Required: true}, {Name: "size", Type: "string", Default: &small}, {Name: "note", Type: "string", Default: &empty},
		{Name: "dry_run", Type: "bool"}, {Name: "extra", Type: "json"}, {Name: "path", Type: "string"}, {Name: "LD_PRELOAD", Type: "string"}, {Name: "who", Type: "string", Required: true},
	}}
	given := map[string]string{"worker-count": "-1.5e3", "dry_run": "true", "extra": `{"a":[1]}`, "path": "/x", "LD_PRELOAD": "/x.so", "who": "$(reboot)\nme"}
	env, problems := a.CheckInputs(given)
	want := map[string]string{
		"NUON_INPUT_WORKER_COUNT": "-1.5e3", "NUON_INPUT_SIZE": "small", "size": "small", "NUON_INPUT_NOTE": "", "note": "",
		"NUON_INPUT_DRY_RUN": "true", "dry_run": "true", "NUON_INPUT_EXTRA": `{"a":[1]}`, "extra": `{"a":[1]}`,
		"NUON_INPUT_PATH": "/x", "NUON_INPUT_LD_PRELOAD": "/x.so", "NUON_INPUT_WHO": "$(reboot)\nme", "who": "$(reboot)\nme",
	}
	if diff := cmp.Diff(want, env); diff != "" || problems != nil {
		t.Errorf("%v\n%s", problems, diff)
	}

	env, problems = a.CheckInputs(map[string]string{
		"worker-count": "NaN", "sise": "x", "dry_run": "yes", "extra": "{", "path": "a\x00", "who": "",
	})
	wrong := []string{
		`action scale has no input "sise", did you mean "size"?`,
		"input worker-count is not a number", "input dry_run is neither true nor false", "input extra is not JSON",
		"input path holds a NUL character, which no variable can", "input who must not be empty",
	}
	if diff := cmp.Diff(wrong, problems); diff != "" || env != nil {
		t.Errorf("%v\n%s", env, diff)
	}
	_, problems = a.CheckInputs(map[string]string{"worker-count": ""})
	if diff := cmp.Diff([]string{"input worker-count must not be empty: it is a number", "input who is required"}, problems); diff != "" {
		t.Error(diff)
	}
	if _, problems = a.CheckInputs(map[string]string{"who": strings.Repeat("x", mostInputBytes), "worker-count": "1"}); len(problems) != 1 || !strings.Contains(problems[0], "larger than 32768 bytes") {
		t.Error(problems)
	}
	if _, problems = (&Action{Name: "plain"}).CheckInputs(map[string]string{"x": "1"}); len(problems) != 1 || problems[0] != `action plain has no input "x", and no other either` {
		t.Error(problems)
	}
	if env, problems = (&Action{Name: "plain"}).CheckInputs(nil); len(env) != 0 || problems != nil {
		t.Error(env, problems)
	}
}

// Whatever is given: every problem or the whole environment, and no variable that a program relies on.
func TestCheckedInputsAreHarmless(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.OneOf(rapid.SampledFrom([]string{"PATH", "Home", "ld_preload", "NUON_ORG_ID", "BASH_ENV", "kubeconfig", "https_proxy", "TF_VAR_x", "AWS_PROFILE"}),
			rapid.StringMatching(`[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}`)).Draw(rt, "name")
		a := Action{Name: "a", Inputs: []ActionInput{{Name: name, Type: rapid.SampledFrom(actionInputTypes).Draw(rt, "type")}}}
		value := rapid.String().Draw(rt, "value")
		env, problems := a.CheckInputs(map[string]string{name: value})
		if (env == nil) != (len(problems) > 0) {
			rt.Fatalf("%v and %v", env, problems)
		}
		for variable, got := range env {
			if got != value || !variableName.MatchString(variable) || strings.ContainsRune(got, 0) {
				rt.Fatalf("%q=%q", variable, got)
			}
			if !strings.HasPrefix(variable, inputPrefix) && (variable != name || reservedVariable(variable)) {
				rt.Fatalf("%q is given as %q", name, variable)
			}
		}
	})
}
