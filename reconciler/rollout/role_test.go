package rollout

import (
	"errors"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/stackversion"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// withRoles returns an install of an app with roles on a cloud.
func withRoles(cloud string) *snapshot {
	s := newSnapshot()
	s.config.Runner = &format.Runner{Type: cloud}
	const id = "{{.nuon.install.id}}-"
	for kind, name := range map[string]string{"provision": "p", "maintenance": "m", "deprovision": "d",
		"custom": "deploy"} {
		s.config.Permissions = append(s.config.Permissions,
			format.StandingRole{Type: kind, Role: format.Role{Name: id + name}})
	}
	s.config.BreakGlass = []format.Role{{Name: id + "repair"}}
	s.config.OperationRoles = []format.OperationRule{{Principal: "nuon::component:metrics", Operation: "deploy",
		Role: id + "deploy"}}
	s.config.Actions = append(s.config.Actions, appconfig.Action{Name: "repair", BreakGlassRole: id + "repair"})
	return s
}

// TestRolesOfJobs checks which role a job gets from what the customer's stack reported, and why one waits.
func TestRolesOfJobs(t *testing.T) {
	arn := func(name string) string { return `"arn:aws:iam::1:role/` + name + `"` }
	for name, c := range map[string]struct {
		cloud string
		stack []string
		op    installstack.Operation
		want  string // the name of the role, or why there is none
	}{
		"before there are outputs": {"aws", nil, installstack.Operation{Component: "metrics", Verb: "deploy"}, ""},
		"a stack without roles": {"aws", []string{"vpc_id", `"vpc-1"`},
			installstack.Operation{Component: "metrics", Verb: "deploy"}, ""},
		"a standing role": {"aws", []string{"provision_iam_role_arn", arn("p")},
			installstack.Operation{Component: "sandbox", Verb: "provision"}, "p"},
		"below a path": {"aws", []string{"provision_iam_role_arn", arn("vendor/p")},
			installstack.Operation{Component: "sandbox", Verb: "provision"}, "vendor/p"},
		"no ARN": {"aws", []string{"provision_iam_role_arn", `"p"`},
			installstack.Operation{Component: "sandbox", Verb: "provision"}, "which is not the ARN of a role"},
		"a custom role": {"aws", []string{"custom_role_arns", `{"INSTALL-deploy":` + arn("INSTALL-deploy") + `}`},
			installstack.Operation{Component: "metrics", Verb: "deploy"}, "INSTALL-deploy"},
		"switched off": {"aws", []string{"provision_iam_role_arn", arn("p"), "maintenance_iam_role_arn", `""`},
			installstack.Operation{Component: "metrics", Verb: "teardown"}, "switched off in the customer's stack"},
		"a custom role that is off": {"aws", []string{"provision_iam_role_arn", arn("p")},
			installstack.Operation{Component: "metrics", Verb: "deploy"}, "switched off in the customer's stack"},
		"break glass": {"aws", []string{"provision_iam_role_arn", arn("p"), "break_glass_role_arns", `{}`},
			installstack.Operation{Action: "repair", Verb: "trigger"}, "which is not requested; request it: nuon break-glass"},
		"break glass that is requested": {"aws", []string{"provision_iam_role_arn", arn("p"), "break_glass_role_arns", `{}`},
			installstack.Operation{Action: "repair", Verb: "trigger"}, "which the customer has not switched on"},
		"break glass that is on": {"aws", []string{"break_glass_role_arns", `{"INSTALL-repair":` + arn("INSTALL-r") + `}`},
			installstack.Operation{Action: "repair", Verb: "trigger"}, "INSTALL-r"},
		"a service account": {"gcp", []string{"provision_sa_email", `"p@x.iam.gserviceaccount.com"`},
			installstack.Operation{Component: "sandbox", Verb: "provision"}, "p@x.iam.gserviceaccount.com"},
		"an identity": {"azure", []string{"provision_identity_name", `"INSTALL-p"`},
			installstack.Operation{Component: "sandbox", Verb: "provision"}, "INSTALL-p"},
		"an identity that is off": {"azure", []string{"provision_identity_name", `"INSTALL-p"`,
			"maintenance_identity_name", `""`}, installstack.Operation{Component: "metrics", Verb: "teardown"},
			"switched off in the customer's stack"},
		"break glass that is on, on Azure": {"azure", []string{"break_glass_identity_names",
			`{"INSTALL-repair":"INSTALL-repair"}`}, installstack.Operation{Action: "repair", Verb: "trigger"},
			"INSTALL-repair"},
		"a cloud without roles": {"local", []string{"provision_iam_role_arn", arn("p")},
			installstack.Operation{Component: "sandbox", Verb: "provision"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := withRoles(c.cloud)
			s.breakGlass = map[string]bool{s.install.ID + "-repair": strings.HasPrefix(name, "break glass that is ")}
			for i := range c.stack {
				c.stack[i] = strings.ReplaceAll(c.stack[i], "INSTALL", s.install.ID)
			}
			if c.stack != nil {
				s.stack = stackOutputs(c.stack...)
			}
			want := strings.ReplaceAll(c.want, "INSTALL", s.install.ID)
			role, why := s.operationRole(c.op)
			if role.Name != want && (why == "" || !strings.Contains(why, want)) {
				t.Errorf("got %+v, %q", role, why)
			}
			if (role == api.OperationRole{}) != (why != "" || want == "") {
				t.Errorf("got %+v, %q", role, why)
			}
		})
	}
}

// TestRolesBeforeTheReport checks that nothing runs with the identity of a stack's own machine, before the stack has
// reported its roles and while all are off, and that runners which no stack created do without.
func TestRolesBeforeTheReport(t *testing.T) {
	op := installstack.Operation{Component: "sandbox", Verb: installstack.VerbProvision}
	for name, c := range map[string]struct {
		key, by string
		stack   []string
		want    string
	}{
		"no runner":                         {"", "", nil, "no runner has registered yet"},
		"a runner with a token":             {"key_1", "token", nil, ""},
		"the machine of a stack":            {"key_1", "identity", nil, "which has reported nothing yet"},
		"the machine of a stack, roles off": {"key_1", "identity", []string{"vpc_id", `"vpc-1"`}, "which is switched off"},
	} {
		s := withRoles("aws")
		s.config.Stack = &format.Stack{}
		s.runnerKey, s.runner.RegisteredBy, s.stack = c.key, c.by, nil
		if c.stack != nil {
			s.stack = stackOutputs(c.stack...)
		}
		role, why := s.operationRole(op)
		if role.Name != "" || (why == "") != (c.want == "") || !strings.Contains(why, c.want) {
			t.Errorf("%s: got %+v, %q", name, role, why)
		}
	}
}

// TestRoleOfADeletedStack checks that an operation waits for a stack that the customer deleted, although its roles were
// reported before.
func TestRoleOfADeletedStack(t *testing.T) {
	s := withRoles("aws")
	s.stack = stackOutputs("provision_iam_role_arn", `"arn:aws:iam::1:role/p"`, "deprovision_iam_role_arn",
		`"arn:aws:iam::1:role/d"`)
	for _, verb := range []installstack.Verb{installstack.VerbProvision, installstack.VerbDeprovision} {
		op := installstack.Operation{Component: "sandbox", Verb: verb}
		s.stackRunning = "1"
		if role, why := s.operationRole(op); role.Name == "" || why != "" {
			t.Errorf("%s: got %+v, %q", op, role, why)
		}
		s.stackRunning = stackversion.Deleted
		role, why := s.operationRole(op)
		if role.Name != "" || !strings.Contains(why, "of the customer's stack, which the customer has deleted") {
			t.Errorf("%s of a deleted stack: got %+v, %q", op, role, why)
		}
	}
}

// TestChosenRole checks that a run of an action has the role that a person chose before any other, that what an
// approver approves of the run has it too, and what cannot be chosen.
func TestChosenRole(t *testing.T) {
	s := withRoles("aws")
	s.config.Actions[len(s.config.Actions)-1].Triggers = []appconfig.Trigger{{Type: appconfig.TriggerManual}}
	refused := func(role, want string) {
		t.Helper()
		_, err := s.actionRequest(ActionRequest{Action: "repair", Role: role, Actor: "alice"})
		if no := (*refusal.Error)(nil); !errors.As(err, &no) || no.Code != CodeBadRole ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("role %q: %v", role, err)
		}
	}
	id := s.install.ID
	refused(id+"-deploy", "run under no roles of the customer's account")
	s.land("sandbox")
	s.stack = stackOutputs("maintenance_iam_role_arn", `"arn:aws:iam::1:role/m"`, "custom_role_arns",
		`{"`+id+`-deploy":"arn:aws:iam::1:role/x"}`)
	refused("Admin", `has no role "Admin"`)
	request, err := s.actionRequest(ActionRequest{Action: "repair", Role: id + "-deploy", Actor: "alice"})
	if err != nil || request.Role != id+"-deploy" ||
		request.Reason != "alice requested action repair under role "+id+"-deploy" {
		t.Fatalf("%+v, %v", request, err)
	}
	job, err := s.ActionJob(workflow.ActionRun{Action: "repair", Role: request.Role})
	if err != nil || job.Role.Name != "x" || job.Role.Key != id+"-deploy" {
		t.Errorf("%+v, %v", job.Role, err)
	}
	usual, err := s.Scripts("")
	if err != nil || strings.Contains(string(usual["repair"].Content), "access") {
		t.Errorf("without a choice: %s, %v", usual["repair"].Content, err)
	}
	chosen, err := s.Scripts(request.Role)
	if err != nil || !strings.Contains(string(chosen["repair"].Content),
		`"access":{"role":"`+id+`-deploy","role_kind":"custom"}`) {
		t.Errorf("with a choice: %s, %v", chosen["repair"].Content, err)
	}
	if job.ScriptDigest != chosen["repair"].Digest || job.ScriptDigest == usual["repair"].Digest {
		t.Errorf("the run has the script %s; %s is without a choice and %s with it", job.ScriptDigest,
			usual["repair"].Digest, chosen["repair"].Digest)
	}
	var no *workflow.Unavailable
	if _, err := s.ActionJob(workflow.ActionRun{Action: "repair", Role: id + "-repair"}); !errors.As(err, &no) ||
		!strings.Contains(no.Reason, "which is not requested") {
		t.Errorf("a break-glass role without a request: %v", err)
	}
	if _, err := s.ActionJob(workflow.ActionRun{Action: "repair", Role: id + "-p"}); !errors.As(err, &no) ||
		!strings.Contains(no.Reason, "switched off in the customer's stack") {
		t.Errorf("a role that is off: %v", err)
	}
}

// TestAComponentWaitsForItsRole checks that a component whose role is switched off waits and says so, that an action
// does not start, and that the role is in the target of a plan once it is on.
func TestAComponentWaitsForItsRole(t *testing.T) {
	s := withRoles("aws")
	s.land("sandbox")
	s.stack = stackOutputs("maintenance_iam_role_arn", `"arn:aws:iam::1:role/m"`, "custom_role_arns", `{}`)
	w := s.desiredStates()["metrics"]
	if !w.Stalled || !strings.Contains(w.WaitReason, "the deploy of metrics runs under the role "+s.install.ID+"-deploy, "+
		"which is switched off") {
		t.Errorf("waits (for a person: %t): %q", w.Stalled, w.WaitReason)
	}
	var no *workflow.Unavailable
	if _, err := s.ActionJob(workflow.ActionRun{Action: "repair"}); !errors.As(err, &no) ||
		!strings.Contains(no.Reason, "break-glass role") {
		t.Errorf("an action of a role that is off: %v", err)
	}
	s.stack["custom_role_arns"] = []byte(`{"` + s.install.ID + `-deploy":"arn:aws:iam::1:role/x"}`)
	if on := s.desiredStates()["metrics"]; on.WaitReason != "" || on.Digest == "" || on.Digest != w.Digest {
		t.Errorf("with the role, it waits: %q, and leads to %q; it led to %q without it", on.WaitReason, on.Digest, w.Digest)
	}
}
