package terraform

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// written holds the attributes and blocks that a configuration sets in a resource. The provider
// chooses the others.
type written map[string][]written

// maxModules bounds the nesting of module calls.
const maxModules = 64

// module reads the configuration of a module below a prefix of addresses: the sensitive variables of
// the root, and the attributes that its resources set. It skips everything else.
func (d *decoder) module(prefix string, depth int) error {
	if depth > maxModules {
		return d.dec.SkipValue()
	}
	return d.object(func(key string) error {
		switch {
		case key == "variables" && prefix == "":
			return d.declared()
		case key == "resources":
			return d.configured(prefix)
		case key == "module_calls":
			return d.object(func(name string) error {
				return d.inside("module", func() error { return d.module(prefix+"module."+name+".", depth+1) })
			})
		}
		return d.dec.SkipValue()
	})
}

// declared reads which variables of the root module are sensitive.
func (d *decoder) declared() error {
	declared, err := tree.ReadJSON(d.dec, maxJSONDepth)
	if err != nil {
		return err
	}
	d.plan.sensitive = map[string]bool{}
	for name, v := range each(declared, &err) {
		f := fieldsOf(v, &err)
		d.plan.sensitive[name] = f.flag("sensitive")
	}
	return err
}

// configured reads the attributes that the resources of a module set.
func (d *decoder) configured(prefix string) error {
	return d.list(func() error {
		v, err := tree.ReadJSON(d.dec, maxJSONDepth)
		if err != nil {
			return err
		}
		f := fieldsOf(v, &err)
		if d.plan.written == nil {
			d.plan.written = map[string]written{}
		}
		address := prefix + f.text("address")
		d.plan.written[address] = writtenIn(f.get("expressions"), 0)
		d.plan.runs(address, f.get("provisioners"), &err)
		return err
	})
}

// runs stores the kinds of provisioners of a resource.
func (p *plan) runs(address string, provisioners diff.Raw, err *error) {
	for one := range items(provisioners, err) {
		kind := fieldsOf(one, err).text("type")
		switch kind {
		case "local-exec", "remote-exec", "file":
		default:
			kind = "another provisioner"
		}
		if p.programs == nil {
			p.programs = map[string][]string{}
		}
		if !slices.Contains(p.programs[address], kind) {
			p.programs[address] = append(p.programs[address], kind)
		}
	}
}

// writtenIn reads the expressions of a resource or a block. An attribute is an object with its value
// or its references; a block is a list of blocks, or a single one.
func writtenIn(expressions diff.Raw, depth int) written {
	if depth > maxDepth {
		return nil
	}
	out := written{}
	for _, k := range expressions.Keys() {
		v, _ := expressions.Get(k)
		out[k] = nil
		for i := range v.Len() {
			out[k] = append(out[k], writtenIn(v.At(i), depth+1))
		}
		if _, constant := v.Get("constant_value"); v.IsObject() && !constant && !hasReferences(v) {
			out[k] = []written{writtenIn(v, depth+1)}
		}
	}
	return out
}

func hasReferences(v diff.Raw) bool {
	r, ok := v.Get("references")
	return ok && r.IsList()
}

// object reads an object and calls read for each key; read must read the value. Null is an empty
// object.
func (d *decoder) object(read func(key string) error) error {
	t, err := d.dec.ReadToken()
	if err != nil || t.Kind() == 'n' {
		return err
	}
	if t.Kind() != '{' {
		return errWrongType
	}
	for d.dec.PeekKind() != '}' {
		name, err := d.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := read(name.String()); err != nil {
			return err
		}
	}
	_, err = d.dec.ReadToken()
	return err
}

// list reads a list and calls read for each element; read must read the element. Null is an empty
// list.
func (d *decoder) list(read func() error) error {
	t, err := d.dec.ReadToken()
	if err != nil || t.Kind() == 'n' {
		return err
	}
	if t.Kind() != '[' {
		return errWrongType
	}
	for d.dec.PeekKind() != ']' {
		if err := read(); err != nil {
			return err
		}
	}
	_, err = d.dec.ReadToken()
	return err
}

// inside reads an object and calls read for the value of one of its keys.
func (d *decoder) inside(key string, read func() error) error {
	return d.object(func(name string) error {
		if name == key {
			return read()
		}
		return d.dec.SkipValue()
	})
}

// unknownBySetting returns the tree of marks for values that are known only after apply, without
// attributes that the configuration leaves to the provider. Nothing is left out if the plan has no
// configuration, or for blocks that a loop generates, which the configuration does not list.
func (p *plan) unknownBySetting(r *resource) diff.Raw {
	marks := r.change.afterUnknown
	sets, ok := p.written[withoutKeys(r.address)]
	if !ok || marks.IsTrue() {
		return marks
	}
	return raw.Of(prune(marks, sets, r.change.before, r.change.actions[0] == "create" || len(r.change.actions) > 1))
}

// prune removes marks of values that the provider chooses. The configuration does not list blocks
// that a loop generates. An unknown list of blocks counts as generated, and not as the provider's
// choice, if the object already has such blocks or if providers never fill in such blocks.
func prune(marks diff.Raw, sets written, before diff.Raw, comes bool) map[string]any {
	out := map[string]any{}
	for _, k := range marks.Keys() {
		m, _ := marks.Get(k)
		was, _ := before.Get(k)
		blocks, isSet := sets[k]
		switch {
		case m.IsTrue() && !isSet && (!comes && was.At(0).IsObject() || blocksOfLoops[k]):
			out[k] = true
		case m.IsTrue() && !isSet:
		case m.IsList() && len(blocks) > 0:
			var list []any
			for i := range m.Len() {
				// A block that a loop generates several times is written once.
				list = append(list, prunedElement(m.At(i), blocks[min(i, len(blocks)-1)], was.At(i), comes))
			}
			out[k] = list
		case m.IsObject() && len(blocks) > 0:
			out[k] = prune(m, blocks[0], was, comes)
		default:
			out[k] = m
		}
	}
	return out
}

// blocksOfLoops lists blocks that no provider fills in: an unknown one comes from a loop over an
// unknown list.
var blocksOfLoops = map[string]bool{
	"rule": true, "subject": true, "role_ref": true, "container": true, "init_container": true, "volume": true,
	"statement": true, "allow": true, "deny": true, "authorized_networks": true, "set": true, "permissions": true,
}

func prunedElement(m diff.Raw, sets written, before diff.Raw, comes bool) any {
	if m.IsObject() {
		return prune(m, sets, before, comes)
	}
	return m
}

// withoutKeys returns the address of a resource in its configuration, without instance keys.
func withoutKeys(address string) string {
	if !strings.Contains(address, "[") {
		return address
	}
	var b strings.Builder
	for rest := address; rest != ""; {
		head, tail, found := strings.Cut(rest, "[")
		b.WriteString(head)
		if !found {
			break
		}
		if key, isText := strings.CutPrefix(tail, `"`); isText {
			_, rest = quotedKey(key)
			continue
		}
		_, rest, _ = strings.Cut(tail, "]")
	}
	return b.String()
}
