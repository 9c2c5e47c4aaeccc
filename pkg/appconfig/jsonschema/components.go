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
		for name, property := range tableSchema(k.Keys(), k).Properties {
			s.addProperty(name, property)
		}
	}
	kind, _ := format.FindKind(componentKind)
	typed, _ := kind.Key(typeKey)
	s.Properties[typeKey] = valueSchema(typed)
	s.AdditionalProperties = unknownKey()
	s.If, s.Then, s.Else = &Schema{Required: []string{typeKey}}, typeConditions(componentKinds(), typed, s.Properties),
		&Schema{Required: []string{includeKey}}
	return s
}

// addProperty adds a property, which can have a different meaning for each type.
func (s *Schema) addProperty(name string, property *Schema) {
	known := s.Properties[name]
	switch {
	case known == nil:
		s.Properties[name] = property
	case known.Title == dependsOnType:
		if !slices.ContainsFunc(known.AnyOf, func(other *Schema) bool { return reflect.DeepEqual(other, property) }) {
			known.AnyOf = append(known.AnyOf, property)
		}
	case !reflect.DeepEqual(known, property):
		s.Properties[name] = &Schema{Title: dependsOnType, AnyOf: []*Schema{known, property}}
	}
}

// dependsOnType is the title of a property that depends on the type.
const dependsOnType = "depends on the type"

// typeConditions returns the condition on the first kind: which of all keys are not allowed and which are
// required if the type names this kind, else the chain for the remaining kinds. It rejects keys
// one by one, because editors then mark the key and not the whole file.
func typeConditions(kinds []format.Kind, typed format.Key, all map[string]*Schema) *Schema {
	if len(kinds) == 0 {
		return nil
	}
	k := kinds[0]
	own, others := tableSchema(k.Keys(), k), map[string]*Schema{}
	for name := range all {
		if own.Properties[name] == nil {
			others[name] = rejected("No key of a " + k.Component + ".")
		}
	}
	typeKeyOf := typeOf(typed, k.Component)
	typeSchema := &Schema{Enum: append(slices.Clone(typeKeyOf.Values), sorted(typeKeyOf.OldValues)...)}
	return &Schema{
		If:   &Schema{Properties: map[string]*Schema{typeKey: typeSchema}},
		Then: &Schema{Properties: others, If: own.If, Then: own.Then, Else: own.Else},
		Else: typeConditions(kinds[1:], typed, all),
	}
}
