package appconfig

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/envname"
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
	told := goldensOf(t, "testdata/action_inputs.txtar")
	for name, declared := range map[string]string{
		"types and defaults": "[[inputs]]\nname='a'\ntype='strin'\n[[inputs]]\nname='b'\ntype='number'\ndefault='x'\n" +
			"[[inputs]]\nname='c'\ntype='list'\n[[inputs]]\nname='d'\ntype='json'\ndefault=''\n",
		"names": "[[inputs]]\nname='a b'\n[[inputs]]\nname='x-y'\n[[inputs]]\nname='X_Y'\n[[inputs]]\n" +
			"description='none'\n",
		"keys": "[[inputs]]\nname='a'\nsensitive=true\nrequird=true\n",
		"nobody asks": "[[inputs]]\nname='a'\nrequired=true\n[[inputs]]\nname='b'\nrequired=true\ndefault='x'\n" +
			"[[triggers]]\ntype='post-provision'\n",
		"too many": tooManyInputs(),
	} {
		t.Run(name, func(t *testing.T) {
			_, found := Load(small().and(files{"actions/a.toml": action(declared)}).fs(), Options{})
			told.check(t, name, found)
		})
	}
}

func tooManyInputs() string {
	var b strings.Builder
	for i := range maxActionInputs + 1 {
		fmt.Fprintf(&b, "[[inputs]]\nname='a%d'\n", i)
	}
	return b.String()
}

func TestCheckInputs(t *testing.T) {
	small, empty := "small", ""
	a := Action{Name: "scale", Inputs: []ActionInput{
		{Name: "worker-count", Type: "number", Required: true}, {Name: "size", Type: "string", Default: &small},
		{Name: "note", Type: "string", Default: &empty},
		{Name: "dry_run", Type: "bool"}, {Name: "extra", Type: "json"}, {Name: "path", Type: "string"},
		{Name: "LD_PRELOAD", Type: "string"}, {Name: "who", Type: "string", Required: true},
	}}
	given := map[string]string{"worker-count": "-1.5e3", "dry_run": "true", "extra": `{"a":[1]}`, "path": "/x",
		"LD_PRELOAD": "/x.so", "who": "$(reboot)\nme"}
	values, problems := a.CheckInputs(given)
	env := InputEnvironment(values)
	want := map[string]string{
		"NUON_INPUT_WORKER_COUNT": "-1.5e3", "NUON_INPUT_SIZE": "small", "size": "small", "NUON_INPUT_NOTE": "", "note": "",
		"NUON_INPUT_DRY_RUN": "true", "dry_run": "true", "NUON_INPUT_EXTRA": `{"a":[1]}`, "extra": `{"a":[1]}`,
		"NUON_INPUT_PATH": "/x", "NUON_INPUT_LD_PRELOAD": "/x.so", "NUON_INPUT_WHO": "$(reboot)\nme", "who": "$(reboot)\nme",
	}
	if diff := cmp.Diff(want, env); diff != "" || problems != nil {
		t.Errorf("%v\n%s", problems, diff)
	}

	values, problems = a.CheckInputs(map[string]string{
		"worker-count": "NaN", "sise": "x", "dry_run": "yes", "extra": "{", "path": "a\x00", "who": "",
	})
	wrong := []string{
		`action scale has no input "sise", did you mean "size"?`,
		"input worker-count is not a number", "input dry_run is neither true nor false", "input extra is not JSON",
		"input path holds a NUL character, which no variable can", "input who must not be empty",
	}
	if diff := cmp.Diff(wrong, problems); diff != "" || values != nil {
		t.Errorf("%v\n%s", values, diff)
	}
	_, problems = a.CheckInputs(map[string]string{"worker-count": ""})
	if diff := cmp.Diff([]string{"input worker-count must not be empty: it is a number", "input who is required"},
		problems); diff != "" {
		t.Error(diff)
	}
	if _, problems = a.CheckInputs(map[string]string{"who": strings.Repeat("x", maxInputBytes), "worker-count": "1"}); len(
		problems) != 1 || !strings.Contains(problems[0], "larger than 32768 bytes") {
		t.Error(problems)
	}
	if _, problems = (&Action{Name: "plain"}).CheckInputs(map[string]string{"x": "1"}); len(problems) != 1 ||
		problems[0] != `action plain has no input "x"; it has none` {
		t.Error(problems)
	}
	if values, problems = (&Action{Name: "plain"}).CheckInputs(nil); len(values) != 0 || problems != nil {
		t.Error(values, problems)
	}
}

// For any input, CheckInputs returns either problems or all values, and none of them becomes a
// variable that programs rely on.
func TestCheckedInputsAreHarmless(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.OneOf(rapid.SampledFrom([]string{"PATH", "Home", "ld_preload", "NUON_ORG_ID", "BASH_ENV", "kubeconfig",
			"https_proxy", "TF_VAR_x", "AWS_PROFILE"}),
			rapid.StringMatching(`[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}`)).Draw(rt, "name")
		a := Action{Name: "a", Inputs: []ActionInput{{Name: name,
			Type: rapid.SampledFrom(actionInputTypes).Draw(rt, "type")}}}
		value := rapid.String().Draw(rt, "value")
		values, problems := a.CheckInputs(map[string]string{name: value})
		if (values == nil) != (len(problems) > 0) {
			rt.Fatalf("%v and %v", values, problems)
		}
		for variable, got := range InputEnvironment(values) {
			if got != value || !envname.Valid(variable) || strings.ContainsRune(got, 0) {
				rt.Fatalf("%q=%q", variable, got)
			}
			if !strings.HasPrefix(variable, inputPrefix) && (variable != name || envname.Check(variable) != nil) {
				rt.Fatalf("%q is given as %q", name, variable)
			}
		}
	})
}
