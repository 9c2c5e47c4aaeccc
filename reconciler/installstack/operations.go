package installstack

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// Verb is what an operation does with its principal, as in operation_roles.toml.
type Verb string

// The verbs. The last two are not configured: a check of health, and the copy of secrets into the cluster, run under
// the maintenance role.
const (
	VerbProvision   Verb = "provision"
	VerbReprovision Verb = "reprovision"
	VerbDeprovision Verb = "deprovision"
	VerbDeploy      Verb = "deploy"
	VerbTeardown    Verb = "teardown"
	VerbTrigger     Verb = "trigger"
	VerbHealth      Verb = "health"
	VerbSecrets     Verb = "secrets"
)

// Operation is something that runs under a role.
type Operation struct {
	// Action or Component is the principal, by its name. Both are empty for a check of health and a copy of secrets.
	Action, Component string
	Verb              Verb
	// Role is the role that a person chose for one run, by its name in the config, rendered; empty for none.
	Role string
}

// String returns the operation for a message, such as "deploy of api".
func (o Operation) String() string {
	switch {
	case o.Action != "":
		return "action " + o.Action
	case o.Verb == VerbSecrets:
		return "copy of secrets into the cluster"
	case o.Component == "":
		return "check of health"
	}
	return string(o.Verb) + " of " + o.Component
}

// defaultRoles are the kinds of role of operations that no rule is for; all others have the maintenance role.
var defaultRoles = map[Verb]RoleKind{VerbProvision: Provision, VerbReprovision: Provision, VerbDeprovision: Deprovision}

// Roles are the roles of an app on one install, and which operation uses which.
type Roles struct {
	app    *appconfig.App
	all    []Role
	reader reader
	err    error
}

// ReadRoles reads the names of roles and the rules about them. It leaves permissions out.
func ReadRoles(app *appconfig.App, facts Facts) *Roles {
	r := &Roles{app: app, reader: reader{app: app, facts: facts, cloud: app.Cloud()}}
	r.reader.values = r.reader.tree()
	add := func(kind RoleKind, config *format.Role) {
		r.all = append(r.all, Role{Kind: kind, Key: r.reader.text("roles", "name", config.Name)})
	}
	for i := range app.Permissions {
		add(RoleKind(app.Permissions[i].Type), &app.Permissions[i].Role)
	}
	for i := range app.BreakGlass {
		add(BreakGlass, &app.BreakGlass[i])
	}
	r.reader.identify(r.all)
	r.err = r.problem()
	return r
}

// Names returns the names of the roles in the config, rendered, in their order.
func (r *Roles) Names() []string {
	var names []string
	for _, role := range r.all {
		names = append(names, role.Key)
	}
	return names
}

// named returns a role by its name in the config, rendered.
func (r *Roles) named(key string) (Role, bool) {
	for _, role := range r.all {
		if role.Key == key {
			return role, true
		}
	}
	return Role{}, false
}

// problem returns what could not be rendered since the last call.
func (r *Roles) problem() error {
	if len(r.reader.findings) == 0 {
		return nil
	}
	first := r.reader.findings[0]
	r.reader.findings = nil
	return errors.New(first.Message)
}

// For returns the role of an operation: the one that a person chose, else the break-glass role of the action, else the
// one of the component or action itself, else the one of the app's rules, else the default. Without any, it is an
// error.
func (r *Roles) For(op Operation) (Role, error) {
	if r.err != nil {
		return Role{}, r.err
	}
	name := op.Role
	if name == "" {
		name = r.reader.text("operation roles", "role", cmp.Or(r.own(op), r.rule(op)))
	}
	if err := r.problem(); err != nil {
		return Role{}, fmt.Errorf("the role for the %s: %w", op, err)
	}
	if name == "" {
		return r.defaultRole(op)
	}
	role, declared := r.named(name)
	if !declared {
		return Role{}, fmt.Errorf("the %s is to run under the role %s, which the app does not declare; declare it in "+
			"permissions/ or break_glass.toml", op, quoted(name))
	}
	return role, nil
}

// Unstated returns what the keys of an action do not show of the role of a run: the role, if a person chose it (by its
// name) or a rule of the app names it (as a template), and its kind, if the role is named and not of the kind that the
// key of the action implies. Both are empty for the default role.
func (r *Roles) Unstated(op Operation) (name string, kind RoleKind) {
	chosen, usual := op.Role, op
	usual.Role = ""
	role, err := r.For(usual)
	if chosen != "" {
		if named, declared := r.named(chosen); err != nil || !declared || named.Kind != role.Kind || named.Key != role.Key {
			return chosen, named.Kind
		}
	}
	if r.own(usual) == "" {
		if name = r.rule(usual); name == "" {
			return "", ""
		}
		return name, role.Kind
	}
	implied := Custom
	if action, found := r.app.Action(op.Action); found && action.BreakGlassRole != "" {
		implied = BreakGlass
	}
	if role.Kind == implied {
		return "", ""
	}
	return "", role.Kind
}

// own returns the role that the principal itself names, as a template.
func (r *Roles) own(op Operation) string {
	if op.Action != "" {
		action, found := r.app.Action(op.Action)
		if !found {
			return ""
		}
		return cmp.Or(action.BreakGlassRole, action.Role)
	}
	config, found := r.app.Component(op.Component)
	if !found {
		return ""
	}
	for _, role := range config.OperationRoles {
		if role.Operation == string(op.Verb) {
			return role.Role
		}
	}
	return ""
}

// rule returns the role of the app's rules for an operation, as a template. A rule with the name of the principal comes
// before one for all.
func (r *Roles) rule(op Operation) string {
	kind, name := "component", op.Component
	if op.Action != "" {
		kind, name = "action", op.Action
	}
	wanted := []string{"nuon::" + kind + ":" + name, "nuon::" + kind + ":*"}
	if op.Component == appconfig.SandboxName {
		wanted = []string{"nuon::sandbox"}
	}
	for _, principal := range wanted {
		for _, rule := range r.app.OperationRoles {
			if rule.Principal == principal && rule.Operation == string(op.Verb) {
				return rule.Role
			}
		}
	}
	return ""
}

// defaultRole returns the role of an operation that no rule is for.
func (r *Roles) defaultRole(op Operation) (Role, error) {
	kind := cmp.Or(defaultRoles[op.Verb], Maintenance)
	for _, role := range r.all {
		if role.Kind == kind {
			return role, nil
		}
	}
	return Role{}, fmt.Errorf("no role matches the %s: the app has no %s role; declare one in permissions/, or name a "+
		"role for it in operation_roles.toml", op, kind)
}
