package cloudformation

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// jobFunctions are managed policies of AWS below job-function/.
var jobFunctions = []string{"Billing", "DatabaseAdministrator", "DataScientist", "NetworkAdministrator", "SupportUser",
	"SystemAdministrator", "ViewOnlyAccess"}

// addRoles adds the roles of the app, each with a switch of the customer.
func (t *template) addRoles() {
	switches := map[installstack.RoleKind][]string{}
	for _, role := range t.stack.Roles {
		id := t.addParameter("Enable"+role.ID, role.Label, role.Description, object{
			"AllowedValues": list{"true", "false"}, "Default": map[bool]string{true: "true", false: "false"}[role.Enabled]})
		switches[role.Kind] = append(switches[role.Kind], id)
		t.conditions["Role"+role.ID+"Enabled"] = equals(ref(id), "true")
		if role.Kind == installstack.BreakGlass {
			switches[role.Kind] = append(switches[role.Kind], t.addEnd(role, id))
		}
		t.addRole(role)
	}
	t.addGroup("What the vendor may do", slices.Concat(switches[installstack.Provision],
		switches[installstack.Maintenance], switches[installstack.Deprovision], switches[installstack.Custom]))
	t.addGroup("Emergency access", switches[installstack.BreakGlass])
	for _, kind := range []installstack.RoleKind{installstack.Provision, installstack.Maintenance,
		installstack.Deprovision} {
		if switches[kind] == nil {
			t.addOutput(string(kind)+"_iam_role_arn", "", "")
		}
	}
}

// endForm matches the end of a grant, in UTC.
const endForm = `^$|^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]Z$`

// addEnd adds the parameter with the end of a break-glass role, without which the role cannot be switched on.
func (t *template) addEnd(role installstack.Role, enable string) string {
	id := t.addParameter("Until"+role.ID, role.Label+": until", "When this access ends, in UTC, such as "+
		"2026-11-23T22:00:00Z. AWS itself refuses everything after it.",
		object{"Default": "", "AllowedPattern": endForm})
	t.rules["End"+role.ID] = object{"RuleCondition": equals(ref(enable), "true"), "Assertions": list{object{
		"Assert":            not(equals(ref(id), "")),
		"AssertDescription": "Emergency access needs an end: set " + id + " to the time when it ends, in UTC.",
	}}}
	t.addOutput("break_glass_until."+role.Key, ref(id), "Role"+role.ID+"Enabled")
	return id
}

// roleName returns the name of a role in the account.
func roleName(role installstack.Role) string { return installstack.FitRoleName(role.Key) }

// where names a role in findings.
func where(role installstack.Role) string { return "role " + installstack.Plain(role.Key, 120) }

// addRole adds one role with its boundary.
func (t *template) addRole(role installstack.Role) {
	id, condition := "Role"+role.ID, "Role"+role.ID+"Enabled"
	name := roleName(role)
	trust := object{"Effect": "Allow", "Principal": object{"AWS": attribute("RunnerRole", "Arn")},
		"Action": list{"sts:AssumeRole", "sts:TagSession"}}
	if role.Kind == installstack.BreakGlass {
		trust["Condition"] = object{"DateLessThan": object{"aws:CurrentTime": ref("Until" + role.ID)}}
	}
	properties := object{
		"RoleName":                 name,
		"Description":              roleDescription(role.Description),
		"AssumeRolePolicyDocument": object{"Version": "2012-10-17", "Statement": list{trust}},
		"Tags":                     t.tags(),
	}
	if role.Boundary != nil {
		t.checkDocument(where(role), "the permissions boundary", role.Boundary.Bytes(), maxManaged)
		t.addResource("Boundary"+role.ID, "AWS::IAM::ManagedPolicy", object{
			"ManagedPolicyName": installstack.Fit(name+"-boundary", 128, func(rune) bool { return true }),
			"Description":       "Permissions boundary of the role " + name,
			"PolicyDocument":    document(map[string]any(role.Boundary)),
		})["Condition"] = condition
		properties["PermissionsBoundary"] = ref("Boundary" + role.ID)
	}
	managed, inline := t.policies(role)
	if role.Kind == installstack.BreakGlass { // sessions outlive a condition of the trust
		inline = append(inline, object{"PolicyName": "end-of-break-glass", "PolicyDocument": object{"Version": "2012-10-17",
			"Statement": list{object{"Effect": "Deny", "Action": "*", "Resource": "*",
				"Condition": object{"DateGreaterThanEquals": object{"aws:CurrentTime": ref("Until" + role.ID)}}}}}})
	}
	if len(managed) > 0 {
		properties["ManagedPolicyArns"] = managed
	}
	if len(inline) > 0 {
		properties["Policies"] = inline
	}
	t.addResource(id, "AWS::IAM::Role", properties)["Condition"] = condition
	switch role.Kind {
	case installstack.Custom:
		t.addOutput("custom_role_arns."+role.Key, attribute(id, "Arn"), condition)
	case installstack.BreakGlass:
		t.addOutput("break_glass_role_arns."+role.Key, attribute(id, "Arn"), condition)
	default:
		t.addOutput(string(role.Kind)+"_iam_role_arn", ifElse(condition, attribute(id, "Arn"), ""), "")
	}
}

// policies returns the managed and the inline policies of a role.
func (t *template) policies(role installstack.Role) (managed, inline list) {
	size := 0
	for _, p := range role.Policies {
		if p.Managed != "" {
			managed = append(managed, managedPolicy(p.Managed))
			continue
		}
		size += p.Document.Bytes()
		inline = append(inline, object{"PolicyName": p.Name, "PolicyDocument": document(map[string]any(p.Document))})
	}
	for _, name := range role.Existing {
		var policy any = name
		if !strings.HasPrefix(name, "arn:") {
			policy = arn(ref("AWS::AccountId"), "policy/"+name)
		}
		managed = append(managed, policy)
	}
	t.checkDocument(where(role), "all inline policies together", size, maxInline)
	switch {
	case len(managed) > maxAttached:
		t.errorf(where(role), "combine them in a policy", "it has %d managed policies, and IAM allows %d", len(managed),
			maxAttached)
	case len(managed) > usualAttached:
		t.report(diagnostic.Warning, where(role), "combine them in a policy",
			"it has %d managed policies, and IAM allows %d unless the quota was raised", len(managed), usualAttached)
	}
	return managed, inline
}

func (t *template) checkDocument(where, what string, size, most int) {
	if size > most {
		t.errorf(where, "use wildcards in actions, or split the role in two",
			"%s would have up to %d bytes without spaces, and IAM allows %d", what, size, most)
	}
}

// managedPolicy returns the ARN of a managed policy of AWS.
func managedPolicy(name string) any {
	switch {
	case strings.HasPrefix(name, "arn:"):
		return name
	case slices.Contains(jobFunctions, name):
		name = "job-function/" + name
	}
	return arn("aws", "policy/"+name)
}

// roleDescription returns a text with the characters that IAM accepts in the description of a role.
func roleDescription(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= ' ' && r <= '~' || r >= 0xA1 && r <= 0xFF {
			return r
		}
		return '-'
	}, text)
}
