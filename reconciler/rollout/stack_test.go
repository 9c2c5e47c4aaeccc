package rollout

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// stackReaders returns an install whose components read outputs of the stack, as vars by name.
func stackReaders(reads map[string]string) *snapshot {
	s := newSnapshot()
	for name, text := range reads {
		for i := range s.config.Components {
			if c := &s.config.Components[i]; c.Name == name {
				c.Terraform = &appconfig.Terraform{Vars: map[string]string{"x": text}}
				s.components[name].declaration = declarationOf(s.config, name)
			}
		}
	}
	return s
}

// stackOutputs returns outputs from names and JSON values.
func stackOutputs(pairs ...string) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return all
}

// TestStackOutputsThatAreMissing checks the reason of a component that waits for outputs of the stack: it names
// them, and the command that sets them.
func TestStackOutputsThatAreMissing(t *testing.T) {
	const set = ": nuon installs stack set hello/east"
	for name, c := range map[string]struct {
		reads, want string
		stack       map[string]json.RawMessage
	}{
		"one": {reads: "{{.nuon.install_stack.outputs.vpc_id}}",
			want: "stack output vpc_id is not set; set it" + set + " vpc_id=VALUE"},
		"set": {reads: "{{.nuon.install_stack.outputs.vpc_id}}", stack: stackOutputs("vpc_id", `"vpc-1"`)},
		"several, of which one is set": {
			reads: "{{.nuon.install_stack.outputs.vpc_id}}{{.nuon.install_stack.outputs.region}}" +
				"{{.nuon.install_stack.outputs.public_subnets}}{{len .nuon.install_stack.outputs.custom_role_arns}}",
			stack: stackOutputs("region", `"eu"`),
			want: "stack outputs custom_role_arns, public_subnets and vpc_id are not set; set them" + set +
				" --set-json 'custom_role_arns={…}' --set-json 'public_subnets=[…]' vpc_id=VALUE"},
		"a part that is missing": {reads: "{{.nuon.install_stack.outputs.custom_nested_stacks.db.endpoint}}",
			stack: stackOutputs("custom_nested_stacks", `{"db":{}}`),
			want: "stack output custom_nested_stacks.db.endpoint is not set; set it" + set +
				" --set-json 'custom_nested_stacks={…}'"},
		"an element": {reads: "{{index .nuon.install_stack.outputs.public_subnets 0}}",
			stack: stackOutputs("public_subnets", `["a"]`)},
		"all, before there are any": {reads: "{{.nuon.install_stack.outputs | toJson}}",
			want: "the outputs of the install's stack are not set; set them" + set + " --file FILE"},
		"one that may be missing": {reads: `{{dig "vpc_id" "none" .nuon.install_stack.outputs}}`,
			stack: stackOutputs("region", `"eu"`)},
		"one that may be missing, of no outputs": {reads: `{{dig "vpc_id" "none" .nuon.install_stack.outputs}}`,
			stack: stackOutputs()},
		"whether there are any": {reads: "{{.nuon.install_stack.populated}}"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stackReaders(map[string]string{"metrics": c.reads})
			s.stack = c.stack
			s.land("sandbox")
			w := s.desiredStates()["metrics"]
			if w.WaitReason != c.want || (c.want != "") != w.Stalled {
				t.Errorf("waits (for a person: %t): %q\nwant: %q", w.Stalled, w.WaitReason, c.want)
			}
			if values, err := s.values(s.components["metrics"].refs); err != nil || len(values.Sealed) != 0 {
				t.Errorf("values: %+v, %v", values, err)
			}
		})
	}
}

// TestAStackOutputReachesItsReadersAlone checks which components a changed output makes behind, and why.
func TestAStackOutputReachesItsReadersAlone(t *testing.T) {
	reads := map[string]string{
		"network": "{{.nuon.install_stack.outputs.vpc_id}}",
		"metrics": "{{.nuon.install_stack.outputs.custom_nested_stacks.db.endpoint}}{{.nuon.install_stack.populated}}",
	}
	before := stackOutputs("vpc_id", `"vpc-1"`, "region", `"eu"`,
		"custom_nested_stacks", `{"db":{"endpoint":"a","port":1},"cache":{}}`)
	with := func(pairs ...string) map[string]json.RawMessage {
		all := stackOutputs(pairs...)
		for name, value := range before {
			if _, set := all[name]; !set {
				all[name] = value
			}
		}
		return all
	}
	current := map[string]string{"sandbox": "current", "network": "current", "web": "current", "metrics": "current"}
	for name, c := range map[string]struct {
		stack map[string]json.RawMessage
		want  map[string]string // those that are not current
	}{
		"nothing":                {stack: with()},
		"one that nothing reads": {stack: with("region", `"us"`)},
		"the same value, written otherwise": {stack: with("custom_nested_stacks",
			`{ "cache": {}, "db": {"port": 1, "endpoint": "a"} }`)},
		"another part": {stack: with("custom_nested_stacks", `{"db":{"endpoint":"a","port":2}}`)},
		"one more":     {stack: with("account_id", `"1"`)},
		"the part": {stack: with("custom_nested_stacks", `{"db":{"endpoint":"b"}}`), want: map[string]string{
			"metrics": "behind: stack output custom_nested_stacks.db.endpoint changed"}},
		"an output": {stack: with("vpc_id", `"vpc-2"`), want: map[string]string{
			"network": "behind: stack output vpc_id changed", "web": "waits: network, which is behind"}},
		"the type of an output": {stack: with("vpc_id", `["vpc-1"]`), want: map[string]string{
			"network": "behind: stack output vpc_id changed", "web": "waits: network, which is behind"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stackReaders(reads)
			s.stack = before
			s.landAll()
			if diff := cmp.Diff(current, s.stands()); diff != "" {
				t.Fatal(diff)
			}
			s.stack = c.stack
			want := map[string]string{}
			for name, stands := range current {
				want[name] = stands
				if other, moves := c.want[name]; moves {
					want[name] = other
				}
			}
			if diff := cmp.Diff(want, s.stands()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAStackOutputMakesBehindWhatAlsoWaits checks that a change of the install itself makes a component behind although
// something upstream is not current.
func TestAStackOutputMakesBehindWhatAlsoWaits(t *testing.T) {
	s := stackReaders(map[string]string{"web": "{{.nuon.install_stack.outputs.vpc_id}}" +
		"{{.nuon.components.network.status}}{{.nuon.components.network.outputs.net.cidr}}"})
	s.stack = stackOutputs("vpc_id", `"vpc-1"`)
	s.landAll()
	s.upgrade("network")
	if s.desiredStates()["web"].behind {
		t.Fatal("web is behind because network is")
	}
	s.stack = stackOutputs("vpc_id", `"vpc-2"`)
	if !s.desiredStates()["web"].behind {
		t.Error("web is not behind")
	}
}

// TestAnActionWithoutItsStackOutput checks that the error names the output and the command.
func TestAnActionWithoutItsStackOutput(t *testing.T) {
	s := newSnapshot()
	s.config.Actions = []appconfig.Action{{Name: "probe", Timeout: "1m", Steps: []appconfig.ActionStep{{Name: "a",
		Command: "true", EnvVars: map[string]string{"REGION": "{{.nuon.install_stack.outputs.region}}"}}}}}
	_, err := s.ActionJob(workflow.ActionRun{Action: "probe"})
	var cannot *workflow.Unavailable
	if !errors.As(err, &cannot) || !strings.Contains(cannot.Reason,
		"stack output region is not set; set it: nuon installs stack set hello/east region=VALUE") {
		t.Errorf("error %v", err)
	}
	s.stack = stackOutputs("region", `"eu"`)
	job, err := s.ActionJob(workflow.ActionRun{Action: "probe"})
	if err != nil || !strings.Contains(string(job.Spec.Values.Plain), `"region":"eu"`) {
		t.Errorf("%s, %v", job.Spec.Values.Plain, err)
	}
}
