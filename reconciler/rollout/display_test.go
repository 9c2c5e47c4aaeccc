package rollout

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// TestDisplay shows a template before and after the values that it reads exist.
func TestDisplay(t *testing.T) {
	s := newSnapshot()
	preset := "preset-secret"
	s.config.Inputs = append(s.config.Inputs, appconfig.Input{Name: "password", Sensitive: true, Default: &preset},
		appconfig.Input{Name: "size", Required: true})
	s.inputs["api_token"] = store.InstallInput{Name: "api_token", Sealed: sealedTo(key), Hash: "hmac:2"}
	s.stack = map[string]json.RawMessage{"region": json.RawMessage(`"eu-1"`), "subnets": json.RawMessage(`["a","b"]`)}
	s.land("sandbox")
	net := ".nuon.components.network.outputs"
	for _, test := range []struct{ name, text, before, after string }{
		{"no template", "{{ .Values.x }}", "{{ .Values.x }}", ""},
		{"known", "{{.nuon.install.id}} {{.nuon.inputs.inputs.greeting | upper}}", "ins_1 HELLO", ""},
		{"an output", "a {{" + net + ".net.cidr}} b", "a ‹known after network is deployed› b [network is deployed]",
			"a 10.0.0.0/16 b"},
		{"an output in a function", "a {{upper " + net + ".net.cidr}}",
			"‹known after network is deployed› [network is deployed]", "a 10.0.0.0/16"},
		{"an output that decides", "{{if " + net + ".net}}a{{end}}",
			"‹known after network is deployed› [network is deployed]", "a"},
		{"no such output", "{{" + net + ".gone}}", "‹known after network is deployed› [network is deployed]",
			"! k:1:3: .nuon.components.network.outputs.gone has no value (`dig` and `hasKey` can ask for what may be missing)"},
		{"one that may be missing", `{{dig "gone" "none" ` + net + `.net}}`,
			"‹known after network is deployed› [network is deployed]", "none"},
		{"one among sealed ones", `{{dig "gone" "none" ` + net + `}}`,
			"‹known after network is deployed› [network is deployed]", "‹contains a sensitive value› sensitive"},
		{"a sealed output", "x={{" + net + ".join}}", "x=‹known after network is deployed› [network is deployed]",
			"x=‹sensitive› sensitive"},
		{"inside a sealed output", "x={{" + net + ".join.a.b}}", "x=‹known after network is deployed› [network is deployed]",
			"x=‹sensitive› sensitive"},
		{"all outputs", "{{" + net + "}}", "‹known after network is deployed› [network is deployed]",
			`{"join":"‹sensitive›","net":{"cidr":"10.0.0.0/16","zone":"a"}} sensitive`},
		{"a sensitive input", "t={{.nuon.inputs.inputs.api_token}}", "t=‹sensitive› sensitive", ""},
		{"its alias", "t={{.nuon.install.inputs.api_token}}", "t=‹sensitive› sensitive", ""},
		{"a sensitive input with a default", "{{.nuon.inputs.inputs.password}}", "‹sensitive› sensitive", ""},
		{"a sensitive default in a function", "a {{b64enc .nuon.inputs.inputs.password}}",
			"‹contains a sensitive value› sensitive", ""},
		{"a sensitive value that decides", `{{if eq .nuon.inputs.inputs.password "x"}}a{{else}}b{{end}}`,
			"‹contains a sensitive value› sensitive", ""},
		{"all inputs", "{{toJson .nuon.inputs.inputs}}", "‹contains a sensitive value› sensitive", ""},
		{"the whole install", "{{toJson .nuon.install}}", "‹contains a sensitive value› sensitive", ""},
		{"printed and used", "{{.nuon.inputs.inputs.password}}{{len .nuon.inputs.inputs.password}}",
			"‹contains a sensitive value› sensitive", ""},
		{"sensitive and missing", "{{.nuon.inputs.inputs.password}}{{len " + net + ".net}}",
			"‹contains a sensitive value› [network is deployed] sensitive",
			"‹sensitive›2 sensitive"},
		{"an input that nobody entered", "{{.nuon.inputs.inputs.size}}",
			"‹known after input size is entered› [input size is entered]", ""},
		{"no such input", "{{.nuon.inputs.inputs.gone}}",
			"! k:1:3: .nuon.inputs.inputs.gone has no value (`dig` and `hasKey` can ask for what may be missing)", ""},
		{"the stack", "{{.nuon.install_stack.outputs.vpc_id}}",
			"‹known after stack output vpc_id is set› [stack output vpc_id is set]", ""},
		{"a stack output", "{{.nuon.install_stack.outputs.region}}-{{.nuon.install_stack.populated}}", "eu-1-true", ""},
		{"an element of a stack output", "{{index .nuon.install_stack.outputs.subnets 1}}", "b", ""},
		{"the stack's template", "{{.nuon.install_stack.template_url}}",
			"‹known after the install's stack is rendered› [the install's stack is rendered]", ""},
		{"an action", "{{.nuon.actions.workflows.check.outputs.ok}}",
			"‹known after action check has run› [action check has run]", ""},
		{"no template after all", "{{.nuon.a", "! k:1:1: an expression is not closed (write }} behind it)", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.outputs[outputOwner{"component", "network"}], s.components["network"].row.AppliedArtifact = nil, ""
			if got := inShort(t, s, test.text); got != test.before {
				t.Errorf("before: %q\n want   %q", got, test.before)
			}
			s.land("network")
			if test.after == "" {
				test.after = test.before
			}
			if got := inShort(t, s, test.text); got != test.after {
				t.Errorf("after: %q\n want  %q", got, test.after)
			}
		})
	}
}

func inShort(t *testing.T, s *snapshot, text string) string {
	t.Helper()
	all, err := newDisplay(s).Render(t.Context(), map[string]string{"k": text})
	if err != nil || len(all) != 1 {
		t.Fatalf("Render: %v %v", all, err)
	}
	if raw, _ := json.Marshal(all); strings.Contains(string(raw), "preset") {
		t.Errorf("%s shows a sensitive default", raw)
	}
	short := all[0].Text
	if all[0].Problem != "" {
		short += "! " + all[0].Problem
	}
	for _, waits := range all[0].WaitsFor {
		short += " [" + waits + "]"
	}
	if all[0].Sensitive {
		short += " sensitive"
	}
	return short
}

// TestDisplayIsBounded: Render shows as many texts as may be sent at once, shows a
// single text of any size, and stops when its context is done.
func TestDisplayIsBounded(t *testing.T) {
	large := strings.Repeat("x", maxDisplayBytes/2+1)
	d := newDisplay(newSnapshot())
	all, err := d.Render(t.Context(), map[string]string{"a": large, "b": large, "c": "small"})
	if err != nil {
		t.Fatal(err)
	}
	got := []bool{all[0].Text == large, all[1].Text == tooLongPlaceholder, all[2].Text == "small"}
	if diff := cmp.Diff([]bool{true, true, true}, got); diff != "" {
		t.Error(diff)
	}
	if all, err := d.Render(t.Context(), map[string]string{"a": strings.Repeat("x", maxDisplayBytes+1)}); err != nil ||
		all[0].Text == tooLongPlaceholder {
		t.Errorf("a single text is not shown: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := d.Render(ended, map[string]string{"a": "x"}); err == nil {
		t.Error("it goes on after it is not wanted any more")
	}
}
