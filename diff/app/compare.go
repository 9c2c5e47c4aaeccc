package app

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

const (
	// maxDepth is the depth to which values are compared key by key. Deeper values are compared as
	// wholes.
	maxDepth = 64
	// maxFields is the approximate limit of differences listed for one part. Beyond it, values are
	// compared as wholes.
	maxFields = 5000
)

// comparer lists the differences of one part.
type comparer struct {
	masker *diff.Masker
	fields []diff.FieldChange
	plain  bool // show everything: a person must see what will run
	// hidden holds findings about fields whose masking hides a change.
	hidden []diff.Finding
}

// node is one place in both values.
type node struct {
	before, after       raw.Value
	hasBefore, hasAfter bool
	secret              bool // by the names around it
}

func (n node) same() bool { return n.hasBefore == n.hasAfter && n.before.Equal(n.after) }

// both reports whether one side has a shape and the other side has it, too, or does not exist.
func (n node) both(shape func(raw.Value) bool) bool {
	return (!n.hasBefore || shape(n.before)) && (!n.hasAfter || shape(n.after)) && (n.hasBefore || n.hasAfter)
}

func (c *comparer) walk(p tree.Path, n node) {
	switch {
	case n.same():
	case n.secret && !c.plain || len(p) >= maxDepth || len(c.fields) > maxFields:
		c.emit(p, n)
	case n.both(raw.Value.IsObject):
		c.object(p, n)
	case n.both(raw.Value.IsList):
		c.list(p, n)
	case !c.document(p, n):
		c.emit(p, n)
	}
}

// emit adds a field.
func (c *comparer) emit(p tree.Path, n node) *diff.FieldChange {
	before := diff.UnmaskedSide{Value: n.before, Absent: !n.hasBefore, Sensitive: n.secret && !c.plain}
	after := diff.UnmaskedSide{Value: n.after, Absent: !n.hasAfter, Sensitive: n.secret && !c.plain}
	if !c.plain {
		redactSecrets(&before, &after)
	}
	f := c.masker.Field(p, before, after)
	shown := func(text string) string { return nameOf(c.masker, text) }
	if c.plain {
		shown = c.masker.Text
	}
	f.Path = pathOf(p, shown)
	f.SetPointers(p, func(s tree.Step) string { return shown(s.Plain()) })
	if element, _ := p.Element(); f.Element != nil {
		f.Element.Path = pathOf(element, shown)
	}
	switch {
	case n.secret || c.plain || !n.hasAfter:
	case f.MaskedCopy:
		c.hidden = append(c.hidden, diff.MaskedCopyFinding(f.Path))
	case decides(p) && f.HidesChange():
		c.hidden = append(c.hidden, diff.MaskedChangeFinding(f.Path))
	}
	c.fields = append(c.fields, f)
	return &c.fields[len(c.fields)-1]
}

// programs lists the keys under which a config has code to run.
var programs = map[string]bool{"inline_contents": true, "contents": true, "cmd": true, "run": true}

// decides reports whether a place defines what runs, or who may do what.
func decides(p tree.Path) bool {
	for _, s := range p {
		if programs[s.Key] || s.Key != "" && secret.Plain(s.Key) {
			return true
		}
	}
	return secret.CommandPlace(p)
}

// object compares key by key.
func (c *comparer) object(p tree.Path, n node) {
	count := len(c.fields)
	for _, key := range tree.Union(n.before.Keys(), n.after.Keys()) {
		was, had := n.before.Get(key)
		is, has := n.after.Get(key)
		c.walk(p.Field(key), node{
			before: was, after: is, hasBefore: had, hasAfter: has, secret: isSecretKey(n.before, key, was) ||
				isSecretKey(n.after, key, is),
		})
	}
	c.emitWhole(count, p, n)
}

// emitWhole adds a field for the whole value if no part has shown its difference, for example an empty
// table that appears.
func (c *comparer) emitWhole(count int, p tree.Path, n node) {
	if len(c.fields) == count && !n.same() {
		c.emit(p, n)
	}
}

// document compares the contents of two texts if both are JSON, YAML or base64 of text.
func (c *comparer) document(p tree.Path, n node) bool {
	was, isText := raw.String(n.before)
	is, areTexts := raw.String(n.after)
	if !isText || !areTexts || was == "" || is == "" || c.masker.ContainsSecret(was) || c.masker.ContainsSecret(is) {
		return false
	}
	b, a, format, ok := tree.Embedded(was, is)
	if !ok {
		return false
	}
	c.walk(p.Into(format), node{before: b, after: a, hasBefore: true, hasAfter: true})
	return true
}

// sets lists the keys of arrays without an order.
var sets = map[string]bool{
	"dependencies": true, "components": true, "gcp_permissions": true, "azure_built_in_roles": true,
	"azure_actions": true, "namespaces": true, "apps": true,
}

func (c *comparer) list(p tree.Path, n node) {
	count := len(c.fields)
	last := p[len(p)-1]
	switch names, by := identities(n); {
	case by != nil:
		c.byName(p, n, names, by)
	case sets[last.Key] && !inDocument(p):
		c.set(p, n)
	default:
		c.byIndex(p, n)
	}
	c.emitWhole(count, p, n)
}

func inDocument(p tree.Path) bool {
	return slices.ContainsFunc(p, func(s *tree.Step) bool { return s.Into() != "" })
}

// set compares lists of texts without order.
func (c *comparer) set(p tree.Path, n node) {
	holds := func(list raw.Value) map[string]raw.Value {
		all := map[string]raw.Value{}
		for i := range list.Len() {
			text, _ := raw.Text(list.At(i))
			all[text] = list.At(i)
		}
		return all
	}
	was, is := holds(n.before), holds(n.after)
	var names []string
	for name := range was {
		names = append(names, name)
	}
	for name := range is {
		if _, had := was[name]; !had {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		before, had := was[name]
		after, has := is[name]
		side := tree.Both
		if !had {
			side = tree.OnlyAfter
		} else if !has {
			side = tree.OnlyBefore
		}
		c.walk(p.Select(name, nil, side), node{before: before, after: after, hasBefore: had, hasAfter: has})
	}
}

// byName compares lists of tables that have names.
func (c *comparer) byName(p tree.Path, n node, names [2][]string, by []string) {
	var kept [2][]string
	for side, list := range names {
		kept[side] = common(list, names[1-side])
	}
	if !slices.Equal(kept[0], kept[1]) {
		c.emit(p, node{before: textsOf(kept[0]), after: textsOf(kept[1]), hasBefore: true, hasAfter: true}).
			MarkReordered(places(names[0], names[1]))
	}
	for i, name := range names[0] {
		if !slices.Contains(names[1], name) {
			c.walk(p.Select(name, by, tree.OnlyBefore), node{before: n.before.At(i), hasBefore: true})
		}
	}
	for j, i := range places(names[0], names[1]) {
		e, side := node{after: n.after.At(j), hasAfter: true}, tree.OnlyAfter
		if i >= 0 {
			e.before, e.hasBefore, side = n.before.At(i), true, tree.Both
		}
		c.walk(p.Select(names[1][j], by, side), e)
	}
}

// places returns for each name of is its index in was, or -1.
func places(was, is []string) []int {
	at := make(map[string]int, len(was))
	for i, name := range was {
		at[name] = i
	}
	out := make([]int, len(is))
	for j, name := range is {
		out[j] = -1
		if i, there := at[name]; there {
			out[j] = i
		}
	}
	return out
}

// byIndex compares lists whose elements have no names. Equal elements match regardless of their
// index.
func (c *comparer) byIndex(p tree.Path, n node) {
	pairs := tree.Matches(n.before, n.after, nil)
	c.moved(p, n, pairs)
	for _, pair := range pairs {
		e := node{hasBefore: pair.Before >= 0, hasAfter: pair.After >= 0}
		if e.hasBefore {
			e.before = n.before.At(pair.Before)
		}
		if e.hasAfter {
			e.after = n.after.At(pair.After)
		}
		c.walk(p.Paired(pair), e)
	}
}

// moved adds a field if elements of both sides have another order. It lists the elements if they are
// scalars, otherwise their indexes in the old list.
func (c *comparer) moved(p tree.Path, n node, pairs []tree.Pair) {
	was, is := []int{}, []int{} // indexes in before
	var kept []tree.Pair
	moved := false
	for _, pair := range pairs {
		moved = moved || pair.Moved
		if pair.Before >= 0 && pair.After >= 0 && n.before.At(pair.Before).Equal(n.after.At(pair.After)) {
			was, is, kept = append(was, pair.Before), append(is, pair.Before), append(kept, pair)
		}
	}
	if !moved {
		return
	}
	slices.Sort(was)
	element := func(place int) any {
		if e := n.before.At(place); !e.IsObject() && !e.IsList() {
			return e
		}
		return json.Number(strconv.Itoa(place))
	}
	side := func(places []int) raw.Value {
		list := make([]any, len(places))
		for i, place := range places {
			list[i] = element(place)
		}
		return raw.Of(list)
	}
	c.emit(p, node{before: side(was), after: side(is), hasBefore: true,
		hasAfter: true}).MarkReordered(tree.Places(n.after.Len(), kept))
}

// namings lists the keys that identify the tables of a list, in the order in which they are tried.
// The first key of each must exist.
var namings = [][]string{
	{"name"}, {"operation"}, {"Sid"}, {"type", "component_name"}, {"type", "component_name", "cron_schedule"},
	{"managed_policy_name"},
}

// identities returns the names of the elements of two lists, and the keys that they consist of. The
// names are nil if no naming is unique in both lists.
func identities(n node) (names [2][]string, by []string) {
	for _, keys := range namings {
		was, ok := namesBy(n.before, keys)
		is, alsoOK := namesBy(n.after, keys)
		if ok && alsoOK && len(was)+len(is) > 0 {
			return [2][]string{was, is}, keys
		}
	}
	return names, nil
}

// namesBy returns the names that some keys give to the elements of a list. It returns false if an
// element has no name or two have the same.
func namesBy(list raw.Value, keys []string) (names []string, ok bool) {
	seen := map[string]bool{}
	for i := range list.Len() {
		name := ""
		for k, key := range keys {
			value, _ := list.At(i).Get(key)
			text, isText := raw.String(value)
			switch {
			case k == 0 && (!isText || text == ""):
				return nil, false
			case len(keys) == 1:
				name = text
			case text != "" && k > 0:
				name += "," + key + "=" + text
			case text != "":
				name = key + "=" + text
			}
		}
		if seen[name] {
			return nil, false
		}
		seen[name] = true
		names = append(names, name)
	}
	return names, true
}

// pathOf formats a path in the style of TOML: vars.cidr, values."image.tag",
// steps[deploy].inline_contents, contents (json) Version.
func pathOf(p tree.Path, shown func(string) string) string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.Into() != "":
			b.WriteString(" (" + s.Into() + ") ")
		case s.IsIndex:
			b.WriteString("[" + s.Place() + "]")
		case s.IsSelect:
			b.WriteString("[" + quoted(shown(values(*s)), "[]\" ") + "]")
		default:
			if b.Len() > 0 && !strings.HasSuffix(b.String(), " ") {
				b.WriteByte('.')
			}
			b.WriteString(tomlKey(shown(s.Key)))
		}
	}
	return strings.TrimSpace(b.String())
}

// values returns the values that select an element, without their keys.
func values(s tree.Step) string {
	if len(s.By()) < 2 {
		return s.Select
	}
	text := strings.TrimPrefix(s.Select, s.By()[0]+"=")
	for _, key := range s.By()[1:] {
		text = strings.Replace(text, ","+key+"=", " ", 1)
	}
	return text
}

// quoted puts a text in quotes if it contains one of the characters, is a number, or is empty.
func quoted(text, characters string) string {
	if _, err := strconv.Atoi(text); err == nil || text == "" || strings.ContainsAny(text, characters) {
		return strconv.Quote(text)
	}
	return text
}

// tomlKey formats a key for TOML, in quotes if necessary.
func tomlKey(key string) string {
	plain := func(r rune) bool {
		return r == '_' || r == '-' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return !plain(r) }) {
		return strconv.Quote(key)
	}
	return key
}
