package terraform

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// written are the attributes and blocks that a configuration sets in a resource. What it leaves
// out, the provider chooses.
type written map[string][]written

// maxModules is how deep calls of modules nest at most.
const maxModules = 64

// module reads the configuration of a module below a prefix of addresses: which variables of the
// root are sensitive, and what its resources set. Anything else is skipped.
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

// configured reads what the resources of a module set.
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

// runs keeps which kinds of provisioners a resource has.
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

// writtenIn reads the expressions of a resource or a block: an attribute is an object of its value
// or its references, a block a list of blocks, or one.
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

// object reads an object and hands each key to read, which reads its value. Null is an empty object.
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

// list reads a list and calls read for each element, which reads it. Null is an empty list.
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

// inside reads an object and hands the value of one of its keys to read.
func (d *decoder) inside(key string, read func() error) error {
	return d.object(func(name string) error {
		if name == key {
			return read()
		}
		return d.dec.SkipValue()
	})
}

// unknownBySetting is the tree of what is known only after apply, without what the configuration
// leaves to the provider. A plan without a configuration leaves out nothing; nor does it where a
// block is written, but comes from a loop (the configuration does not list those).
func (p *plan) unknownBySetting(r *resource) diff.Raw {
	marks := r.change.afterUnknown
	sets, ok := p.written[withoutKeys(r.address)]
	if !ok || marks.IsTrue() {
		return marks
	}
	return raw.Of(prune(marks, sets, r.change.before, r.change.actions[0] == "create" || len(r.change.actions) > 1))
}

// prune leaves out what the provider chooses. The configuration does not list blocks that a loop makes. A list of blocks that is unknown as
// a whole is one of them, and not the choice of the provider, where the object has such blocks already, or where a provider leaves such
// blocks empty.
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
				// A block that a loop makes several times is written once.
				list = append(list, prunedElement(m.At(i), blocks[min(i, len(blocks)-1)], was.At(i), comes))
			}
			out[k] = list
		case m.IsObject() && len(blocks) > 0:
			out[k] = prune(m, blocks[0], was, comes)
		default:
			out[k] = raw.Reveal(m)
		}
	}
	return out
}

// blocksOfLoops are blocks that no provider fills in by itself: one that is unknown comes from a loop over a list that is.
var blocksOfLoops = map[string]bool{
	"rule": true, "subject": true, "role_ref": true, "container": true, "init_container": true, "volume": true, "statement": true,
	"allow": true, "deny": true, "authorized_networks": true, "set": true, "permissions": true,
}

func prunedElement(m diff.Raw, sets written, before diff.Raw, comes bool) any {
	if m.IsObject() {
		return prune(m, sets, before, comes)
	}
	return raw.Reveal(m)
}

// withoutKeys is the address of a resource in its configuration: without the keys of its instances.
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
