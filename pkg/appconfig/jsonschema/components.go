package jsonschema

import (
	"reflect"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// components returns the schema of a component of any type. Its properties are all keys of all
// types, because editors offer those. A chain of conditions on the type decides which are allowed
// and which are required.
func components() *Schema {
	s := &Schema{Type: "object", Properties: map[string]*Schema{}}
	for _, k := range componentKinds() {
		for name, property := range table(k.Keys(), k).Properties {
			s.offer(name, property)
		}
	}
	kind, _ := format.Find(componentKind)
	typed, _ := kind.Key(typeKey)
	s.Properties[typeKey] = value(typed)
	s.AdditionalProperties = unknown()
	s.If, s.Then, s.Else = &Schema{Required: []string{typeKey}}, chain(componentKinds(), typed, s.Properties),
		&Schema{Required: []string{includeKey}}
	return s
}

// offer adds a property, which can have a different meaning for each type.
func (s *Schema) offer(name string, property *Schema) {
	known := s.Properties[name]
	switch {
	case known == nil:
		s.Properties[name] = property
	case known.Title == either:
		if !slices.ContainsFunc(known.AnyOf, func(other *Schema) bool { return reflect.DeepEqual(other, property) }) {
			known.AnyOf = append(known.AnyOf, property)
		}
	case !reflect.DeepEqual(known, property):
		s.Properties[name] = &Schema{Title: either, AnyOf: []*Schema{known, property}}
	}
}

// either is the title of a property that depends on the type.
const either = "depends on the type"

// chain returns the condition on the first kind: which of all keys are not allowed and which are
// required if the type names this kind, else the chain for the remaining kinds. It rejects keys
// one by one, because editors then mark the key and not the whole file.
func chain(kinds []format.Kind, typed format.Key, all map[string]*Schema) *Schema {
	if len(kinds) == 0 {
		return nil
	}
	k := kinds[0]
	own, others := table(k.Keys(), k), map[string]*Schema{}
	for name := range all {
		if own.Properties[name] == nil {
			others[name] = refused("No key of a " + k.Component + ".")
		}
	}
	one := typeOf(typed, k.Component)
	is := &Schema{Enum: append(slices.Clone(one.Values), sorted(one.OldValues)...)}
	return &Schema{
		If:   &Schema{Properties: map[string]*Schema{typeKey: is}},
		Then: &Schema{Properties: others, If: own.If, Then: own.Then, Else: own.Else},
		Else: chain(kinds[1:], typed, all),
	}
}
