package rego

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// definition is one place that assigns a value to a name: its own terms, and the values of other
// names. Both directions of one `=` count as one place: the value that a name gets there does not
// count when the place is read in the other direction, because otherwise `[a, b] = x` would grow
// without end.
type definition struct {
	name  int
	place int
	own   int
	uses  []int
	rule  *ast.Rule
}

// definitions collects the definitions of a module. A rule has one name per module, a variable one
// name per scope.
type definitions struct {
	names map[string]int
	rules map[string]bool
	all   []definition

	rule  *ast.Rule
	place int
	scopes
}

// size is the largest size found for a name, and the largest size from any other place.
type size struct{ max, place, maxElsewhere int }

func (s *size) without(place int) int {
	if s.place == place {
		return s.maxElsewhere
	}
	return s.max
}

// grow records a size from a place, and reports whether that changed anything.
func (s *size) grow(to, place int) bool {
	switch {
	case place == s.place:
		if to <= s.max {
			return false
		}
		s.max = to
	case to > s.max:
		s.max, s.place, s.maxElsewhere = to, place, s.max
	case to > s.maxElsewhere:
		s.maxElsewhere = to
	default:
		return false
	}
	return true
}

// findOversizedType returns a rule in which an expanded type would be larger than maxTypeSize, or nil. `a :=
// [b, b]` doubles the size of b.
func findOversizedType(module *ast.Module) *ast.Rule {
	d := definitions{names: map[string]int{}, rules: map[string]bool{}, scopes: scopes{known: map[any]*scope{}}}
	for _, rule := range module.Rules {
		d.rules[string(ruleName(rule))] = true
	}
	for _, rule := range module.Rules {
		d.rule = rule
		d.enter(rule)
		d.collect(rule)
		d.leave(rule)
	}
	return d.estimate()
}

// ruleName returns the first name of a rule's head.
func ruleName(rule *ast.Rule) ast.Var {
	if ref := rule.Head.Ref(); len(ref) > 0 {
		if name, ok := ref[0].Value.(ast.Var); ok {
			return name
		}
	}
	return rule.Head.Name
}

func (d *definitions) collect(rule *ast.Rule) {
	for r := rule; r != nil; r = r.Else {
		d.place++
		d.define(string(ruleName(rule)), r.Head.Key, r.Head.Value)
	}
	d.walk(rule, func(node any) {
		switch node := node.(type) {
		case *ast.Expr:
			if terms, ok := node.Terms.([]*ast.Term); ok && len(terms) == 3 &&
				(node.IsAssignment() || node.IsEquality()) {
				d.place++
				d.unify(terms[1], terms[2])
				if node.IsEquality() {
					d.unify(terms[2], terms[1])
				}
			}
		case *ast.SomeDecl:
			for _, symbol := range node.Symbols {
				if call, ok := symbol.Value.(ast.Call); ok && len(call) > 2 {
					d.place++
					for _, target := range call[1 : len(call)-1] {
						d.unify(target, call[len(call)-1])
					}
				}
			}
		case *ast.Every:
			d.place++
			d.unify(node.Value, node.Domain)
		}
	})
}

// unify defines every variable of the target by the terms of the value.
func (d *definitions) unify(target, value *ast.Term) {
	switch target.Value.(type) {
	case ast.Var, *ast.Array, ast.Object:
		ast.NewGenericVisitor(func(node any) bool {
			if v, ok := node.(ast.Var); ok {
				d.define(d.key(v), value)
			}
			return false
		}).Walk(target)
	}
}

func (d *definitions) define(name string, values ...*ast.Term) {
	found := definition{name: d.number(name), place: d.place, rule: d.rule}
	for _, value := range values {
		if value != nil {
			d.measure(&found, value)
		}
	}
	d.all = append(d.all, found)
}

// measure adds the parts of a term's type. The arguments of a call are not part of its type, nor is
// the body of a comprehension.
func (d *definitions) measure(def *definition, term *ast.Term) {
	switch v := term.Value.(type) {
	case ast.Var: // only a copy
		d.use(def, d.key(v))
		return
	case ast.Ref:
		d.measureRef(def, v)
	case ast.Call:
		if ref, ok := v[0].Value.(ast.Ref); ok {
			d.measureRef(def, ref)
		}
	case *ast.Array:
		v.Foreach(func(item *ast.Term) { d.measure(def, item) })
	case ast.Set:
		v.Foreach(func(item *ast.Term) { d.measure(def, item) })
	case ast.Object:
		v.Foreach(func(key, item *ast.Term) { d.measure(def, key); d.measure(def, item) })
	case *ast.ArrayComprehension:
		d.within(v, func() { d.measure(def, v.Term) })
	case *ast.SetComprehension:
		d.within(v, func() { d.measure(def, v.Term) })
	case *ast.ObjectComprehension:
		d.within(v, func() { d.measure(def, v.Key); d.measure(def, v.Value) })
	}
	def.own++
}

// measureRef adds the first value of the reference, which bounds its size; data.nuon.name starts
// with that name.
func (d *definitions) measureRef(def *definition, ref ast.Ref) {
	if len(ref) == 0 {
		return
	}
	if !ref[0].Equal(ast.DefaultRootDocument) {
		d.measure(def, ref[0])
		return
	}
	for _, part := range ref[1:] {
		if name, ok := part.Value.(ast.String); ok && d.rules[string(name)] {
			d.use(def, string(name))
		}
	}
}

// within calls do in the scope of a comprehension.
func (d *definitions) within(comprehension any, do func()) {
	d.enter(comprehension)
	do()
	d.leave(comprehension)
}

// use records that a definition contains the value of another name. A definition does not use its
// own name.
func (d *definitions) use(def *definition, name string) {
	if number := d.number(name); number != def.name {
		def.uses = append(def.uses, number)
	}
}

// key returns a name that is unique to the variable's scope.
func (d *definitions) key(v ast.Var) string {
	if d.rules[string(v)] {
		return string(v)
	}
	return fmt.Sprintf("%d %s", d.scopeOf(string(v)), string(v))
}

func (d *definitions) number(name string) int {
	n, ok := d.names[name]
	if !ok {
		n = len(d.names)
		d.names[name] = n
	}
	return n
}

// estimate computes the sizes, forwards and backwards through the text in turn, until they no
// longer change. It returns a rule whose size is over the limit, or that still grows after many
// rounds; nil if there is none.
func (d *definitions) estimate() *ast.Rule {
	const rounds = 1000
	sizes := make([]size, len(d.names))
	var grown *ast.Rule
	for round := range rounds {
		grown = nil
		for i := range d.all {
			def := &d.all[i]
			if round%2 == 1 {
				def = &d.all[len(d.all)-1-i]
			}
			sum := def.own
			for _, used := range def.uses {
				sum += sizes[used].without(def.place)
			}
			if sum > maxTypeSize {
				return def.rule
			}
			if sizes[def.name].grow(sum, def.place) {
				grown = def.rule
			}
		}
		if grown == nil {
			return nil
		}
	}
	return grown
}
