package rego

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// forbidden lists the functions that access more than the policy's input: the network, the process
// that evaluates it, its files (a schema may refer to file:///…, which AllowNet does not prevent), or its output.
var forbidden = []string{
	"http.send", "json.match_schema", "json.verify_schema", "net.lookup_ip_addr", "opa.runtime", "rego.parse_module",
	"trace",
}

// Capabilities returns the language that a policy may use, for the code that evaluates it:
// everything except the forbidden functions and the features of a future version (v2). No schema is
// fetched. The result is shared and must not be changed.
func Capabilities(version string) *ast.Capabilities {
	if version == V0 {
		return capabilities(ast.RegoV0)
	}
	return capabilities(ast.RegoV1)
}

func capabilities(version ast.RegoVersion) *ast.Capabilities {
	if version == ast.RegoV0 {
		return capabilitiesV0()
	}
	return capabilitiesV1()
}

var (
	capabilitiesV1 = sync.OnceValue(func() *ast.Capabilities { return restricted(ast.RegoV1) })
	capabilitiesV0 = sync.OnceValue(func() *ast.Capabilities { return restricted(ast.RegoV0) })
)

func restricted(version ast.RegoVersion) *ast.Capabilities {
	c := ast.CapabilitiesForThisVersion(ast.CapabilitiesRegoVersion(version))
	c.Builtins = slices.DeleteFunc(c.Builtins, func(b *ast.Builtin) bool { return slices.Contains(forbidden, b.Name) })
	c.Features = slices.DeleteFunc(c.Features, func(f string) bool {
		return f == ast.FeatureRegoV2 || f == ast.FeatureRegoV2Import
	})
	c.FutureKeywords = slices.DeleteFunc(c.FutureKeywords,
		func(k string) bool { return !slices.Contains([]string{"contains", "every", "if", "in"}, k) })
	c.AllowNet = []string{}
	return c
}

// nondeterministic reports whether a function may return another value on each call (as marked by OPA).
// It returns false for forbidden functions.
func nondeterministic(name string) bool {
	b := ast.BuiltinMap[name]
	return b != nil && b.Nondeterministic && !slices.Contains(forbidden, name)
}

// checkCalls reports calls of functions whose result does not depend on the policy's input alone.
func (p *policy) checkCalls() {
	own := map[string]bool{}
	for _, rule := range p.module.AST.Rules {
		own[rule.Head.Ref().String()] = true
	}
	ast.NewGenericVisitor(func(node any) bool {
		operator := operatorOf(node)
		if operator == nil {
			return false
		}
		name := operator.Value.String()
		switch {
		case own[name]:
		case slices.Contains(forbidden, name):
			p.Error(offset(operator.Location), len(name), "rego-forbidden",
				fmt.Sprintf("a policy may not call %s: it sees only its input", name), remedy(name))
		case nondeterministic(name):
			p.Warning(offset(operator.Location), len(name), "rego-not-repeatable",
				fmt.Sprintf("%s gives another value each time, so the same plan may get another answer", name),
				"decide by what is in input alone")
		}
		return false
	}).Walk(p.module.AST)
}

// operatorOf returns the function that a node calls, or nil if the node is not a call.
func operatorOf(node any) *ast.Term {
	switch node := node.(type) {
	case *ast.Expr:
		if terms, ok := node.Terms.([]*ast.Term); ok && len(terms) > 0 {
			return terms[0]
		}
	case ast.Call:
		if len(node) > 0 {
			return node[0]
		}
	}
	return nil
}

func remedy(name string) string {
	if name == "trace" {
		return "use print(…), which has no effect here, or remove it"
	}
	return "remove the call; decide by what is in input"
}

// isForbiddenCall reports whether a compiler error only repeats that a forbidden function does not
// exist.
func isForbiddenCall(e *ast.Error) bool {
	name, ok := strings.CutPrefix(e.Message, "undefined function ")
	return ok && slices.Contains(forbidden, name)
}
