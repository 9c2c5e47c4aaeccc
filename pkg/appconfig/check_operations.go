package appconfig

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// The operations of each principal: section 9.3.
var (
	sandboxOperations   = []string{"provision", "reprovision", "deprovision"}
	componentOperations = []string{"deploy", "teardown"}
	actionOperations    = []string{"trigger"}
	allOperations       = slices.Concat(sandboxOperations, componentOperations, actionOperations)
)

// checkOwnRoles checks operation_roles of a component or of the sandbox.
func (c *checker) checkOwnRoles(t *syntax.Table, roles []format.OperationRole, owner string, operations []string) {
	seen := map[string]bool{}
	for i, role := range roles {
		path := syntax.JoinIndex("operation_roles", i)
		c.checkOperation(t, path, role.Operation, owner, operations)
		if role.Operation != "" && seen[role.Operation] {
			c.errorf(ruleListedTwice, t.Position(path+".operation"), "keep one of them",
				"%s: operation %s has two roles", path, role.Operation)
		}
		seen[role.Operation] = true
		c.checkRoleName(t, path+".role", role.Role)
	}
}

func (c *checker) checkOperation(t *syntax.Table, path, operation, owner string, operations []string) {
	if !slices.Contains(allOperations, operation) || slices.Contains(operations, operation) {
		return // an unknown operation is reported already
	}
	hint := c.nearestHint(operation, operations)
	if hint == "" {
		hint = "one of " + strings.Join(operations, ", ")
	}
	c.errorf(ruleOperation, t.Position(path+".operation"), hint,
		"%s: %s has no operation %s", path, owner, diagnostic.Quote(operation))
}

// checkOperationRoles checks the rules of operation_roles.toml.
func (c *checker) checkOperationRoles() {
	if c.operationRoles == nil {
		return
	}
	t, seen := c.operationRoles.table, map[string]int{}
	for i, rule := range c.operationRoles.value.Rules {
		path := syntax.JoinIndex("rules", i)
		owner, operations := c.principal(t, path, rule.Principal)
		if operations != nil {
			c.checkOperation(t, path, rule.Operation, owner, operations)
		}
		pair := rule.Principal + " " + rule.Operation
		if first, taken := seen[pair]; taken && rule.Principal != "" && rule.Operation != "" {
			c.errorf(ruleListedTwice, t.Position(path+".principal"), "keep one of them",
				"%s: rules[%d] in line %d is for %s and %s already", path, first,
				t.Position(syntax.JoinIndex("rules", first)).Line, rule.Principal, rule.Operation)
		} else {
			seen[pair] = i
		}
		c.checkRoleName(t, path+".role", rule.Role)
	}
}

const principalHint = `write nuon::sandbox, nuon::component:NAME or nuon::action:NAME`

// principal parses nuon::KIND:NAME. It returns what the principal is, for messages, and the
// operations of its kind; nil if the kind is unknown.
func (c *checker) principal(t *syntax.Table, path, principal string) (owner string, operations []string) {
	at := t.Position(path + ".principal")
	bad := func(hint, format string, args ...any) {
		c.errorf(rulePrincipal, at, hint, path+": "+format, args...)
	}
	rest, ok := strings.CutPrefix(principal, "nuon::")
	if first, _, _ := strings.Cut(principal, ":"); !ok &&
		slices.Contains([]string{"sandbox", "component", "action"}, first) {
		bad("write "+diagnostic.Quote("nuon::"+principal), "%s is no principal", diagnostic.Quote(principal))
		return "", nil
	}
	if principal == "" {
		return "", nil // reported already
	}
	kind, name, named := strings.Cut(rest, ":")
	switch {
	case !ok:
		bad(principalHint, "%s is no principal", diagnostic.Quote(principal))
	case kind == "sandbox" && named:
		bad("write nuon::sandbox", "there is one sandbox, and it has no name")
	case kind == "sandbox":
		return "the sandbox", sandboxOperations
	case kind == "component":
		if name == "" || name != "*" && c.names.components[name] == nil {
			c.reportPrincipal(at, path, kind, name, keysOf(c.names.components))
		}
		return "a component", componentOperations
	case kind == "action":
		if name == "" || name != "*" && c.names.actions[name] == nil {
			c.reportPrincipal(at, path, kind, name, keysOf(c.names.actions))
		}
		return "an action", actionOperations
	default:
		hint := principalHint
		if near, ok := diagnostic.Nearest(kind, []string{"sandbox", "component", "action"}); ok {
			hint = "did you mean " + diagnostic.Quote("nuon::"+strings.TrimSuffix(near+":"+name, ":")) + "?"
		}
		bad(hint, "%s is no principal", diagnostic.Quote(principal))
	}
	return "", nil
}

func (c *checker) reportPrincipal(at syntax.Position, path, kind, name string, declared []string) {
	if name == "" {
		c.errorf(rulePrincipal, at, "write nuon::"+kind+":NAME, or nuon::"+kind+":* for all",
			"%s: the principal names no %s", path, kind)
		return
	}
	if c.unreadable.has(name) {
		return
	}
	c.errorf(ruleUnknownName, at, c.nearestHint(name, declared),
		"%s: the app has no %s %s", path, kind, diagnostic.Quote(name))
}
