package rego

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// What a policy may cost to compile. Each is far above what people write (a policy of forty rules has 600 terms and nests two deep), and
// each keeps one way of making a compile slow below a second; measured on texts made for it.
const (
	maxDepth    = 100        // brackets within brackets
	maxDigits   = 100        // of one number, with its fraction
	plainDigits = 15         // of a number that is quickly compared
	maxNumbers  = 100        // that are not plain ones, or have a fraction
	maxCompared = 4_000_000  // sum of the squares of how many elements each set and object has, strings left out: they may all have to be compared
	maxRules    = 1000       // else branches too: the search for circles squares it
	maxNesting  = 6          // comprehensions and template strings within each other: each doubles the cost of what it holds, template strings when parsed, too
	maxTerms    = 50_000     // terms, those in a comprehension counted doubly for each that they are in
	maxLiterals = 5000       // objects, arrays and sets as such: their types are compared with each other
	maxOrdering = 30_000_000 // sum of the cubes of the conditions of each rule: they may have to be sorted
	maxSpread   = 1 << 16    // what a type takes, written out (spread.go)
)

func (p *policy) tooMuch(offset, width int, what string) {
	p.Error(offset, width, "rego-limit", "the policy is too intricate to be checked: "+what, "split it into simpler rules or into several policies")
	p.halt()
}

// checkCost estimates what the compile of a parsed policy costs, and refuses one that is made to take long.
func (p *policy) checkCost() {
	var c cost
	for _, rule := range p.module.AST.Rules {
		for r := rule; r != nil; r = r.Else {
			c.rules++
		}
		c.rule(rule)
		if what := c.exceeded(); what != "" {
			p.tooMuch(offset(rule.Location), width(rule.Location), what)
			return
		}
	}
	if rule := spreads(p.module.AST); rule != nil {
		p.tooMuch(offset(rule.Location), width(rule.Location), "its values are built from copies of copies")
	}
}

// cost is what the rules so far need.
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
		return "more than " + several(maxRules, "rules")
	case c.deepest > maxNesting:
		return fmt.Sprintf("comprehensions or template strings more than %d deep", maxNesting)
	case c.terms > maxTerms:
		return "more than " + several(maxTerms, "terms")
	case c.literals > maxLiterals:
		return "more than " + several(maxLiterals, "objects, arrays and sets")
	case c.ordering > maxOrdering:
		return "too many conditions in one rule"
	}
	return ""
}
