package main

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// filler determines the values that the provider chooses for one object. They follow from the seed:
// a hash of the type, the given values and a counter.
type filler struct {
	server *server
	typ    string
	schema *block
	top    object       // the attributes of the object
	seed   string       // 64 hexadecimal digits
	data   bool         // a data source, all of whose computed values are filled
	others *transaction // the objects of the cloud, nil for a data source

	making map[string]bool // attributes that get fills at the moment
}

func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// uuid formats a hash as a random UUID.
func uuid(hash string) string {
	return hash[:8] + "-" + hash[8:12] + "-4" + hash[13:16] + "-a" + hash[17:20] + "-" + hash[20:32]
}

// fill replaces all unknown values.
func (f *filler) fill() { f.block(f.schema, f.top, "") }

func (f *filler) block(b *block, v object, path string) {
	for _, name := range sortedKeys(b.Attributes) {
		f.attribute(b.Attributes[name], v, name, path)
	}
	for _, name := range sortedKeys(b.Blocks) {
		n := b.Blocks[name]
		if v[name] == unknown || f.data && n.Computed && len(asList(v[name])) == 0 {
			v[name] = f.computedBlock(n, name, path)
			continue
		}
		for _, item := range items(v[name], n.Mode) {
			f.block(n.Block, item, path+name+".")
		}
	}
}

// computedBlock returns the content of a block that the configuration leaves out: one item if there
// can be one at most, none otherwise.
func (f *filler) computedBlock(n *nestedBlock, name, path string) any {
	if made, is := f.special(path + name); is {
		return made
	}
	if n.MaxItems != 1 && n.Mode != "single" {
		return []any{}
	}
	item := object{}
	for name, a := range n.Block.Attributes {
		if a.Computed || a.Required {
			item[name] = unknown
		}
	}
	for name, inner := range n.Block.Blocks {
		item[name] = []any{}
		if inner.Mode == "single" {
			item[name] = nil
		}
	}
	f.block(n.Block, item, path+name+".")
	if n.Mode == "single" {
		return item
	}
	return []any{item}
}

func (f *filler) attribute(a *attribute, v object, name, path string) {
	switch x := v[name]; {
	case a.WriteOnly:
		v[name] = nil
	case x == unknown || x == nil && f.data && a.Computed:
		v[name] = f.value(a.parsed, name, path, !a.Optional)
	case a.Nested != nil:
		for _, item := range items(x, a.Nested.Mode) {
			f.block(&a.Nested.block, item, path+name+".")
		}
	case !hasUnknown(x):
	default:
		if made, is := f.special(path + name); is {
			v[name] = made
			return
		}
		v[name] = f.within(a.parsed, x, name, path)
	}
}

// within replaces unknown values inside a value.
func (f *filler) within(t tftypes.Type, x any, name, path string) any {
	if !hasUnknown(x) {
		return x
	}
	switch x := x.(type) {
	case unknownValue:
		return f.value(t, name, path, false)
	case []any:
		for i := range x {
			x[i] = f.within(elementType(t, i), x[i], name, path)
		}
	case object:
		for field := range x {
			x[field] = f.within(fieldType(t, field), x[field], field, path+name+".")
		}
	}
	return x
}

// get returns an attribute of the object, which it determines first if necessary.
func (f *filler) get(name string) any {
	a := f.schema.Attributes[name]
	if a == nil || f.making[name] {
		return nil
	}
	if x := f.top[name]; x == unknown || x == nil && f.data && a.Computed {
		if f.making == nil {
			f.making = map[string]bool{}
		}
		f.making[name] = true
		f.top[name] = f.value(a.parsed, name, "", !a.Optional)
		delete(f.making, name)
	}
	return f.top[name]
}

func (f *filler) text(name string) string { return asText(f.get(name)) }

// value returns the value of an attribute. A list of objects that only the provider fills has one
// element, because modules read element 0 of it.
func (f *filler) value(t tftypes.Type, name, path string, onlyComputed bool) any {
	if made, is := f.special(path + name); is {
		return made
	}
	switch t := t.(type) {
	case tftypes.List, tftypes.Set, tftypes.Tuple:
		element := elementType(t, 0)
		if element != nil && element.Is(tftypes.Object{}) && onlyComputed {
			return []any{f.value(element, name, path, true)}
		}
		return f.list(name)
	case tftypes.Map:
		return object{}
	case tftypes.Object:
		made := object{}
		for _, field := range sortedKeys(t.AttributeTypes) {
			made[field] = f.value(t.AttributeTypes[field], field, path+name+".", onlyComputed)
		}
		return made
	}
	switch {
	case t.Is(tftypes.String):
		template := f.pattern(name, path)
		if template == "{uuid}" && path+name != "id" { // two attributes of an object differ
			return uuid(hash(f.seed, path+name))
		}
		return f.expand(template)
	case t.Is(tftypes.Bool):
		return false
	case t.Is(tftypes.Number):
		return asNumber(f.number(name))
	}
	return nil
}

// special returns the value of an attribute that has a rule.
func (f *filler) special(path string) (any, bool) {
	for _, name := range []string{f.typ + "." + path, "*." + path} {
		if rule := rules[name]; rule != nil {
			return rule(f), true
		}
		if template, is := templates[name]; is {
			return f.expand(template), true
		}
	}
	return nil, false
}

func (f *filler) list(name string) any {
	switch name {
	case "name_servers", "nameservers":
		zone := f.seed[:4]
		return asAnys("ns-1."+zone+".dns.example.", "ns-2."+zone+".dns.example.", "ns-3."+zone+".dns.example.",
			"ns-4."+zone+".dns.example.")
	case "zones", "node_locations", "availability_zones":
		return asAnys(f.zones()...)
	}
	return []any{}
}

func (f *filler) number(name string) int {
	switch {
	case strings.Contains(name, "port"):
		return 443
	case strings.HasSuffix(name, "version"), strings.HasSuffix(name, "revision"), strings.HasSuffix(name, "generation"):
		return 1
	}
	return 0
}

// key returns the id of an object in the store.
func (f *filler) key() string {
	if id := f.text("id"); id != "" {
		return id
	}
	for _, name := range []string{"arn", "name"} {
		if text := f.text(name); text != "" {
			return text
		}
	}
	return f.seed[:16]
}

// expand replaces {x} in a template: {#8} by 8 digits of the seed, {^8} by the same in upper case, {uuid},
// {region}, {account}, and so on, and everything else by the attribute of that name.
func (f *filler) expand(template string) string {
	var made strings.Builder
	for {
		before, rest, is := strings.Cut(template, "{")
		made.WriteString(before)
		if !is {
			return made.String()
		}
		var name string
		name, template, _ = strings.Cut(rest, "}")
		made.WriteString(f.variable(name))
	}
}

func (f *filler) variable(name string) string {
	switch {
	case name == "":
		return "{}"
	case name[0] == '#':
		return f.seed[:min(asInt(jsonNumber(name[1:]), 8), len(f.seed))]
	case name[0] == '^':
		return strings.ToUpper(f.seed[:min(asInt(jsonNumber(name[1:]), 8), len(f.seed))])
	}
	if variable := variables[name]; variable != nil {
		return variable(f)
	}
	if block, field, nested := strings.Cut(name, "."); nested {
		for _, item := range items(f.top[block], "list") {
			return asText(item[field])
		}
		return ""
	}
	return f.text(name)
}
