package installstack

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	policydocument "github.com/nuon-toolkit/nuon/pkg/policy/document"
)

// kinds is the order of roles in a stack.
var kinds = []RoleKind{Provision, Maintenance, Deprovision, Custom, BreakGlass}

// roles reads the roles of permissions/ and break_glass.toml.
func (r *reader) roles() []Role {
	used := r.usedRoles()
	var all []Role
	for i := range r.app.Permissions {
		p := &r.app.Permissions[i]
		role := r.role(RoleKind(p.Type), &p.Role)
		role.Enabled = role.Kind != Custom || used[role.Key]
		all = append(all, r.switched(role, &p.Role))
	}
	for i := range r.app.BreakGlass {
		all = append(all, r.switched(r.role(BreakGlass, &r.app.BreakGlass[i]), &r.app.BreakGlass[i]))
	}
	r.identify(all)
	for i, role := range all {
		if slices.ContainsFunc(all[:i], func(other Role) bool { return strings.EqualFold(other.Key, role.Key) }) {
			r.errorf(roleFile(role.Key), "rename one of them; the case of letters does not count",
				"two roles have the name %s", quoted(role.Key))
		}
	}
	return all
}

// identify sorts roles and gives them their ids, by which the stack names its parameters and resources.
func (r *reader) identify(all []Role) {
	slices.SortStableFunc(all, func(a, b Role) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), strings.Compare(a.Key, b.Key))
	})
	names := make([]string, len(all))
	for i, role := range all {
		names[i] = strings.Trim(strings.ReplaceAll(role.Key, r.facts.Install.ID, ""), "-_ ")
		if role.Kind != Custom && role.Kind != BreakGlass {
			names[i] = string(role.Kind)
		}
	}
	for i, id := range IDs(names) {
		all[i].ID = id
	}
}

// switched applies enabled_in_stack.
func (r *reader) switched(role Role, config *format.Role) Role {
	if config.EnabledInStack != nil {
		role.Enabled = *config.EnabledInStack
	}
	return role
}

// roleFile names a role in findings.
func roleFile(name string) string { return "role " + Plain(name, 120) }

// usedRoles returns the names of roles that an operation of the app uses, rendered.
func (r *reader) usedRoles() map[string]bool {
	used := map[string]bool{}
	add := func(roles ...string) {
		for _, name := range roles {
			if name != "" {
				used[r.text("operation roles", "role", name)] = true
			}
		}
	}
	own := func(roles []format.OperationRole) {
		for _, o := range roles {
			add(o.Role)
		}
	}
	for _, rule := range r.app.OperationRoles {
		add(rule.Role)
	}
	if r.app.Sandbox != nil {
		own(r.app.Sandbox.OperationRoles)
	}
	for i := range r.app.Components {
		own(r.app.Components[i].OperationRoles)
	}
	for i := range r.app.Actions {
		add(r.app.Actions[i].Role, r.app.Actions[i].BreakGlassRole)
	}
	for i := range r.app.Runbooks {
		for _, step := range r.app.Runbooks[i].Steps {
			add(step.Role)
		}
	}
	return used
}

// role reads one role.
func (r *reader) role(kind RoleKind, config *format.Role) Role {
	name := r.text("roles", "name", config.Name)
	file := roleFile(name)
	role := Role{
		Kind: kind, Key: name,
		Label:       Plain(r.text(file, "display_name", cmp.Or(config.DisplayName, name)), 256),
		Description: Plain(r.text(file, "description", config.Description), 1000),
		Boundary:    r.document(file, "permissions_boundary", config.PermissionsBoundary),
		Existing:    r.existing(file, config.NamedPolicies),
	}
	switch {
	case strings.TrimSpace(name) == "":
		r.errorf(file, "write a name", "a role has no name")
	case strings.ContainsFunc(name, unicode.IsControl):
		r.errorf(file, "write a name of one line", "its name has a control character")
	case strings.Contains(name, openPlaceholder):
		r.errorf(file, "set the cloud account of the install", "its name depends on the cloud account, which is not set")
	}
	taken := map[string]bool{}
	for i := range config.Policies {
		p := &config.Policies[i]
		if p.ManagedPolicyName != "" {
			role.Policies = append(role.Policies, Policy{Managed: p.ManagedPolicyName})
		}
		if p.GCPPredefinedRole != "" {
			role.Grants = append(role.Grants, p.GCPPredefinedRole)
		}
		role.Actions = append(role.Actions, slices.Concat(p.GCPPermissions, p.AzureActions)...)
		role.BuiltIn = append(role.BuiltIn, p.AzureBuiltInRoles...)
		if policydocument.IsEmpty(p.Contents) {
			continue
		}
		name := r.text(file, "name of a policy", p.Name)
		if name = Fit(name, 128, isPolicyName); taken[name] {
			r.errorf(file, "rename one of them", "it has two policies with the name %s", quoted(name))
		}
		taken[name] = true
		role.Policies = append(role.Policies, Policy{Name: name, Document: r.document(file, "policy "+name, p.Contents)})
	}
	r.checkBreadth(file, role)
	return role
}

// isPolicyName reports whether IAM accepts a character in the name of a role or policy.
func isPolicyName(r rune) bool { return IsWord(r) || strings.ContainsRune("+=,.@-", r) }

// FitRoleName returns the name of a role on AWS.
func FitRoleName(name string) string { return Fit(Plain(name, 512), 64, isPolicyName) }

// existing reads named_policies: names or ARNs of policies that the customer's account has.
func (r *reader) existing(file string, config any) []string {
	if config == nil {
		return nil
	}
	list, ok := config.([]any)
	var all []string
	for _, item := range list {
		name, text := item.(string)
		ok = ok && text && name != ""
		all = append(all, name)
	}
	if !ok {
		r.errorf(file, `write named_policies = ["NAME"]`, "named_policies must be a list of names")
	}
	return all
}

// document renders and checks a JSON document.
func (r *reader) document(file, key, template string) Document {
	if policydocument.IsEmpty(template) {
		return nil
	}
	text := r.text(file, key, template)
	if text == "" || policydocument.IsEmpty(text) {
		return nil
	}
	broken := false
	for _, d := range policydocument.CheckFor(file, text, r.cloud) {
		d.Message = key + ": " + d.Message
		r.findings, broken = append(r.findings, d), broken || d.Severity == diagnostic.Error
	}
	var document Document
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&document); err != nil && !broken {
		r.errorf(file, "write a JSON object", "%s is not a JSON document: %v", key, err)
	}
	if placeholderInKey(map[string]any(document)) {
		r.errorf(file, "set the region of the install, or write the value",
			"%s has the cloud account in the name of a key", key)
	}
	return document
}

// placeholderInKey reports whether a key of an object has a placeholder, at any depth.
func placeholderInKey(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, placeholderInKey)
	case map[string]any:
		for key, item := range v {
			if strings.Contains(key, openPlaceholder) || placeholderInKey(item) {
				return true
			}
		}
	}
	return false
}

// AzureOwner is the id of the role Owner on Azure.
const AzureOwner = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635"

// checkBreadth warns about roles that may do everything.
func (r *reader) checkBreadth(file string, role Role) {
	bounded := role.Boundary != nil && !allowsEverything(role.Boundary)
	var broad []string
	for _, p := range role.Policies {
		if p.Managed == "AdministratorAccess" {
			broad = append(broad, "the policy AdministratorAccess")
		}
		if p.Document != nil && allowsEverything(p.Document) {
			broad = append(broad, fmt.Sprintf("its policy %s", p.Name))
		}
	}
	for _, grant := range slices.Concat(role.Grants, role.BuiltIn) {
		if grant == "roles/owner" || grant == "Owner" || strings.EqualFold(grant, AzureOwner) {
			broad = append(broad, "the role "+grant)
		}
	}
	if slices.Contains(role.Actions, "*") {
		broad = append(broad, "the action *")
	}
	if len(broad) > 0 && !bounded {
		r.warnf(file, "name the services that it needs, or give it a permissions_boundary that does",
			"%s allows everything in the account, and no permissions boundary limits it", broad[0])
	}
}

// allowsEverything reports whether a document has an unconditional statement that allows all actions on all resources.
func allowsEverything(d Document) bool {
	statements, list := d["Statement"].([]any)
	if !list {
		statements = []any{d["Statement"]}
	}
	has := func(v any, want string) bool {
		list, isList := v.([]any)
		return v == want || isList && slices.Contains(list, any(want))
	}
	for _, s := range statements {
		s, _ := s.(map[string]any)
		if s["Effect"] == "Allow" && has(s["Action"], "*") && has(s["Resource"], "*") && s["Condition"] == nil {
			return true
		}
	}
	return false
}
