package appconfig

import (
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	policydocument "github.com/nuon-toolkit/nuon/pkg/policy/document"
)

// roleCustom is the only type of which an app can have more than one standing role.
const roleCustom = "custom"

// checkRoles checks the standing and the break-glass roles: section 9. It leaves their documents to
// startDocuments.
func (c *checker) checkRoles() {
	first := map[string]syntax.Position{}
	for _, e := range c.roles {
		kind, at := e.value.Type, e.table.Position("type")
		if other, taken := first[kind]; taken && kind != roleCustom && kind != "" {
			c.errorf(ruleRoleType, at, `keep one of them, or write type = "custom"`,
				"two roles have the type %s: the other one is in %s:%d", kind, other.File, other.Line)
		} else {
			first[kind] = at
		}
		c.checkRole(e.table, &e.value.Role)
		c.noteDocuments(fragments("", e.table, e.keys, &e.value, e.texts, isDocument), e.value.CloudPlatform)
	}
	for _, e := range c.breakGlass {
		c.checkRole(e.table, &e.value)
		c.noteDocuments(fragments("", e.table, e.keys, &e.value, e.texts, isDocument), e.value.CloudPlatform)
	}
}

// isDocument selects the keys that hold JSON policy documents.
func isDocument(k *format.Key) bool { return k.Format == format.FormatJSON }

// noteDocuments collects the policy documents of a role for startDocuments.
func (c *checker) noteDocuments(found []fragment, cloud string) {
	if cloud == "" {
		cloud = c.cloud
	}
	for i := range found {
		if !policydocument.IsEmpty(found[i].text) {
			c.documents = append(c.documents, roleDocument(&found[i], cloud))
		}
	}
}

func (c *checker) checkRole(t *syntax.Table, role *format.Role) {
	cloud := c.cloud
	if role.CloudPlatform != "" {
		if cloud != "" && role.CloudPlatform != cloud {
			c.errorf(ruleCloudMismatch, t.Position("cloud_platform"),
				"write cloud_platform = "+diagnostic.Quote(cloud)+", or leave it out",
				"the role is for %s, and the runner is on %s", cloudLabel(role.CloudPlatform), cloudLabel(cloud))
		}
		cloud = role.CloudPlatform
	}
	for i := range role.Policies {
		c.checkRolePolicy(t, syntax.JoinIndex("policies", i), &role.Policies[i], cloud)
	}
}

// grantKey is one key by which a [[policies]] table grants permissions.
type grantKey struct {
	key   string
	cloud string // empty: any
}

// grantKeys are those of section 9.1. gcp_permissions and azure_actions can be combined with the role
// keys of their cloud.
var grantKeys = []grantKey{
	{"managed_policy_name", cloudAWS}, {"contents", ""}, {"gcp_predefined_role", cloudGCP},
	{"gcp_permissions", cloudGCP},
	{"azure_built_in_roles", cloudAzure}, {"azure_actions", cloudAzure},
}

func (c *checker) checkRolePolicy(t *syntax.Table, path string, policy *format.RolePolicy, cloud string) {
	var used []grantKey
	for _, w := range grantKeys {
		if n := t.Find(path + "." + w.key); n != nil && !isEmpty(n) {
			used = append(used, w)
		}
	}
	at := t.Position(path)
	if len(used) == 0 {
		c.warnf(ruleNoEffect, at, "remove it, or say what the role may do, such as "+exampleGrantKey(cloud),
			"%s grants nothing", path)
		return
	}
	for _, w := range used[1:] {
		if w.cloud != used[0].cloud || w.cloud == cloudAWS || w.cloud == "" {
			c.errorf(ruleChooseOne, t.KeyPosition(path+"."+w.key), "write a [[policies]] table for each",
				"%s: both %s and %s are given", path, used[0].key, w.key)
			return
		}
	}
	for _, w := range used {
		if cloud != "" && w.cloud != "" && w.cloud != cloud {
			c.errorf(ruleCloudMismatch, t.KeyPosition(path+"."+w.key),
				"write it for "+cloudLabel(cloud)+", such as "+exampleGrantKey(cloud),
				"%s: %s is for %s, and the role is for %s", path, w.key, cloudLabel(w.cloud), cloudLabel(cloud))
			return
		}
	}
	if policy.Name == "" && used[0].key == "contents" {
		c.errorf(ruleMissingKey, t.KeyPosition(path+".contents"), "give it a name",
			`%s: "name" is missing: inline contents need one`, path)
	}
}

func isEmpty(n *syntax.Node) bool {
	items, list := n.Items()
	text, scalar := n.Text()
	return list && len(items) == 0 || scalar && text == ""
}

func exampleGrantKey(cloud string) string {
	switch cloud {
	case cloudGCP:
		return `gcp_predefined_role = "roles/viewer"`
	case cloudAzure:
		return `azure_built_in_roles = ["Reader"]`
	}
	return `managed_policy_name = "ReadOnlyAccess"`
}

func cloudLabel(cloud string) string {
	if name, ok := cloudLabels[cloud]; ok {
		return name
	}
	return cloud
}

// templateSpaces matches a template expression and the whitespace inside its braces.
var templateSpaces = lazyregexp.New(`\{\{-?\s*(.*?)\s*-?\}\}`)

// normalizeRoleName normalizes the name of a role, so that different spellings of one name are equal.
func normalizeRoleName(name string) string {
	name = templateSpaces.ReplaceAllString(strings.TrimSpace(name), "{{$1}}")
	return strings.ReplaceAll(name, "{{.nuon.id}}", "{{.nuon.install.id}}")
}

// hasUnknownExpressions reports whether a name has template expressions besides the install's ID, whose
// values are unknown here.
func hasUnknownExpressions(role string) bool {
	return strings.Contains(strings.ReplaceAll(normalizeRoleName(role), "{{.nuon.install.id}}", ""), "{{")
}

// checkRoleName reports a key that names an undeclared role.
func (c *checker) checkRoleName(t *syntax.Table, path, role string) {
	if role == "" || hasUnknownExpressions(role) || c.unreadable.has(role) {
		return
	}
	if _, declared := c.names.roles[normalizeRoleName(role)]; declared {
		return
	}
	hint := ""
	if near, ok := diagnostic.Nearest(normalizeRoleName(role), keysOf(c.names.roles)); ok {
		hint = "did you mean " + diagnostic.Quote(c.names.roles[near]) + "?"
	} else if len(c.names.roles) > 0 {
		hint = "declare it in permissions/ or break_glass.toml"
	} else {
		hint = "declare it in permissions/: the app has no roles"
	}
	c.errorf(ruleUnknownRole, t.Position(path), hint, "there is no role %s", diagnostic.Quote(role))
}
