package kubernetes

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// order is the meaning of the order of a list.
type order uint8

const (
	// asTyped: the order of a map or a set of the API itself has no meaning;
	// that of any other list has one.
	asTyped order = iota
	// free: it has no meaning, though the API does not declare so.
	free
	// meant: it has a meaning, though the API declares the list as a map or a set.
	meant
)

// listOrders are the fields of a kind with lists whose order has another
// meaning than the schema declares. A key of a definition counts only if it
// is a keyword of a schema: below "default" it is part of a value.
type listOrders map[string]order

// at returns the order of the list at a key below a path.
func (l listOrders) at(p tree.Path, key string) order {
	o := l[key]
	if o == asTyped || schemaRoot(p) == 0 {
		return o
	}
	if at, _ := placeIn(p); len(at.rest) > 0 { // the key is the name of a field, or below a keyword
		return asTyped
	}
	return o
}

// orders are those fields by kind. Free are sets that are not declared as such, and
// lists in which each element allows something independently. Meant are: webhooks
// that change an object one after the other; variables of a policy, which may refer
// to earlier ones; the ports of a Service, of which pods get the first as an
// environment variable; addresses of an endpoint, of which only the first is used.
var orders = map[string]listOrders{
	"Role":               rbacRules,
	"ClusterRole":        rbacRules,
	"RoleBinding":        {"subjects": free},
	"ClusterRoleBinding": {"subjects": free},
	"NetworkPolicy": {"ingress": free, "egress": free, "from": free, "to": free, "ports": free,
		"policyTypes": free},
	"PersistentVolumeClaim":          {"accessModes": free},
	"PersistentVolume":               {"accessModes": free},
	"Service":                        {"externalIPs": free, "loadBalancerSourceRanges": free, "ports": meant},
	"EndpointSlice":                  {"addresses": meant},
	"Node":                           {"podCIDRs": meant},
	"ValidatingAdmissionPolicy":      {"variables": meant},
	"ValidatingWebhookConfiguration": webhookRules(asTyped),
	"MutatingWebhookConfiguration":   webhookRules(meant),
	"CustomResourceDefinition":       {"enum": free, "required": free, "categories": free, "shortNames": free},
}

var rbacRules = listOrders{
	"rules": free, "verbs": free, "apiGroups": free, "resources": free, "resourceNames": free, "nonResourceURLs": free,
}

func webhookRules(webhooks order) listOrders {
	return listOrders{"webhooks": webhooks, "rules": free, "operations": free, "apiGroups": free, "apiVersions": free,
		"resources": free}
}

// pairing describes how the elements of a list are identified.
type pairing struct {
	// by are the keys that identify an element; empty if it is identified by
	// its value, or not at all.
	by []string
	// before and after are the elements' names; nil if they have none and are
	// matched by their content.
	before, after []string
	// merged: an apply keeps elements that it does not contain, so the list
	// is not replaced as a whole.
	merged bool
	// free: the order of the elements has no meaning.
	free bool
}

// pairingOf decides how the elements of a list are identified: by the API's own keys, as a set, by a
// name, or by their content. Only lists of the API's own kinds can have an order without a meaning: a
// controller may well read a list in order even if the schema of its custom resource declares it as a
// map.
func pairingOf(n node) pairing {
	unordered := n.builtin && !n.template && n.order != meant
	set := unordered && n.order == free
	switch n.typ.List() {
	case schema.MapList:
		if p, ok := keyed(n, n.typ.Keys()); ok {
			p.merged, p.free = true, unordered
			return p
		}
	case schema.SetList:
		if p, ok := valued(n); ok {
			p.merged, p.free = true, unordered
			return p
		}
	}
	if set {
		if p, ok := valued(n); ok {
			p.free = true
			return p
		}
	}
	for _, by := range [][]string{{"name"}, {"id"}, {"key"}} {
		if p, ok := keyed(n, by); ok {
			p.free = set
			return p
		}
	}
	return pairing{free: set}
}

// keyed names the elements of both lists by keys, if these identify all of them.
func keyed(n node, keys []string) (pairing, bool) {
	before, ok := keyNames(n.before, n.typ.Elem(), keys)
	if !ok {
		return pairing{}, false
	}
	after, ok := keyNames(n.after, n.typ.Elem(), keys)
	return pairing{by: keys, before: before, after: after}, ok && len(keys) > 0
}

// valued names the elements of both lists by their values.
func valued(n node) (pairing, bool) {
	before, ok := valueNames(n.before)
	if !ok {
		return pairing{}, false
	}
	after, ok := valueNames(n.after)
	return pairing{before: before, after: after}, ok
}

// keyNames returns the names of a list's elements by keys.
func keyNames(l raw.Value, elem *schema.Type, keys []string) ([]string, bool) {
	return distinct(l, func(e raw.Value) (string, bool) { return keyName(e, elem, keys) })
}

// keyName returns the name of an element by keys. An omitted key counts with
// its default. A value that is no object has no name.
func keyName(e raw.Value, elem *schema.Type, keys []string) (string, bool) {
	if !e.IsObject() {
		return "", false
	}
	var b strings.Builder
	for i, k := range keys {
		v, ok := e.Get(k)
		if !ok || v.IsNull() {
			v, ok = elem.Field(k).Default()
		}
		text, scalar := scalarText(v)
		if !ok || !scalar || text == "" {
			return "", false
		}
		if len(keys) == 1 {
			return text, true
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(tree.Selection(k, text))
	}
	return b.String(), true
}

func valueNames(l raw.Value) ([]string, bool) { return distinct(l, scalarText) }

// distinct returns the names of all elements of a list, if no two have the same name.
func distinct(l raw.Value, name func(raw.Value) (string, bool)) ([]string, bool) {
	out := make([]string, l.Len())
	seen := make(map[string]bool, len(out))
	for i := range out {
		text, ok := name(l.At(i))
		if !ok || seen[text] {
			return nil, false
		}
		out[i], seen[text] = text, true
	}
	return out, true
}

// scalarText returns the text of a string or a number that can serve as a name.
func scalarText(v raw.Value) (string, bool) {
	if v.IsObject() || v.IsList() {
		return "", false
	}
	text, kind := raw.Text(v)
	return text, (kind == "string" || kind == "number") && len(text) <= 256
}

// list compares the elements that correspond, and their order.
func (w *walker) list(n node) {
	if n.before.Equal(n.after) {
		return
	}
	how := pairingOf(n)
	var pairs []tree.Pair
	if how.after != nil || how.before != nil {
		pairs = pairsByName(how.before, how.after)
	} else {
		pairs = pairsByContent(n.before, n.after)
	}
	w.order(n, how, pairs)
	for _, pair := range pairs {
		w.element(n, how, pair)
	}
}

// element compares two elements that correspond, or adds one that only one side has.
func (w *walker) element(n node, how pairing, pair tree.Pair) {
	e := node{
		typ: n.typ.Elem(), was: n.was.Elem(), builtin: n.builtin, template: n.template, sensitive: n.sensitive,
		holds: n.holds, atomic: n.atomic || !how.merged,
		hasBefore: pair.Before >= 0, hasAfter: pair.After >= 0, place: pair.After,
	}
	if e.hasBefore {
		e.before = n.before.At(pair.Before)
		e.sensitive = e.sensitive || optionValue(n.before, pair.Before)
	}
	if e.hasAfter {
		e.after = n.after.At(pair.After)
		e.sensitive = e.sensitive || optionValue(n.after, pair.After)
	} else {
		e.place = pair.Before
	}
	step := pair.Step()
	switch {
	case how.after != nil && e.hasAfter:
		step = tree.Selected(how.after[pair.After], how.by, step.Lone)
	case how.before != nil && !e.hasAfter:
		step = tree.Selected(how.before[pair.Before], how.by, step.Lone)
	}
	w.step(step, e)
}

// pairsByName pairs the elements with the same name, in the order of after;
// elements that only before has come last.
func pairsByName(before, after []string) []tree.Pair {
	place := make(map[string]int, len(before))
	for i, name := range before {
		place[name] = i
	}
	pairs := make([]tree.Pair, 0, len(after))
	for j, name := range after {
		i, ok := place[name]
		if !ok {
			i = -1
		}
		delete(place, name)
		pairs = append(pairs, tree.Pair{Before: i, After: j})
	}
	for i, name := range before {
		if _, left := place[name]; left {
			pairs = append(pairs, tree.Pair{Before: i, After: -1})
		}
	}
	return pairs
}

// pairsByContent pairs elements without names: equal ones at any positions,
// the others as package tree does.
func pairsByContent(before, after raw.Value) []tree.Pair {
	found := tree.Pairs(before, after, nil)
	gone := map[uint64][]int{}
	for _, pair := range found {
		if pair.After < 0 {
			h := before.At(pair.Before).Hash()
			gone[h] = append(gone[h], pair.Before)
		}
	}
	if len(gone) == 0 {
		return found
	}
	moved := map[int]bool{}
	for i, pair := range found {
		if pair.Before >= 0 {
			continue
		}
		h := after.At(pair.After).Hash()
		if from := gone[h]; len(from) > 0 {
			found[i].Before, gone[h], moved[from[0]] = from[0], from[1:], true
		}
	}
	kept := found[:0]
	for _, pair := range found {
		if pair.After >= 0 || !moved[pair.Before] {
			kept = append(kept, pair)
		}
	}
	return kept
}

// order adds a difference if elements that both sides have change places.
func (w *walker) order(n node, how pairing, pairs []tree.Pair) {
	order := tree.Places(n.after.Len(), pairs)
	inOrder, last, common := true, -1, 0
	for _, i := range order {
		if i >= 0 {
			inOrder = inOrder && i > last
			last, common = i, common+1
		}
	}
	if inOrder {
		return
	}
	before, after := orderNames(n, how, order, common)
	d := difference{
		path: w.keepPath(), before: before, after: after, hasBefore: true, hasAfter: true, order: order,
		atomic: n.atomic, builtin: n.builtin, sensitive: n.sensitive, holds: n.holds,
	}
	if how.free {
		d.fold = foldOrder
	}
	w.out = append(w.out, d)
}

// orderNames returns the names of the elements that both sides have, in the order
// of each side: their names, their values if they are plain, otherwise their
// indices in before, added to the name if other elements have the same one.
func orderNames(n node, how pairing, order []int, common int) (before, after raw.Value) {
	name := func(i int) any {
		if how.before != nil {
			return how.before[i]
		}
		element := n.before.At(i)
		if text, ok := scalarText(element); ok {
			return text
		}
		for _, by := range []string{"name", "id", "key"} {
			if text, ok := keyName(element, n.typ.Elem(), []string{by}); ok {
				return fmt.Sprintf("%s[%d]", text, i) // another element has the same name
			}
		}
		return json.Number(strconv.Itoa(i))
	}
	stays := make([]bool, n.before.Len())
	was, is := make([]any, 0, common), make([]any, 0, common)
	for _, i := range order {
		if i >= 0 {
			stays[i] = true
			is = append(is, name(i))
		}
	}
	for i, s := range stays {
		if s {
			was = append(was, name(i))
		}
	}
	return raw.Of(was), raw.Of(is)
}
