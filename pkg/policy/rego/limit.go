package rego

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Limits on the cost of compiling a policy. Each is far above what people write (a policy of forty
// rules has 600 terms and two levels of nesting), and each bounds one way of making a compile slow
// to less than a second, as measured with texts made for that purpose.
const (
	maxDepth    = 100        // nested brackets
	maxDigits   = 100        // of one number, with its fraction
	plainDigits = 15         // up to which a number is quickly compared
	maxNumbers  = 100        // numbers with more digits, an exponent or a fraction
	maxCompared = 4_000_000  // sum of the squares of the elements of each set and object that may need comparing
	maxRules    = 1000       // including else branches: the search for cycles squares it
	maxNesting  = 6          // nested comprehensions and template strings: each level doubles the cost
	maxTerms    = 50_000     // terms; each level of comprehension doubles a term's weight
	maxLiterals = 5000       // objects, arrays and sets as literals: their types are compared with each other
	maxOrdering = 30_000_000 // sum of the cubes of the conditions of each rule, which may need sorting
	maxTypeSize = 1 << 16    // size of an expanded type (spread.go)
)

func (p *policy) reportTooComplex(offset, width int, what string) {
	p.Error(offset, width, "rego-limit", "the policy is too intricate to be checked: "+what,
		"split it into simpler rules or into several policies")
	p.halt()
}

// checkCost estimates the cost of compiling a parsed policy, and rejects one that would take too
// long.
func (p *policy) checkCost() {
	var c cost
	for _, rule := range p.module.AST.Rules {
		for r := rule; r != nil; r = r.Else {
			c.rules++
		}
		c.rule(rule)
		if what := c.exceeded(); what != "" {
			p.reportTooComplex(offset(rule.Location), width(rule.Location), what)
			return
		}
	}
	if rule := findOversizedType(p.module.AST); rule != nil {
		p.reportTooComplex(offset(rule.Location), width(rule.Location), "its values are built from copies of copies")
	}
}

// cost is the estimated cost of the rules so far.
type cost struct {
	rules, terms, literals, ordering int
	nesting, deepest                 int
}

func (c *cost) rule(rule *ast.Rule) {
	conditions := 0
	ast.NewBeforeAfterVisitor(func(node any) bool {
		switch node := node.(type) {
		case *ast.Expr, ast.Call:
			conditions++
		case *ast.Term:
			c.terms += 1 << min(c.nesting, maxNesting)
			c.term(node)
		}
		return c.exceeded() != ""
	}, func(node any) {
		if term, ok := node.(*ast.Term); ok && nests(term) {
			c.nesting--
		}
	}).Walk(rule)
	c.ordering += conditions * conditions * conditions
}

func (c *cost) term(term *ast.Term) {
	if nests(term) {
		c.nesting++
		c.deepest = max(c.deepest, c.nesting)
		return
	}
	switch term.Value.(type) {
	case ast.Object, *ast.Array, ast.Set:
		c.literals++
	}
}

func nests(term *ast.Term) bool {
	switch term.Value.(type) {
	case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, *ast.TemplateString:
		return true
	}
	return false
}

func (c *cost) exceeded() string {
	switch {
	case c.rules > maxRules:
		return "more than " + countOf(maxRules, "rules")
	case c.deepest > maxNesting:
		return fmt.Sprintf("comprehensions or template strings more than %d deep", maxNesting)
	case c.terms > maxTerms:
		return "more than " + countOf(maxTerms, "terms")
	case c.literals > maxLiterals:
		return "more than " + countOf(maxLiterals, "objects, arrays and sets")
	case c.ordering > maxOrdering:
		return "too many conditions in one rule"
	}
	return ""
}
