package attacks

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terraform"
)

// TestHidingInPlans hides a risky change of a Terraform plan among changes that every fold and mask
// treats as noise. In each case there must be a security finding that the noise alone does not have,
// and the risky difference must not be folded.
func TestHidingInPlans(t *testing.T) {
	for seed := range uint64(*attempts) / 2 {
		r := rand.New(rand.NewPCG(seed, 20261123))
		risk := planRisks[r.IntN(len(planRisks))]
		drift := r.IntN(4) == 0
		var found [2]map[string]bool
		var last *diff.Report
		for i := range found {
			same := rand.New(rand.NewPCG(seed, 1))
			p := resourcesOf(same)
			if i == 1 {
				risk.apply(p)
			}
			for _, noise := range drawn(same, planNoises) {
				noise(same, p)
			}
			last = reportOf(t, p, drift)
			found[i] = securityFindingsIn(last)
		}
		maps.DeleteFunc(found[1], func(f string, _ bool) bool { return found[0][f] })
		if len(found[1]) == 0 {
			t.Errorf("seed %d (drift: %t): %s has no finding about security; folded: %s",
				seed, drift, risk.name, last.FoldedSummary())
		}
		if !shows(last, risk.at) {
			t.Errorf("seed %d (drift: %t): %s is not shown", seed, drift, risk.name)
		}
	}
}

// securityFindingsIn returns the security findings of all listed changes and of drift.
func securityFindingsIn(r *diff.Report) map[string]bool {
	out := map[string]bool{}
	for _, c := range slices.Concat(r.Changes, r.Drift) {
		for _, f := range c.Findings {
			if f.Security && !c.IsNoise() {
				out[c.Address+" "+f.Rule] = true
			}
		}
	}
	return out
}

// shows reports whether some field of a resource is not folded.
func shows(r *diff.Report, address string) bool {
	for _, c := range slices.Concat(r.Changes, r.Drift) {
		if c.Address == address && slices.ContainsFunc(c.Fields, func(f diff.FieldChange) bool { return f.Fold == "" }) {
			return true
		}
	}
	return false
}

// pairOf is a resource before and after.
type pairOf struct{ before, after map[string]any }

// resourcesOf returns unchanged resources by address.
func resourcesOf(r *rand.Rand) map[string]*pairOf {
	policy := map[string]any{"Version": "2012-10-17", "Statement": []any{
		map[string]any{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::b/*"},
		map[string]any{"Effect": "Deny", "Action": "s3:*", "Resource": "arn:aws:s3:::b/${aws:username}/*"},
	}}
	values := map[string]any{"a": digits(r), "web": map[string]any{"securityContext": map[string]any{"privileged": false}}}
	out := map[string]*pairOf{}
	for address, v := range map[string]map[string]any{
		"aws_iam_policy.x":     {"name": "p", "description": nil, "tags": nil, "policy": text(policy)},
		"aws_security_group.x": {"name": "g", "tags": nil, "ingress": []any{flow("10.0.0.0/8", 22)}},
		"aws_db_instance.x":    {"publicly_accessible": false, "tags": nil, "option": nil},
		"helm_release.x":       {"name": "h", "values": []any{text(values)}, "set": []any{}, "description": nil},
		"aws_instance.x": {"ami": "ami-0123456789abcdef0", "user_data": text(map[string]any{"a": "b"}),
			"tags": nil},
		"aws_ecs_task_definition.x": {"tags": nil, "container_definitions": text(
			[]any{map[string]any{"name": "a", "image": "a:1"}})},
		"kubernetes_cluster_role.x": {"metadata": []any{map[string]any{"name": "r", "annotations": nil}},
			"rule": []any{map[string]any{
				"api_groups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get"}, "resource_names": nil,
			}}},
	} {
		out[address] = &pairOf{clone(v), clone(v)}
	}
	return out
}

// flow returns a firewall rule that admits traffic.
func flow(from string, port int) map[string]any {
	return map[string]any{
		"cidr_blocks": []any{from}, "from_port": port, "to_port": port, "protocol": "tcp", "description": nil,
	}
}

// planRisks lists changes with a security finding, each of the resource at an address.
var planRisks = []struct {
	name, at string
	apply    func(map[string]*pairOf)
}{
	{"a policy for everything", "aws_iam_policy.x", func(p map[string]*pairOf) {
		p["aws_iam_policy.x"].edit("policy", func(d any) { at(d, "Statement", 0)["Action"] = "*:*" })
	}},
	{"an older version of a policy", "aws_iam_policy.x", func(p map[string]*pairOf) {
		p["aws_iam_policy.x"].edit("policy", func(d any) { at(d)["Version"] = "2008-10-17" })
	}},
	{"an open firewall", "aws_security_group.x", func(p map[string]*pairOf) {
		at(p["aws_security_group.x"].after, "ingress", 0)["cidr_blocks"] = []any{"0.0.0.0/1", "128.0.0.0/1"}
	}},
	{"a public database", "aws_db_instance.x", func(p map[string]*pairOf) {
		p["aws_db_instance.x"].after["publicly_accessible"] = true
	}},
	{"a privileged chart", "helm_release.x", func(p map[string]*pairOf) {
		p["helm_release.x"].after["set"] = []any{map[string]any{"name": "a",
			"value": "1,web.securityContext.privileged=true"}}
	}},
	{"a privileged task", "aws_ecs_task_definition.x", func(p map[string]*pairOf) {
		p["aws_ecs_task_definition.x"].edit("container_definitions", func(d any) { at(d, 0)["privileged"] = true })
	}},
	{"a powerful role", "kubernetes_cluster_role.x", func(p map[string]*pairOf) {
		at(p["kubernetes_cluster_role.x"].after, "rule", 0)["verbs"] = []any{"*"}
	}},
}

// planNoises lists changes that folds and masks treat as noise. They preserve other differences.
var planNoises = []func(r *rand.Rand, p map[string]*pairOf){
	func(_ *rand.Rand, p map[string]*pairOf) { // null and empty
		for _, k := range slices.Sorted(maps.Keys(p)) {
			for _, name := range []string{"tags", "description", "option"} {
				if v, has := p[k].after[name]; has && v == nil {
					p[k].after[name] = map[string]any{"tags": map[string]any{}, "description": "", "option": []any{}}[name]
				}
			}
		}
	},
	func(_ *rand.Rand, p map[string]*pairOf) { // another format
		for _, k := range slices.Sorted(maps.Keys(p)) {
			for _, name := range []string{"policy", "container_definitions"} {
				if s, isText := p[k].after[name].(string); isText {
					var b bytes.Buffer
					if json.Indent(&b, []byte(s), "", "  ") == nil {
						p[k].after[name] = b.String()
					}
				}
			}
		}
	},
	func(r *rand.Rand, p map[string]*pairOf) { // secrets that equal a risky value
		v := map[string]any{
			"a": "0.0.0.0/1 ", "b": "*:*", "c": "1,web.securityContext.privileged=true", "d": digits(r),
			"e": `"privileged":true`,
		}
		p["sensitive.x"] = &pairOf{v, v}
	},
	func(r *rand.Rand, p map[string]*pairOf) { // resources that only change
		for range r.IntN(20) {
			p["aws_sqs_queue.q"+digits(r)] = &pairOf{map[string]any{"delay": 1}, map[string]any{"delay": 2}}
		}
	},
	func(_ *rand.Rand, p map[string]*pairOf) { // another place in its set
		g := p["aws_security_group.x"]
		quiet := flow("10.1.0.0/16", 443)
		g.before["ingress"] = append(g.before["ingress"].([]any), quiet)
		g.after["ingress"] = append([]any{quiet}, g.after["ingress"].([]any)...)
	},
}

// edit changes the document in an attribute on the after side.
func (p *pairOf) edit(name string, change func(document any)) {
	var document any
	if err := json.Unmarshal([]byte(p.after[name].(string)), &document); err != nil {
		panic(err)
	}
	change(document)
	p.after[name] = text(document)
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// reportOf returns the report of a plan with the changes or, with drift, of a plan that finds that
// others have made them.
func reportOf(t *testing.T, p map[string]*pairOf, drift bool) *diff.Report {
	t.Helper()
	var list []any
	for _, address := range slices.Sorted(maps.Keys(p)) {
		kind, name, _ := strings.Cut(address, ".")
		actions, marks := "update", map[string]any{}
		if text(p[address].before) == text(p[address].after) {
			actions = "no-op"
		}
		if kind == "sensitive" {
			for k := range p[address].after {
				marks[k] = true
			}
		}
		list = append(list, map[string]any{
			"address": address, "mode": "managed", "type": kind, "name": name,
			"change": map[string]any{
				"actions": []string{actions}, "before": p[address].before, "after": p[address].after,
				"after_unknown": map[string]any{}, "before_sensitive": marks, "after_sensitive": marks,
			},
		})
	}
	section := "resource_changes"
	if drift {
		section = "resource_drift"
	}
	quiet := map[string]any{"address": "a.b", "change": map[string]any{"actions": []string{"no-op"}}}
	plan := map[string]any{"format_version": "1.2", "resource_changes": []any{quiet}}
	plan[section] = append(list, quiet)
	report, err := terraform.Report(bytes.NewReader([]byte(text(plan))), terraform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Validate(); err != nil {
		t.Fatal(err)
	}
	return report
}
