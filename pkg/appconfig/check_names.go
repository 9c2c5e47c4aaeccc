package appconfig

import (
	"errors"
	"strings"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/envname"
	"github.com/nuon-toolkit/nuon/pkg/id"
)

// reservedComponents are names that already mean something else where a component can be named.
var reservedComponents = map[string]string{
	SandboxName: "that is sandbox.toml",
	"populated": ".nuon.components.populated is something else",
}

// declaredName is the name of something that the config declares, and its position.
type declaredName struct {
	name string
	at   syntax.Position
}

// checkNames checks all names: their characters, and that they are unique.
func (c *checker) checkNames() {
	var components []declaredName
	for _, e := range c.components {
		at := e.table.Position("name")
		components = append(components, declaredName{e.Name, at})
		c.checkName("component", componentName, e.Name, at)
		if why, reserved := reservedComponents[e.Name]; reserved {
			c.errorf(ruleReservedName, at, "choose another name", "no component may be called %q: %s", e.Name, why)
		}
		if e.VarName != "" && e.VarName != e.Name {
			at := e.table.Position("var_name")
			c.checkName("component", componentName, e.VarName, at)
			components = append(components, declaredName{e.VarName, at})
		}
	}
	c.checkUnique("component", components)
	checkNamesOf(c, "action", actionName, c.actions, func(a *format.Action) string { return a.Name })
	checkNamesOf(c, "input", inputName, c.inputs, func(i *format.Input) string { return i.Name })
	checkNamesOf(c, "input group", titleName, c.groups, func(g *format.InputGroup) string { return g.Name })
	checkNamesOf(c, "secret", componentName, c.secrets, func(s *format.Secret) string { return s.Name })
	checkNamesOf(c, "Kubernetes context", actionName, c.contexts,
		func(k *format.KubernetesContext) string { return k.Name })
	for _, e := range c.contexts {
		if e.value.Name == SandboxName {
			c.errorf(ruleReservedName, e.table.Position("name"), "choose another name",
				"no Kubernetes context may be called %q: that is the sandbox's cluster", SandboxName)
		}
	}
	checkNamesOf(c, "runbook", titleName, c.runbooks, func(r *format.Runbook) string { return r.Name })
	checkNamesOf(c, "install", installName, c.installs, func(i *format.Install) string { return i.Name })
	for _, e := range c.installs {
		if id.Valid("ins", e.value.Name) {
			c.errorf(ruleReservedName, e.table.Position("name"), "choose a name that people recognize",
				"no install may be called %q: it has the form of an id", e.value.Name)
		}
	}
	checkNamesOf(c, "branch", titleName, c.branches, func(b *format.Branch) string { return b.Name })
	checkNamesOf(c, "policy", titleName, c.policies, func(p *format.Policy) string { return p.Name })
	c.checkRoleNames()
}

// checkNamesOf checks the names of one kind of declaration.
func checkNamesOf[T any](c *checker, what string, rule nameRule, all []*entry[T], name func(*T) string) {
	list := make([]declaredName, 0, len(all))
	for _, e := range all {
		n := declaredName{name(&e.value), e.table.Position("name")}
		c.checkName(what, rule, n.name, n.at)
		list = append(list, n)
	}
	c.checkUnique(what, list)
}

// checkRoleNames requires unique names across standing and break-glass roles, which are all created
// in one account.
func (c *checker) checkRoleNames() {
	var roles []declaredName
	for _, role := range c.roles {
		roles = append(roles, declaredName{normalizeRoleName(role.value.Name), role.table.Position("name")})
	}
	for _, role := range c.breakGlass {
		roles = append(roles, declaredName{normalizeRoleName(role.value.Name), role.table.Position("name")})
	}
	c.checkUnique("role", roles)
}

// checkName reports an invalid name. A missing name is reported elsewhere.
func (c *checker) checkName(what string, rule nameRule, name string, at syntax.Position) {
	if name == "" || len(name) <= maxName && rule.pattern.MatchString(name) {
		return
	}
	hint := "use " + rule.words
	if plain := suggestName(name); len(name) <= maxName && rule.pattern.MatchString(plain) {
		hint = "write " + diagnostic.Quote(plain)
	}
	c.errorf(ruleBadName, at, hint, "%s is no name for %s %s", diagnostic.Quote(name), article(what), what)
}

// suggestName returns the name in a form that is valid for every kind.
func suggestName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' || r == '.' {
			return '_'
		}
		return unicode.ToLower(r)
	}, strings.TrimSpace(name))
}

// checkUnique reports every name that was used before.
func (c *checker) checkUnique(what string, all []declaredName) {
	first := make(map[string]syntax.Position, len(all))
	for _, n := range all {
		if n.name == "" {
			continue
		}
		if other, taken := first[n.name]; taken {
			c.errorf(ruleDuplicateName, n.at, "rename one of them",
				"%s %s is declared twice: first in %s:%d", what, diagnostic.Quote(n.name), other.File,
				other.Line)
			continue
		}
		first[n.name] = n.at
	}
}

// checkEnvironment checks the names in a table of environment variables of a process.
func (c *checker) checkEnvironment(t *syntax.Table, path string) {
	for name, value := range t.Find(path).Table().Each {
		err := envname.Check(name)
		if reserved := (*envname.Reserved)(nil); errors.As(err, &reserved) {
			c.errorf(ruleReservedName, value.Key, reserved.Instead,
				"no process gets the environment variable %s from an app: %s", diagnostic.Quote(name), reserved.Why)
		}
	}
	c.checkVariableNames(t, path)
}

// checkVariableNames checks that the keys of a table are valid names of environment variables.
func (c *checker) checkVariableNames(t *syntax.Table, path string) {
	for name, value := range t.Find(path).Table().Each {
		if !envname.Valid(name) {
			c.errorf(ruleBadName, value.Key, "use letters, digits and underscores",
				"%s is no name for an environment variable", diagnostic.Quote(name))
		}
	}
}
