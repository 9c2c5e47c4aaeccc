package policy

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

func TestExecutorOfAFile(t *testing.T) {
	const pods = "[executor]\nkind = \"kubernetes\"\nclaim = \"runner\"\n"
	for name, test := range map[string]struct{ text, want string }{
		"pods":                {pods, ""},
		"processes":           {"[executor]\nkind = \"process\"\n", ""},
		"another kind":        {"[executor]\nkind = \"docker\"\n", `"docker" is no executor; there are process and kubernetes`},
		"pods of processes":   {"[executor]\nnamespace = \"nuon\"\n", `kind is "process"; write kind = "kubernetes"`},
		"no claim":            {"[executor]\nkind = \"kubernetes\"\n", "[executor] has no claim"},
		"a part of the claim": {pods + "claim_path = \"runner\"\n", ""},
		"above the claim":     {pods + "claim_path = \"../runner\"\n", `claim_path = "../runner"; write the path`},
		"no name":             {pods + "namespace = \"Nuon!\"\n", `namespace = "Nuon!", which is no name`},
		"no kind of job": {pods + "service_accounts = {deploy = \"a\"}\n",
			`names "deploy", which is no kind of job; there are build, sync`},
		"no account": {pods + "service_accounts = {apply = \"\"}\n", `service_accounts.apply = "", which is no name`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("runner.toml", []byte(test.text))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAccountOfARole(t *testing.T) {
	executor := Executor{ServiceAccounts: map[string]string{"apply": "nuon-apply", "plan": "nuon-plan"},
		Roles: map[string]string{"ins_1-maintenance": "nuon-maintenance"}}
	for name, test := range map[string]struct {
		kind    api.JobSpecKind
		role    string
		change  func(*Rule, *api.JobSpec)
		account string
		isRole  bool
	}{
		"no role":           {kind: "apply", account: "nuon-apply"},
		"a role":            {kind: "apply", role: "ins_1-maintenance", account: "nuon-maintenance", isRole: true},
		"a plan":            {kind: "plan", role: "ins_1-maintenance", account: "nuon-maintenance", isRole: true},
		"another role":      {kind: "plan", role: "ins_1-provision", account: "nuon-plan"},
		"a check of health": {kind: "health", role: "ins_1-maintenance"},
		"a plan that reads": {kind: "plan", role: "ins_1-maintenance", account: "nuon-plan",
			change: func(r *Rule, _ *api.JobSpec) { r.Roles.ReadOnlyPlans = true }},
		"a role by a grant": {kind: "apply", role: "ins_1-maintenance", account: "nuon-apply",
			change: func(_ *Rule, s *api.JobSpec) { s.Role.Kind = breakGlass }},
		"its own identity": {kind: "apply", role: "ins_1-maintenance", account: "nuon-apply",
			change: func(r *Rule, _ *api.JobSpec) { r.Roles.OwnIdentity = true }},
	} {
		t.Run(name, func(t *testing.T) {
			rule, spec := Rule{Executor: executor}, api.JobSpec{Kind: test.kind}
			spec.Role.Name = test.role
			if test.change != nil {
				test.change(&rule, &spec)
			}
			if account, isRole := rule.AccountOf(spec); account != test.account || isRole != test.isRole {
				t.Errorf("got %q, %v", account, isRole)
			}
		})
	}
}
