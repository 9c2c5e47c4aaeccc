package jsonschema

import (
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// ForKind returns the schema of files of kind k. The schema of the kind component covers every type.
func ForKind(k format.Kind) *Schema {
	s := &Schema{Type: "object"}
	switch {
	case k.OpenEnded:
	case k.Name == componentKind:
		s = components()
	default:
		s = tableSchema(keysOf(k), k)
	}
	s.Draft, s.Title, s.Description = Draft, "nuon: "+k.Name, k.Description
	if k.NoEffectYet {
		s.Description += " " + noEffect
	}
	return s
}

const (
	componentKind  = "component"
	singleFileKind = "full"
	typeKey        = "type"
	includeKey     = "source"
)

// keysOf returns the keys of a kind as its files contain them: in the single-file form, a
// component has the keys of its type in a table named after the type.
func keysOf(k format.Kind) []format.Key {
	if k.Name != singleFileKind {
		return k.Keys()
	}
	keys := slices.Clone(k.Keys())
	for i, key := range keys {
		if key.Name == "components" {
			keys[i].Keys = slices.Concat(key.Keys, typeTables())
		}
	}
	return keys
}

// typeTables returns a table for each type of component, with the keys that only this type has.
func typeTables() []format.Key {
	common, _ := format.FindKind(componentKind)
	var tables []format.Key
	for _, k := range componentKinds() {
		own := slices.DeleteFunc(slices.Clone(k.Keys()),
			func(key format.Key) bool { return has(common.Keys(), key.Name) })
		for i := range own {
			own[i].Required = false // an app may set it above the table
		}
		tables = append(tables, format.Key{Name: k.Component, Type: format.Table, Description: k.Description,
			Keys: own})
	}
	return tables
}

// componentKinds returns the kinds of component.
func componentKinds() []format.Kind {
	return slices.DeleteFunc(slices.Clone(format.Kinds()), func(k format.Kind) bool { return k.Component == "" })
}

func has(keys []format.Key, name string) bool {
	return slices.ContainsFunc(keys, func(k format.Key) bool { return k.Name == name })
}

// tableSchema returns the schema of a table with these keys. k is the kind of component, if it is one.
func tableSchema(keys []format.Key, k format.Kind) *Schema {
	s := &Schema{Type: "object", Properties: map[string]*Schema{}, AdditionalProperties: unknownKey()}
	for _, key := range keys {
		if key.Name == typeKey && k.Component != "" {
			key = typeOf(key, k.Component)
		}
		s.Properties[key.Name] = valueSchema(key)
		for _, old := range key.OldNames {
			older := valueSchema(key)
			older.Description, older.Deprecated, older.Taplo = "An older form of "+key.Name+". "+older.Description,
				true, hidden()
			s.Properties[old] = older
		}
	}
	s.require(keys)
	return s
}

// typeOf restricts the key type to one kind of component, with its older spellings.
func typeOf(key format.Key, component string) format.Key {
	old := map[string]string{}
	for name, current := range key.OldValues {
		if current == component {
			old[name] = current
		}
	}
	key.Values, key.OldValues = []string{component}, old
	return key
}

// require makes the required keys required. If the table may include another file, they are only
// required without that include, because they may be in the included file.
func (s *Schema) require(keys []format.Key) {
	var names []string
	for _, k := range keys {
		if k.Required {
			names = append(names, k.Name)
		}
	}
	if names == nil || !has(keys, includeKey) {
		s.Required = names
		return
	}
	s.If, s.Else = &Schema{Required: []string{includeKey}}, &Schema{Required: names}
}
