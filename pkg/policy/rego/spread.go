package rego

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// definition is one place that gives a name its value: so many terms of its own, and those of other names. Both directions of one `=` are
// of one place: what a name has from there does not count when the place is read the other way, or `[a, b] = x` would have no end.
type definition struct {
	name  int
	place int
	own   int
	uses  []int
	rule  *ast.Rule
}

// definitions collects them for a module. Names of rules are one for the module, those of variables one for each scope.
type definitions struct {
	names map[string]int
	rules map[string]bool
	all   []definition

	rule  *ast.Rule
	place int
	scopes
}

// size is the largest that a name has been found to be, and the largest by another place than that.
type size struct{ most, place, second int }

func (s *size) without(place int) int {
	if s.place == place {
		return s.second
	}
	return s.most
}

// grow says whether the size is now larger.
func (s *size) grow(to, place int) bool {
	switch {
	case place == s.place:
		if to <= s.most {
			return false
		}
		s.most = to
	case to > s.most:
		s.most, s.place, s.second = to, place, s.most
	case to > s.second:
		s.second = to
	default:
		return false
	}
	return true
}

// spreads gives the rule in which a type, written out, would be larger than maxSpread, or nil. `a := [b, b]` doubles what b is.
func spreads(module *ast.Module) *ast.Rule {
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

// ruleName is the first name of a rule's head.
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
			if terms, ok := node.Terms.([]*ast.Term); ok && len(terms) == 3 && (node.IsAssignment() || node.IsEquality()) {
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

// unify gives every variable of the target the terms of the value.
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

// measure adds what the type of a term is made of. What a call is given is no part of what it gives, nor is the body of a comprehension.
func (d *definitions) measure(in *definition, term *ast.Term) {
	switch v := term.Value.(type) {
	case ast.Var: // a mere copy
		d.use(in, d.key(v))
		return
	case ast.Ref:
		d.measureRef(in, v)
	case ast.Call:
		if ref, ok := v[0].Value.(ast.Ref); ok {
			d.measureRef(in, ref)
		}
	case *ast.Array:
		v.Foreach(func(item *ast.Term) { d.measure(in, item) })
	case ast.Set:
		v.Foreach(func(item *ast.Term) { d.measure(in, item) })
	case ast.Object:
		v.Foreach(func(key, item *ast.Term) { d.measure(in, key); d.measure(in, item) })
	case *ast.ArrayComprehension:
		d.within(v, func() { d.measure(in, v.Term) })
	case *ast.SetComprehension:
		d.within(v, func() { d.measure(in, v.Term) })
	case *ast.ObjectComprehension:
		d.within(v, func() { d.measure(in, v.Key); d.measure(in, v.Value) })
	}
	in.own++
}

// measureRef adds what is at most as large as what the reference begins with; data.nuon.name begins with that name.
func (d *definitions) measureRef(in *definition, ref ast.Ref) {
	if len(ref) == 0 {
		return
	}
	if !ref[0].Equal(ast.DefaultRootDocument) {
		d.measure(in, ref[0])
		return
	}
	for _, part := range ref[1:] {
		if name, ok := part.Value.(ast.String); ok && d.rules[string(name)] {
			d.use(in, string(name))
		}
	}
}

// within does something in the scope of a comprehension.
func (d *definitions) within(comprehension any, do func()) {
	d.enter(comprehension)
	do()
	d.leave(comprehension)
}

// use notes that a definition has another name's value in it. None has its own.
func (d *definitions) use(in *definition, name string) {
	if number := d.number(name); number != in.name {
		in.uses = append(in.uses, number)
	}
}

// key tells the variables of one scope from those of another.
func (d *definitions) key(v ast.Var) string {
	if d.rules[string(v)] {
		return string(v)
	}
	return fmt.Sprintf("%d %s", d.of(string(v)), string(v))
}

func (d *definitions) number(name string) int {
	n, ok := d.names[name]
	if !ok {
		n = len(d.names)
		d.names[name] = n
	}
	return n
}

// estimate works the sizes out, forwards and backwards through the text in turn, until they stay.
func (d *definitions) estimate() *ast.Rule {
	const rounds = 1000
	sizes := make([]size, len(d.names))
	for round := range rounds {
		changed := false
		for i := range d.all {
			one := &d.all[i]
			if round%2 == 1 {
				one = &d.all[len(d.all)-1-i]
			}
			sum := one.own
			for _, used := range one.uses {
				sum += sizes[used].without(one.place)
			}
			if sum > maxSpread {
				return one.rule
			}
			changed = sizes[one.name].grow(sum, one.place) || changed
		}
		if !changed {
			return nil
		}
	}
	return nil
}
