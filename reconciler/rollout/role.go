package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/stackversion"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// roleOutputs are the outputs of a stack that name its roles.
type roleOutputs struct {
	standing           string // of a standing role, after its kind
	custom, breakGlass string // of the others: objects by the name of the role
}

var roleOutputsOf = map[string]roleOutputs{
	"aws":   {"_iam_role_arn", "custom_role_arns", "break_glass_role_arns"},
	"azure": {"_identity_name", "custom_identity_names", "break_glass_identity_names"},
	"gcp":   {"_sa_email", "custom_sa_emails", "break_glass_sa_emails"},
}

// declaresRoles reports whether the app declares roles of a cloud that has them.
func (s *snapshot) declaresRoles() bool {
	if s.config == nil || len(s.config.Permissions)+len(s.config.BreakGlass) == 0 {
		return false
	}
	_, known := roleOutputsOf[s.config.Cloud()]
	return known
}

// hasRoles reports whether jobs of the install run under roles: the app declares some, and the customer's stack
// reported any, or the runner is the machine of a stack.
func (s *snapshot) hasRoles() bool {
	if !s.declaresRoles() {
		return false
	}
	if runners.ByIdentity(s.runner) {
		return true
	}
	outputs := roleOutputsOf[s.config.Cloud()]
	for _, kind := range []installstack.RoleKind{installstack.Provision, installstack.Maintenance,
		installstack.Deprovision} {
		if s.stack[string(kind)+outputs.standing] != nil {
			return true
		}
	}
	return s.stack[outputs.custom] != nil || s.stack[outputs.breakGlass] != nil
}

// operationRole returns the role of an operation, or why there is none now. Both are zero if jobs of the install run
// with the runner's own identity.
func (s *snapshot) operationRole(op installstack.Operation) (role api.OperationRole, why string) {
	if !s.hasRoles() {
		if s.declaresRoles() && s.config.Stack != nil && s.stack == nil && s.runnerKey == "" {
			return role, "the app declares roles, and no runner has registered yet, so it is not known whether the customer's " +
				"stack has them"
		}
		return role, ""
	}
	found, err := s.appRoles().For(op)
	if err != nil {
		return role, err.Error()
	}
	if s.stack == nil {
		return role, fmt.Sprintf("the %s runs under the role %s of the customer's stack, which has reported nothing yet", op,
			found.Key)
	}
	cloud := s.config.Cloud()
	output, reported := s.reportedRole(roleOutputsOf[cloud], found)
	switch {
	case s.stackRunning == stackversion.Deleted:
		return role, fmt.Sprintf("the %s runs under the role %s of the customer's stack, which the customer has deleted; "+
			"the customer creates it again: nuon installs stack link %s", op, found.Key, s.address())
	case found.Kind == installstack.BreakGlass && !s.breakGlass[found.Key]:
		return role, fmt.Sprintf("the %s runs under the break-glass role %s, which is not requested; request it: nuon "+
			"break-glass request %s %s --reason TEXT --for 2h", op, found.Key, s.address(), found.Key)
	case reported == "" && found.Kind == installstack.BreakGlass:
		return role, fmt.Sprintf("the %s runs under the break-glass role %s, which the customer has not switched on; what "+
			"the customer does: nuon break-glass list %s", op, found.Key, s.address())
	case reported == "":
		return role, fmt.Sprintf("the %s runs under the role %s, which is switched off in the customer's stack; the "+
			"customer switches it on there, and it continues when the stack has reported that, or you did: nuon installs "+
			"stack set %s --file FILE", op, found.Key, s.address())
	}
	name := reported
	if cloud == "aws" {
		if _, name, _ = strings.Cut(reported, ":role/"); name == "" {
			return role, fmt.Sprintf("stack output %s is %.80q, which is not the ARN of a role", output, reported)
		}
	}
	return api.OperationRole{Cloud: cloud, Name: name, Key: found.Key, Kind: string(found.Kind),
		Operation: string(op.Verb)}, ""
}

// checkChosenRole returns an error for a role that a run cannot choose. A break-glass role needs a request and the
// grants of the customer nevertheless, and a role that is off keeps the run from starting.
func (s *snapshot) checkChosenRole(name string) error {
	if !s.hasRoles() {
		return invalid(CodeBadRole, "Leave the role out.", "jobs of install %s run under no roles of the customer's "+
			"account: the app declares none, or the customer's stack reported none", s.address())
	}
	if names := s.appRoles().Names(); !slices.Contains(names, name) {
		return invalid(CodeBadRole, "Name one of: "+strings.Join(names, ", ")+".", "app %s has no role %.100q", s.app.Name,
			name)
	}
	return nil
}

// appRoles returns the roles of the app.
func (s *snapshot) appRoles() *installstack.Roles {
	if s.roles == nil {
		s.roles = installstack.ReadRoles(s.config, s.stackFacts())
	}
	return s.roles
}

// BreakGlassRoles returns the break-glass roles of the app of an install, or an *refusal.Error if there are none.
func BreakGlassRoles(ctx context.Context, tx *store.Tx, install store.Install) ([]installstack.BreakGlassRole, error) {
	all, err := loadReadOnly(ctx, tx, []store.Install{install})
	if err != nil {
		return nil, err
	}
	s := all[0]
	if s.config == nil || len(s.config.BreakGlass) == 0 {
		return nil, invalid(CodeNoBreakGlass, "Declare some in break_glass.toml, and release the app.",
			"release %d of app %s has no break-glass roles", s.release.Number, s.app.Name)
	}
	if _, known := roleOutputsOf[s.config.Cloud()]; !known {
		return nil, invalid(CodeNoBreakGlass, "Roles have an effect on AWS, Azure and GCP.",
			"the runners of app %s do not act under roles", s.app.Name)
	}
	roles, err := s.appRoles().BreakGlass()
	if err != nil {
		return nil, invalid(CodeNoBreakGlass, "Fix the names in break_glass.toml, and release the app.",
			"the break-glass roles of app %s cannot be read: %s", s.app.Name, err)
	}
	return roles, nil
}

// StackBreakGlass returns the ends of the break-glass roles that the customer's stack reported as switched on, by the
// names of the roles.
func StackBreakGlass(outputs map[string]json.RawMessage) map[string]string {
	ends, reported := map[string]string{}, map[string]string{}
	_ = json.Unmarshal(outputs["break_glass_until"], &reported) // another type is no end
	for _, names := range roleOutputsOf {
		byName := map[string]string{}
		_ = json.Unmarshal(outputs[names.breakGlass], &byName) // the same
		for name, role := range byName {
			if role != "" {
				ends[name] = reported[name]
			}
		}
	}
	return ends
}

// reportedRole returns what the stack reported about a role, and the name of the output.
func (s *snapshot) reportedRole(outputs roleOutputs, role installstack.Role) (output, reported string) {
	switch role.Kind {
	case installstack.Custom:
		output = outputs.custom
	case installstack.BreakGlass:
		output = outputs.breakGlass
	default:
		output = string(role.Kind) + outputs.standing
		_ = json.Unmarshal(s.stack[output], &reported) // another type is no role
		return output, reported
	}
	byName := map[string]string{}
	_ = json.Unmarshal(s.stack[output], &byName)
	return output, byName[role.Key]
}

// deployOperation returns what a deploy or a removal of a component is, for its role.
func deployOperation(p *installComponent, remove bool) installstack.Operation {
	op := installstack.Operation{Component: p.row.Name, Verb: installstack.VerbDeploy}
	switch sandbox := p.row.Name == appconfig.SandboxName; {
	case sandbox && remove:
		op.Verb = installstack.VerbDeprovision
	case sandbox && p.mayBeDeployed():
		op.Verb = installstack.VerbReprovision
	case sandbox:
		op.Verb = installstack.VerbProvision
	case remove:
		op.Verb = installstack.VerbTeardown
	}
	return op
}

// waitForRole makes a component wait if it cannot be deployed or removed under its role now. What it leads to
// is known nevertheless, so its digest is, too.
func (d *resolver) waitForRole(p *installComponent, w *desiredState) {
	if _, why := d.operationRole(deployOperation(p, w.Absent)); why != "" {
		w.WaitReason, w.Stalled, w.NoRole, w.externalWait = why, d.runnerKey != "", true, true
	}
}
