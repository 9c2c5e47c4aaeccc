package schema

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// Limits of the schema of one version. The largest published ones have some ten thousand
// types, twenty deep. Everything beyond the limits is unknown, as if the schema ended there.
const (
	maxTypes = 200_000
	maxDepth = 64
	maxKeys  = 16
)

// crdReader builds the types of one version of a custom resource from its
// structural schema. It does not follow references: a structural schema has none.
//
// The format:
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
type crdReader struct {
	// meta is the type of every object's metadata.
	meta *Type
	// open keeps unknown fields everywhere.
	open bool
	// left is how many more types may be built.
	left int
}

// root returns the type of the whole object. Without a schema, everything
// other than the metadata is open.
func (r *crdReader) root(schema raw.Value) *Type {
	t := r.read(schema, 0)
	if t == nil {
		t = &Type{preserve: true}
	}
	t.shape = Object
	r.embed(t)
	return t
}

// embed adds the fields that every object has.
func (r *crdReader) embed(t *Type) {
	word := &Type{shape: String}
	t.put("apiVersion", word)
	t.put("kind", word)
	t.put("metadata", r.meta)
}

func (t *Type) put(name string, typ *Type) {
	i, found := t.index(name)
	if found {
		t.fields[i].typ = typ
		return
	}
	t.fields = slices.Insert(t.fields, i, field{name, typ})
}

// read returns the type of a schema, or nil if it is unknown.
func (r *crdReader) read(schema raw.Value, depth int) *Type {
	if !schema.IsObject() || depth > maxDepth || r.left <= 0 {
		return nil
	}
	r.left--
	t := &Type{shape: shapeOf(schema), format: formatOf(schema)}
	t.nullable = isTrue(schema, "nullable")
	t.preserve = r.open || isTrue(schema, "x-kubernetes-preserve-unknown-fields")
	if v, ok := schema.Get("default"); ok {
		t.fallback = fallback{value: v, has: true}
	}
	switch t.shape {
	case Object:
		r.object(t, schema, depth)
	case List:
		t.elem = r.element(at(schema, "items"), depth)
		t.list, t.keys = listOf(schema)
	}
	return t
}

// element returns the type of a list's elements or a map's values. Their
// default replaces only null: an omitted element does not exist.
func (r *crdReader) element(schema raw.Value, depth int) *Type {
	t := r.read(schema, depth+1)
	if t != nil {
		t.fallback = fallback{}
	}
	return t
}

// object reads the fields of an object, or the type of a map's values. A
// schema has one or the other.
func (r *crdReader) object(t *Type, schema raw.Value, depth int) {
	properties := at(schema, "properties")
	values, ok := schema.Get("additionalProperties")
	if ok && (values.IsObject() || values.IsTrue()) && len(properties.Keys()) == 0 {
		t.shape = Map
		t.elem = r.element(values, depth)
		return
	}
	for _, name := range properties.Keys() {
		if r.left <= 0 {
			// An unknown field must not look like one that is not allowed.
			t.preserve = true
			break
		}
		t.fields = append(t.fields, field{name, r.read(at(properties, name), depth+1)})
	}
	if isTrue(schema, "x-kubernetes-embedded-resource") {
		r.embed(t)
	}
}

func shapeOf(schema raw.Value) Shape {
	if isTrue(schema, "x-kubernetes-int-or-string") {
		return Any
	}
	switch text(schema, "type") {
	case "object":
		return Object
	case "array":
		return List
	case "string":
		return String
	case "integer":
		return Integer
	case "number":
		return Number
	case "boolean":
		return Boolean
	}
	if at(schema, "properties").IsObject() {
		return Object
	}
	return Any
}

// formatOf returns the meaning of a scalar. Go types that are strings in JSON
// can be recognized only by their patterns.
func formatOf(schema raw.Value) Format {
	pattern := text(schema, "pattern")
	switch format := text(schema, "format"); {
	case pattern == quantityPattern:
		return Quantity
	case isTrue(schema, "x-kubernetes-int-or-string") || format == "int-or-string":
		return IntOrString
	case text(schema, "type") != "string":
		return Plain
	case format == "date-time":
		return Time
	case format == "byte":
		return Bytes
	case format == "duration" || format == "" && durationPattern(pattern):
		return Duration
	}
	return Plain
}

// quantityPattern is the pattern that controller-gen writes for
// resource.Quantity. A similar one may mean something else.
const quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// durationPattern reports whether a pattern consists only of digits and time
// units, with hours, minutes and seconds among them, like those of Gateway
// API, Flux and Prometheus. It does not run the pattern, which may be hostile.
func durationPattern(pattern string) bool {
	const units = "numshdwyµ"
	if !strings.Contains(pattern, "[0-9]") && !strings.Contains(pattern, `\d`) {
		return false
	}
	literal := strings.ReplaceAll(pattern, `\d`, "")
	for _, unit := range []string{"h", "m", "s"} {
		if !strings.Contains(literal, unit) {
			return false
		}
	}
	return !strings.ContainsFunc(literal, func(c rune) bool {
		return (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c > '~') && !strings.ContainsRune(units, c)
	})
}

// listOf returns how the elements of a list are identified. A list without a declared
// kind is atomic to the server, which does not help a reader: it stays Unknown.
func listOf(schema raw.Value) (ListKind, []string) {
	switch text(schema, "x-kubernetes-list-type") {
	case "atomic":
		return Atomic, nil
	case "set":
		return SetList, nil
	case "map":
	default:
		return Unknown, nil
	}
	list := at(schema, "x-kubernetes-list-map-keys")
	if list.Len() == 0 || list.Len() > maxKeys {
		return Unknown, nil
	}
	keys := make([]string, list.Len())
	for i := range keys {
		if keys[i] = text(list.At(i)); keys[i] == "" {
			return Unknown, nil
		}
	}
	return MapList, keys
}

func isTrue(schema raw.Value, key string) bool { return at(schema, key).IsTrue() }
