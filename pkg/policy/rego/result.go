package rego

import (
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"
)

// Results returns the names of the rules that are evaluated, most severe first.
func Results() []string { return []string{"deny", "warn", "pass"} }

// checkRules requires at least one of the rules that are evaluated, and checks that each can have a
// result.
func (p *policy) checkRules() {
	if packageName(p.module.AST.Package) != Package {
		return
	}
	for _, name := range Results() {
		rules := p.rulesNamed(name)
		if len(rules) == 0 {
			continue
		}
		p.module.Rules = append(p.module.Rules, name)
		p.checkResult(name, rules)
	}
	if p.module.Rules == nil {
		pkg := p.module.AST.Package
		p.Error(offset(pkg.Location), width(pkg.Location), "rego-rules",
			"the policy has none of the rules deny, warn and pass, so it never says anything", p.misspelledHint())
	}
}

func (p *policy) rulesNamed(name string) []*ast.Rule {
	var found []*ast.Rule
	for _, rule := range p.module.AST.Rules {
		if string(ruleName(rule)) == name {
			found = append(found, rule)
		}
	}
	return found
}

// misspelledHint returns a hint with the rule that was probably meant to be one of those that are
// evaluated.
func (p *policy) misspelledHint() string {
	usual := map[string]string{"violation": "deny", "violations": "deny", "denied": "deny", "allow": "deny",
		"block": "deny", "error": "deny", "warning": "warn", "warnings": "warn", "passed": "pass"}
	for _, rule := range p.module.AST.Rules {
		if meant, ok := usual[string(ruleName(rule))]; ok {
			return fmt.Sprintf("name the rule %s rather than %s", meant, ruleName(rule))
		}
	}
	return "write `deny contains msg if { … }`"
}

// checkResult reports a rule that, according to its types, can never be true, a string, or an
// object with msg.
func (p *policy) checkResult(name string, rules []*ast.Rule) {
	const hint = "write `%s contains msg if { … }` with a text as msg"
	first := rules[0]
	if len(first.Head.Args) > 0 {
		p.Error(offset(first.Location), width(first.Location), "rego-rules",
			name+" is a function, and nothing calls it", fmt.Sprintf(hint, name))
		return
	}
	document := p.compiler.TypeEnv.GetByRef(ast.MustParseRef("data." + Package + "." + name))
	if document != nil && !canBeResult(document, true) {
		p.Error(offset(first.Location), width(first.Location), "rego-rules",
			name+" can never give true, a text or an object with msg", fmt.Sprintf(hint, name))
	}
}

// canBeResult reports whether a value of this type may be a result or, at the top level, a collection of
// results.
func canBeResult(t types.Type, top bool) bool {
	switch t := t.(type) {
	case nil, types.Boolean, types.String:
		return true
	case types.Any:
		return len(t) == 0 || slices.ContainsFunc(t, func(member types.Type) bool { return canBeResult(member, top) })
	case *types.NamedType:
		return canBeResult(t.Type, top)
	case *types.Object:
		return hasMessage(t)
	case *types.Set:
		return top && canBeResult(t.Of(), false)
	case *types.Array:
		return top && arrayCanBeResult(t)
	}
	return false
}

func arrayCanBeResult(t *types.Array) bool {
	for i := range t.Len() {
		if canBeResult(t.Select(i), false) {
			return true
		}
	}
	return t.Len() == 0 || t.Dynamic() != nil && canBeResult(t.Dynamic(), false)
}

// hasMessage reports whether an object may have a string under msg.
func hasMessage(t *types.Object) bool {
	switch message := t.Select("msg").(type) {
	case nil:
		return false
	case types.String:
		return true
	case types.Any:
		return len(message) == 0 || slices.ContainsFunc(message,
			func(member types.Type) bool { _, text := member.(types.String); return text })
	}
	return false
}
