package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema/internal/table"
)

// formats are the definitions of scalars with a special meaning. The
// published schema of a quantity is only "string or number".
var formats = map[string]table.Type{
	"api.resource.Quantity":    {Shape: 's', Format: "quantity"},
	"util.intstr.IntOrString":  {Shape: 'a', Format: "int-or-string"},
	"meta.v1.Time":             {Shape: 's', Format: "time"},
	"meta.v1.MicroTime":        {Shape: 's', Format: "time"},
	"meta.v1.Duration":         {Shape: 's', Format: "duration"},
	"meta.v1.FieldsV1":         {Shape: 'p'},
	"pkg.runtime.RawExtension": {Shape: 'p'},
}

// builder collects the types that the served kinds reach. Equal types without
// a name are stored once.
type builder struct {
	schemas map[string]*definition // by short name
	full    map[string]string      // names by short name
	// omitted are the fields of a definition that are left out when they are zero.
	omitted func(definition string) (map[string]bool, error)
	named   map[string]int
	alike   map[string]int
	types   []table.Type
}

func build(docs []document, omitted func(string) (map[string]bool, error)) (*table.Table, error) {
	b := &builder{
		schemas: map[string]*definition{}, full: map[string]string{}, omitted: omitted, named: map[string]int{},
		alike: map[string]int{},
	}
	if err := b.collect(docs); err != nil {
		return nil, err
	}
	t := &table.Table{}
	for _, k := range kinds(docs) {
		typ, err := b.definition(b.nameOf(k.gvk))
		if err != nil {
			return nil, fmt.Errorf("%s/%s %s: %w", k.Group, k.Version, k.Kind, err)
		}
		t.Kinds = append(t.Kinds, table.Kind{Group: k.Group, Version: k.Version, Kind: k.Kind, Namespaced: k.namespaced,
			Type: typ})
	}
	t.Types = b.types
	return t, nil
}

// collect adds every definition once. A definition in several documents is
// the same in all of them, except for the kinds that it lists.
func (b *builder) collect(docs []document) error {
	for _, d := range docs {
		for name, s := range d.Components.Schemas {
			short := shortName(name)
			if was, ok := b.full[short]; ok && was != name {
				return fmt.Errorf("%s and %s have the same short name: change shortName", was, name)
			}
			b.full[short] = name
			b.schemas[short] = s
		}
	}
	return nil
}

// shortName returns the last three parts: core.v1.PodSpec for io.k8s.api.core.v1.PodSpec.
func shortName(name string) string {
	parts := strings.Split(name, ".")
	return strings.Join(parts[max(0, len(parts)-3):], ".")
}

// nameOf returns the definition of a kind, or "" if there is none.
func (b *builder) nameOf(k gvk) string {
	for _, name := range slices.Sorted(maps.Keys(b.schemas)) {
		if slices.Contains(b.schemas[name].GroupKinds, k) {
			return name
		}
	}
	return ""
}

type served struct {
	gvk
	namespaced bool
}

// resourcePath matches the path of a list of objects or of one object, and
// not that of a subresource.
var resourcePath = regexp.MustCompile(`^/(?:api|apis/[^/]+)/[^/]+/(namespaces/\{namespace\}/)?[^/]+(?:/\{name\})?$`)

// kinds returns the kinds that the server serves, sorted. A kind is
// namespaced if one of its paths includes a namespace.
func kinds(docs []document) []served {
	found := map[gvk]bool{}
	for _, d := range docs {
		for path, operations := range d.Paths {
			m := resourcePath.FindStringSubmatch(path)
			if m == nil {
				continue
			}
			for _, o := range operations {
				var op struct {
					Of *gvk `json:"x-kubernetes-group-version-kind"`
				}
				// An entry that is no operation (a path's parameters) contains no kind.
				if json.Unmarshal(o, &op) != nil || op.Of == nil {
					continue
				}
				found[*op.Of] = found[*op.Of] || m[1] != ""
			}
		}
	}
	var all []served
	for k, namespaced := range found {
		all = append(all, served{k, namespaced})
	}
	slices.SortFunc(all, func(a, b served) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// definition returns the number of a named type. It reserves the number
// before it reads the fields, since a type may contain itself.
func (b *builder) definition(name string) (int, error) {
	if n, ok := b.named[name]; ok {
		return n, nil
	}
	d, ok := b.schemas[name]
	if !ok {
		return 0, fmt.Errorf("no definition %q", name)
	}
	n := len(b.types)
	b.named[name] = n
	b.types = append(b.types, table.Type{})
	t, ok := formats[name]
	if !ok {
		var err error
		if t, err = b.typeOf(d); err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		if err := b.omit(name, &t); err != nil {
			return 0, err
		}
	}
	t.Name = name
	b.types[n] = t
	return n, nil
}

// omit marks the scalars of a definition that are left out when they are zero.
func (b *builder) omit(name string, t *table.Type) error {
	if len(t.Fields) == 0 {
		return nil
	}
	omitted, err := b.omitted(b.full[name])
	if err != nil {
		return err
	}
	for i, f := range t.Fields {
		of := b.types[f.Type]
		if omitted[f.Name] && strings.IndexByte("sifb", of.Shape) >= 0 && of.Name+of.Format+of.Default == "" {
			t.Fields[i].Type = b.unnamed(table.Type{Shape: of.Shape, Format: table.OmitEmpty})
		}
	}
	return nil
}

// element returns the number of the type of a list's elements or a map's values. Their
// published default replaces null: an omitted element or key simply does not exist.
func (b *builder) element(d *definition) (int, error) {
	plain := *d
	plain.Default = nil
	return b.field(&plain)
}

// field returns the number of the type of a field.
func (b *builder) field(d *definition) (int, error) {
	ref := d.Ref
	if len(d.AllOf) == 1 && d.AllOf[0].Ref != "" {
		ref = d.AllOf[0].Ref
	}
	value, err := compact(d.Default)
	if err != nil {
		return 0, err
	}
	if ref == "" {
		t, err := b.typeOf(d)
		if err != nil {
			return 0, err
		}
		t.Default = value
		return b.unnamed(t), nil
	}
	n, err := b.definition(shortName(ref[strings.LastIndex(ref, "/")+1:]))
	if err != nil || value == "" {
		return n, err
	}
	return b.unnamed(table.Type{Shape: 'r', Elem: n, Default: value}), nil
}

func (b *builder) unnamed(t table.Type) int {
	key := fmt.Sprintf("%+v", t)
	if n, ok := b.alike[key]; ok {
		return n
	}
	b.types = append(b.types, t)
	b.alike[key] = len(b.types) - 1
	return b.alike[key]
}

func (b *builder) typeOf(d *definition) (table.Type, error) {
	switch {
	case d.Type == "array":
		return b.list(d)
	case d.Values != nil:
		n, err := b.element(d.Values)
		return table.Type{Shape: 'm', Elem: n}, err
	case d.Type == "object":
		return b.object(d)
	case d.Type == "string":
		return table.Type{Shape: 's', Format: map[string]string{"byte": "bytes", "date-time": "time"}[d.Format]}, nil
	case d.Type == "integer":
		return table.Type{Shape: 'i'}, nil
	case d.Type == "number":
		return table.Type{Shape: 'f'}, nil
	case d.Type == "boolean":
		return table.Type{Shape: 'b'}, nil
	case d.Type == "" && d.Ref == "" && len(d.AllOf) == 0:
		return table.Type{Shape: 'a'}, nil
	}
	return table.Type{}, fmt.Errorf("a schema of a form that is not known (type %q): teach it to the generator", d.Type)
}

func (b *builder) object(d *definition) (table.Type, error) {
	t := table.Type{Shape: 'o'}
	for _, name := range slices.Sorted(maps.Keys(d.Properties)) {
		n, err := b.field(d.Properties[name])
		if err != nil {
			return t, fmt.Errorf("%s: %w", name, err)
		}
		t.Fields = append(t.Fields, table.Field{Name: name, Type: n})
	}
	return t, nil
}

// list reads the keys of server-side apply; if a list has only the older
// merge key of patches, it reads that one.
func (b *builder) list(d *definition) (table.Type, error) {
	t := table.Type{Shape: 'l', List: '-'}
	switch d.ListType {
	case "atomic":
		t.List = 'a'
	case "set":
		t.List = 's'
	case "map":
		t.List, t.Keys = 'm', d.ListKeys
	case "":
		if d.MergeKey != "" {
			t.List, t.Keys = 'm', []string{d.MergeKey}
		}
	default:
		return t, fmt.Errorf("list type %q is not known", d.ListType)
	}
	if d.Items == nil {
		return t, fmt.Errorf("a list without items")
	}
	var err error
	t.Elem, err = b.element(d.Items)
	return t, err
}

func compact(value json.RawMessage) (string, error) {
	if len(value) == 0 {
		return "", nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return "", err
	}
	return b.String(), nil
}
