package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strconv"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Values are plain Go values: nil for null, string, bool, json.Number, []any for lists, sets and
// tuples, object for maps and objects; and two kinds that JSON does not have: unknown and dynamic.
type object = map[string]any

type unknownValue struct{}

// unknown is a value that an apply will determine.
var unknown any = unknownValue{}

// dynamic is the value of an attribute whose type the schema leaves open. It keeps its type.
type dynamic struct {
	typ   tftypes.Type
	value any
}

// decode converts a Terraform value of a schema's type to a plain value.
func decode(v tftypes.Value, t tftypes.Type) (any, error) {
	switch {
	case !v.IsKnown():
		return unknown, nil
	case v.IsNull():
		return nil, nil
	case t.Is(tftypes.DynamicPseudoType):
		inner, err := decode(v, v.Type())
		return dynamic{v.Type(), inner}, err
	case t.Is(tftypes.String):
		var text string
		err := v.As(&text)
		return text, err
	case t.Is(tftypes.Bool):
		var is bool
		err := v.As(&is)
		return is, err
	case t.Is(tftypes.Number):
		number := new(big.Float)
		err := v.As(&number)
		return json.Number(number.Text('f', -1)), err
	case t.Is(tftypes.Map{}), t.Is(tftypes.Object{}):
		return decodeObject(v, t)
	}
	return decodeList(v, t)
}

func decodeObject(v tftypes.Value, t tftypes.Type) (any, error) {
	var fields map[string]tftypes.Value
	if err := v.As(&fields); err != nil {
		return nil, err
	}
	made := object{}
	for name, field := range fields {
		var err error
		if made[name], err = decode(field, fieldType(t, name)); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func decodeList(v tftypes.Value, t tftypes.Type) (any, error) {
	var elements []tftypes.Value
	if err := v.As(&elements); err != nil {
		return nil, err
	}
	made := make([]any, len(elements))
	for i, element := range elements {
		var err error
		if made[i], err = decode(element, elementType(t, i)); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// fieldType returns the type of a field of an object, or of the elements of a map.
func fieldType(t tftypes.Type, name string) tftypes.Type {
	switch t := t.(type) {
	case tftypes.Map:
		return t.ElementType
	case tftypes.Object:
		return t.AttributeTypes[name]
	}
	return nil
}

// elementType returns the type of an element of a list, set or tuple, nil for all other types.
func elementType(t tftypes.Type, i int) tftypes.Type {
	switch t := t.(type) {
	case tftypes.List:
		return t.ElementType
	case tftypes.Set:
		return t.ElementType
	case tftypes.Tuple:
		if i < len(t.ElementTypes) {
			return t.ElementTypes[i]
		}
	}
	return nil
}

// encode converts a plain value to a Terraform value. A value that does not fit the type becomes
// null: what fill makes is checked by the tests, and everything else came from a value of the type.
func encode(x any, t tftypes.Type) tftypes.Value {
	switch x := x.(type) {
	case nil:
		return tftypes.NewValue(t, nil)
	case unknownValue:
		return tftypes.NewValue(t, tftypes.UnknownValue)
	case dynamic:
		return encode(x.value, x.typ)
	}
	switch t := t.(type) {
	case tftypes.Map:
		made := map[string]tftypes.Value{}
		for name, field := range asObject(x) {
			made[name] = encode(field, t.ElementType)
		}
		return tftypes.NewValue(t, made)
	case tftypes.Object:
		made, given := map[string]tftypes.Value{}, asObject(x)
		for name, typ := range t.AttributeTypes {
			made[name] = encode(given[name], typ)
		}
		return tftypes.NewValue(t, made)
	case tftypes.List, tftypes.Set, tftypes.Tuple:
		list, _ := x.([]any)
		if _, isSet := t.(tftypes.Set); isSet {
			list = withoutDuplicates(list)
		}
		made := make([]tftypes.Value, len(list))
		for i, element := range list {
			made[i] = encode(element, elementType(t, i))
		}
		return tftypes.NewValue(t, made)
	}
	if t.Is(tftypes.DynamicPseudoType) {
		guessed := guessType(x)
		return encode(x, guessed)
	}
	return encodeScalar(x, t)
}

func encodeScalar(x any, t tftypes.Type) tftypes.Value {
	switch {
	case t.Is(tftypes.String):
		if text, ok := x.(string); ok {
			return tftypes.NewValue(t, text)
		}
		return tftypes.NewValue(t, fmt.Sprint(x))
	case t.Is(tftypes.Number):
		if number, _, err := big.ParseFloat(fmt.Sprint(x), 10, 512, big.ToNearestEven); err == nil {
			return tftypes.NewValue(t, number)
		}
	case t.Is(tftypes.Bool):
		if is, err := strconv.ParseBool(fmt.Sprint(x)); err == nil {
			return tftypes.NewValue(t, is)
		}
	}
	return tftypes.NewValue(t, nil)
}

// withoutDuplicates returns the elements of a set, each known one once.
func withoutDuplicates(list []any) []any {
	made := make([]any, 0, len(list))
next:
	for _, x := range list {
		for _, has := range made {
			if !hasUnknown(x) && reflect.DeepEqual(x, has) {
				continue next
			}
		}
		made = append(made, x)
	}
	return made
}

// guessType returns the type of a plain value, for an attribute whose type is open.
func guessType(x any) tftypes.Type {
	switch x := x.(type) {
	case bool:
		return tftypes.Bool
	case json.Number, int, float64:
		return tftypes.Number
	case []any:
		tuple := tftypes.Tuple{}
		for _, element := range x {
			tuple.ElementTypes = append(tuple.ElementTypes, guessType(element))
		}
		return tuple
	case object:
		made := tftypes.Object{AttributeTypes: map[string]tftypes.Type{}}
		for name, field := range x {
			made.AttributeTypes[name] = guessType(field)
		}
		return made
	case dynamic:
		return x.typ
	}
	return tftypes.String
}

// toJSON returns a plain value as the store has it: unknown values are null, and dynamic values
// keep their type.
func toJSON(x any) any {
	switch x := x.(type) {
	case unknownValue:
		return nil
	case dynamic:
		typ, _ := x.typ.MarshalJSON() //nolint:staticcheck // there is no other writer of this form
		return object{"type": json.RawMessage(typ), "value": toJSON(x.value)}
	case []any:
		made := make([]any, len(x))
		for i := range x {
			made[i] = toJSON(x[i])
		}
		return made
	case object:
		made := object{}
		for name, field := range x {
			made[name] = toJSON(field)
		}
		return made
	}
	return x
}

// fromJSON is the reverse of toJSON, for JSON that was decoded with UseNumber. Parts that do not fit
// the type become null.
func fromJSON(x any, t tftypes.Type) any {
	if x == nil {
		return nil
	}
	if t.Is(tftypes.DynamicPseudoType) {
		given := asObject(x)
		text, err := json.Marshal(given["type"])
		if err != nil {
			return nil
		}
		typ, err := parseType(text)
		if err != nil {
			return nil
		}
		return dynamic{typ, fromJSON(given["value"], typ)}
	}
	switch t := t.(type) {
	case tftypes.Map:
		made := object{}
		for name, field := range asObject(x) {
			made[name] = fromJSON(field, t.ElementType)
		}
		return made
	case tftypes.Object:
		made, given := object{}, asObject(x)
		for name, typ := range t.AttributeTypes {
			made[name] = fromJSON(given[name], typ)
		}
		return made
	case tftypes.List, tftypes.Set, tftypes.Tuple:
		list, _ := x.([]any)
		made := make([]any, len(list))
		for i, element := range list {
			made[i] = fromJSON(element, elementType(t, i))
		}
		return made
	}
	return x
}

// hasUnknown reports whether a value is unknown, or a part of it.
func hasUnknown(x any) bool {
	switch x := x.(type) {
	case unknownValue:
		return true
	case dynamic:
		return hasUnknown(x.value)
	case []any:
		for _, element := range x {
			if hasUnknown(element) {
				return true
			}
		}
	case object:
		for _, field := range x {
			if hasUnknown(field) {
				return true
			}
		}
	}
	return false
}

// clone returns a deep copy.
func clone(x any) any {
	switch x := x.(type) {
	case []any:
		made := make([]any, len(x))
		for i := range x {
			made[i] = clone(x[i])
		}
		return made
	case object:
		made := object{}
		for name, field := range x {
			made[name] = clone(field)
		}
		return made
	case dynamic:
		return dynamic{x.typ, clone(x.value)}
	}
	return x
}

func same(a, b any) bool { return reflect.DeepEqual(a, b) }

func asObject(x any) object {
	made, _ := x.(object)
	return made
}

func asList(x any) []any {
	made, _ := x.([]any)
	return made
}

// asText returns a text, and "" for everything else.
func asText(x any) string {
	text, _ := x.(string)
	return text
}

// asTexts returns the texts of a list or set, in its order.
func asTexts(x any) (made []string) {
	for _, element := range asList(x) {
		if text, ok := element.(string); ok {
			made = append(made, text)
		}
	}
	return made
}

// asInt returns a number, or the fallback if x is none.
func asInt(x any, fallback int) int {
	number, ok := x.(json.Number)
	if !ok {
		return fallback
	}
	made, err := number.Int64()
	if err != nil {
		return fallback
	}
	return int(made)
}

// asNumber returns a plain value for a number.
func asNumber(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// asAnys returns a plain list of texts.
func asAnys(texts ...string) []any {
	made := make([]any, len(texts))
	for i, text := range texts {
		made[i] = text
	}
	return made
}

// items returns the objects of a nested block or attribute, whichever way it is nested.
func items(x any, mode string) (made []object) {
	switch x := x.(type) {
	case []any:
		for _, element := range x {
			if o, ok := element.(object); ok {
				made = append(made, o)
			}
		}
	case object:
		if mode != "map" {
			return []object{x}
		}
		for _, name := range sortedKeys(x) {
			if o, ok := x[name].(object); ok {
				made = append(made, o)
			}
		}
	}
	return made
}
