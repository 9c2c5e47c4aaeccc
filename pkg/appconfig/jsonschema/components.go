package jsonschema

import (
	"reflect"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// components is the schema of a component of any type. All keys of all types are properties of it, because editors offer those; which of
// them may stand, and which must, is a chain of conditions on the type.
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
	s.If, s.Then, s.Else = &Schema{Required: []string{typeKey}}, chain(componentKinds(), typed, s.Properties), &Schema{Required: []string{includeKey}}
	return s
}

// offer adds a property, which can mean one thing in one type and another in the next.
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

// chain says of the first kind, if it is the one that the type names, which of all keys may not stand and which must; else it goes on with
// the rest. Keys are refused one by one, because editors then mark the key and not the whole file.
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
