package appconfig

import (
	"errors"
	"strings"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/envname"
)

// reservedComponents are names that already mean something else where a component can be named.
var reservedComponents = map[string]string{
	SandboxName: "that is sandbox.toml",
	"populated": ".nuon.components.populated is something else",
}

// named is the name of something that the config declares, and its position.
type named struct {
	name string
	at   syntax.Position
}

// checkNames checks all names: their characters, and that they are unique.
func (c *checker) checkNames() {
	var components []named
	for _, one := range c.components {
		at := one.table.Place("name")
		components = append(components, named{one.Name, at})
		c.checkName("component", componentName, one.Name, at)
		if why, reserved := reservedComponents[one.Name]; reserved {
			c.errorf(ruleReservedName, at, "choose another name", "no component may be called %q: %s", one.Name, why)
		}
		if one.VarName != "" && one.VarName != one.Name {
			at := one.table.Place("var_name")
			c.checkName("component", componentName, one.VarName, at)
			components = append(components, named{one.VarName, at})
		}
	}
	c.checkUnique("component", components)
	checkEach(c, "action", actionName, c.actions, func(a *format.Action) string { return a.Name })
	checkEach(c, "input", inputName, c.inputs, func(i *format.Input) string { return i.Name })
	checkEach(c, "input group", titleName, c.groups, func(g *format.InputGroup) string { return g.Name })
	checkEach(c, "secret", componentName, c.secrets, func(s *format.Secret) string { return s.Name })
	checkEach(c, "Kubernetes context", actionName, c.contexts,
		func(k *format.KubernetesContext) string { return k.Name })
	for _, one := range c.contexts {
		if one.value.Name == SandboxName {
			c.errorf(ruleReservedName, one.table.Place("name"), "choose another name",
				"no Kubernetes context may be called %q: that is the sandbox's cluster", SandboxName)
		}
	}
	checkEach(c, "runbook", titleName, c.runbooks, func(r *format.Runbook) string { return r.Name })
	checkEach(c, "install", installName, c.installs, func(i *format.Install) string { return i.Name })
	checkEach(c, "branch", titleName, c.branches, func(b *format.Branch) string { return b.Name })
	checkEach(c, "policy", titleName, c.policies, func(p *format.Policy) string { return p.Name })
	c.checkRoleNames()
}

// checkEach checks the names of one kind of declaration.
func checkEach[T any](c *checker, what string, rule nameRule, all []*entry[T], name func(*T) string) {
	list := make([]named, 0, len(all))
	for _, one := range all {
		at := named{name(&one.value), one.table.Place("name")}
		c.checkName(what, rule, at.name, at.at)
		list = append(list, at)
	}
	c.checkUnique(what, list)
}

// checkRoleNames requires unique names across standing and break-glass roles, which are all created
// in one account.
func (c *checker) checkRoleNames() {
	var roles []named
	for _, role := range c.roles {
		roles = append(roles, named{sameRole(role.value.Name), role.table.Place("name")})
	}
	for _, role := range c.breakGlass {
		roles = append(roles, named{sameRole(role.value.Name), role.table.Place("name")})
	}
	c.checkUnique("role", roles)
}

// checkName reports an invalid name. A missing name is reported elsewhere.
func (c *checker) checkName(what string, rule nameRule, name string, at syntax.Position) {
	if name == "" || len(name) <= maxName && rule.pattern.MatchString(name) {
		return
	}
	hint := "use " + rule.words
	if plain := plainName(name); len(name) <= maxName && rule.pattern.MatchString(plain) {
		hint = "write " + diagnostic.Quote(plain)
	}
	c.errorf(ruleBadName, at, hint, "%s is no name for %s %s", diagnostic.Quote(name), article(what), what)
}

// plainName returns the name in a form that is valid for every kind.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' || r == '.' {
			return '_'
		}
		return unicode.ToLower(r)
	}, strings.TrimSpace(name))
}

// checkUnique reports every name that was used before.
func (c *checker) checkUnique(what string, all []named) {
	first := make(map[string]syntax.Position, len(all))
	for _, one := range all {
		if one.name == "" {
			continue
		}
		if other, taken := first[one.name]; taken {
			c.errorf(ruleDuplicateName, one.at, "rename one of them",
				"there is a second %s %s: the first is in %s:%d", what, diagnostic.Quote(one.name), other.File,
				other.Line)
			continue
		}
		first[one.name] = one.at
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
