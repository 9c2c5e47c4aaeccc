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
	for _, one := range c.roles {
		kind, at := one.value.Type, one.table.Place("type")
		if other, taken := first[kind]; taken && kind != roleCustom && kind != "" {
			c.errorf(ruleRoleType, at, `keep one of them, or write type = "custom"`,
				"there is a second role of type %s: the first is in %s:%d", kind, other.File, other.Line)
		} else {
			first[kind] = at
		}
		c.checkRole(one.table, &one.value.Role)
		c.noteDocuments(fragments("", one.table, one.keys, &one.value, one.texts, isDocument), one.value.CloudPlatform)
	}
	for _, one := range c.breakGlass {
		c.checkRole(one.table, &one.value)
		c.noteDocuments(fragments("", one.table, one.keys, &one.value, one.texts, isDocument), one.value.CloudPlatform)
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
			c.errorf(ruleCloudMismatch, t.Place("cloud_platform"),
				"write cloud_platform = "+diagnostic.Quote(cloud)+", or leave it out",
				"the role is for %s, and the runner is on %s", label(role.CloudPlatform), label(cloud))
		}
		cloud = role.CloudPlatform
	}
	for i := range role.Policies {
		c.checkRolePolicy(t, syntax.Item("policies", i), &role.Policies[i], cloud)
	}
}

// way is one key by which a [[policies]] table grants permissions.
type way struct {
	key   string
	cloud string // empty: any
}

// ways are those of section 9.1. gcp_permissions and azure_actions can be combined with the role
// keys of their cloud.
var ways = []way{
	{"managed_policy_name", cloudAWS}, {"contents", ""}, {"gcp_predefined_role", cloudGCP},
	{"gcp_permissions", cloudGCP},
	{"azure_built_in_roles", cloudAzure}, {"azure_actions", cloudAzure},
}

func (c *checker) checkRolePolicy(t *syntax.Table, path string, policy *format.RolePolicy, cloud string) {
	var given []way
	for _, w := range ways {
		if n := t.Find(path + "." + w.key); n != nil && !emptyNode(n) {
			given = append(given, w)
		}
	}
	at := t.Place(path)
	if len(given) == 0 {
		c.warnf(ruleNoEffect, at, "remove it, or say what the role may do, such as "+exampleOfWay(cloud),
			"%s grants nothing", path)
		return
	}
	for _, w := range given[1:] {
		if w.cloud != given[0].cloud || w.cloud == cloudAWS || w.cloud == "" {
			c.errorf(ruleChooseOne, t.KeyPlace(path+"."+w.key), "write a [[policies]] table for each",
				"%s: both %s and %s are given", path, given[0].key, w.key)
			return
		}
	}
	for _, w := range given {
		if cloud != "" && w.cloud != "" && w.cloud != cloud {
			c.errorf(ruleCloudMismatch, t.KeyPlace(path+"."+w.key),
				"write it for "+label(cloud)+", such as "+exampleOfWay(cloud),
				"%s: %s is for %s, and the role is for %s", path, w.key, label(w.cloud), label(cloud))
			return
		}
	}
	if policy.Name == "" && given[0].key == "contents" {
		c.errorf(ruleMissingKey, t.KeyPlace(path+".contents"), "give it a name",
			`%s: "name" is missing: inline contents need one`, path)
	}
}

func emptyNode(n *syntax.Node) bool {
	items, list := n.Items()
	text, scalar := n.Text()
	return list && len(items) == 0 || scalar && text == ""
}

func exampleOfWay(cloud string) string {
	switch cloud {
	case cloudGCP:
		return `gcp_predefined_role = "roles/viewer"`
	case cloudAzure:
		return `azure_built_in_roles = ["Reader"]`
	}
	return `managed_policy_name = "ReadOnlyAccess"`
}

func label(cloud string) string {
	if name, ok := cloudLabels[cloud]; ok {
		return name
	}
	return cloud
}

// spaces matches a template expression and the whitespace inside its braces.
var spaces = lazyregexp.New(`\{\{-?\s*(.*?)\s*-?\}\}`)

// sameRole normalizes the name of a role, so that different spellings of one name are equal.
func sameRole(name string) string {
	name = spaces.ReplaceAllString(strings.TrimSpace(name), "{{$1}}")
	return strings.ReplaceAll(name, "{{.nuon.id}}", "{{.nuon.install.id}}")
}

// otherExpressions reports whether a name has template expressions besides the install's ID, whose
// values are unknown here.
func otherExpressions(role string) bool {
	return strings.Contains(strings.ReplaceAll(sameRole(role), "{{.nuon.install.id}}", ""), "{{")
}

// checkRoleName reports a key that names an undeclared role.
func (c *checker) checkRoleName(t *syntax.Table, path, role string) {
	if role == "" || otherExpressions(role) || c.lost.has(role) {
		return
	}
	if _, declared := c.names.roles[sameRole(role)]; declared {
		return
	}
	hint := ""
	if near, ok := diagnostic.Nearest(sameRole(role), keysOf(c.names.roles)); ok {
		hint = "did you mean " + diagnostic.Quote(c.names.roles[near]) + "?"
	} else if len(c.names.roles) > 0 {
		hint = "declare it in permissions/ or break_glass.toml"
	} else {
		hint = "declare it in permissions/: the app has no roles"
	}
	c.errorf(ruleUnknownRole, t.Place(path), hint, "there is no role %s", diagnostic.Quote(role))
}
