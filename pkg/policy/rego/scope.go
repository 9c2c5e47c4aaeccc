package rego

import "github.com/open-policy-agent/opa/v1/ast"

// scope is a rule, a comprehension or the body of an every: a node that can declare variables.
type scope struct {
	number   int
	declared map[string]bool // by some, every and :=
	direct   map[string]bool // names that occur in it outside of nested scopes
}

// scopes tracks the open scopes of a walk through a module.
type scopes struct {
	known map[any]*scope
	open  []*scope
}

// walk visits a node and everything below it, and tracks the open scopes.
func (s *scopes) walk(root any, visit func(node any)) {
	ast.NewBeforeAfterVisitor(func(node any) bool {
		if node != root || !isRule(node) {
			s.enter(node)
		}
		visit(node)
		return false
	}, func(node any) {
		if node != root || !isRule(node) {
			s.leave(node)
		}
	}).Walk(root)
}

func isRule(node any) bool { _, ok := node.(*ast.Rule); return ok }

func (s *scopes) enter(node any) {
	if !opensScope(node) {
		return
	}
	sc := s.known[node]
	if sc == nil {
		sc = &scope{number: len(s.known), declared: map[string]bool{}, direct: map[string]bool{}}
		sc.read(node)
		s.known[node] = sc
	}
	s.open = append(s.open, sc)
}

func (s *scopes) leave(node any) {
	if opensScope(node) {
		s.open = s.open[:len(s.open)-1]
	}
}

// opensScope reports whether a node opens a scope. Rules do, but not their else branches, which
// share the arguments of the rule.
func opensScope(node any) bool {
	switch node.(type) {
	case *ast.Rule, *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, *ast.Every:
		return true
	}
	return false
}

// scopeOf returns the scope that a name belongs to at this place: the innermost scope that declares it
// or, if none does, the outermost in which it occurs, because an undeclared name is one variable
// throughout.
func (s *scopes) scopeOf(name string) int {
	for i := len(s.open) - 1; i >= 0; i-- {
		if s.open[i].declared[name] {
			return s.open[i].number
		}
	}
	for _, sc := range s.open {
		if sc.direct[name] {
			return sc.number
		}
	}
	return 0
}

// read records the names of a scope.
func (s *scope) read(root any) {
	ast.NewGenericVisitor(func(node any) bool {
		if opensScope(node) && node != root {
			return true
		}
		switch node := node.(type) {
		case ast.Var:
			s.direct[string(node)] = true
		case *ast.Every:
			s.declare(node.Key)
			s.declare(node.Value)
		case *ast.SomeDecl:
			for _, symbol := range node.Symbols {
				if call, ok := symbol.Value.(ast.Call); ok && len(call) > 2 {
					for _, target := range call[1 : len(call)-1] {
						s.declare(target)
					}
					continue
				}
				s.declare(symbol)
			}
		case *ast.Expr:
			if terms, ok := node.Terms.([]*ast.Term); ok && len(terms) == 3 && node.IsAssignment() {
				s.declare(terms[1])
			}
		}
		return false
	}).Walk(root)
}

// declare records all variables of a term.
func (s *scope) declare(target *ast.Term) {
	if target == nil {
		return
	}
	ast.NewGenericVisitor(func(node any) bool {
		if v, ok := node.(ast.Var); ok {
			s.declared[string(v)] = true
		}
		return false
	}).Walk(target)
}
