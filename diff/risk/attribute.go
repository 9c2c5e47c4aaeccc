package risk

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// attribute is a rule about the values of some attributes of Terraform resources, in the table of a cloud.
type attribute struct {
	name, source, words string
	// kinds are resource types, and paths attributes; each type has at least one of them.
	kinds, paths []string
	test         test
	// risk is diff.RiskInPlace when it is not set.
	risk diff.Risk
	// plain says that the rule is not about security.
	plain bool
}

// test compares the values of one attribute before and after.
type test struct {
	when    string
	actions []diff.Action
	// finds compares all values of the attribute. It is asked once for each path of a rule.
	finds func(values) bool
	// leaf, if it is set, is asked first of each difference of a single value; not settled leaves it to finds.
	leaf func(was, is raw.Value) (found, settled bool)
	// strong and weak are an example of the values that the test reports the change between, in JSON.
	strong, weak string
	// unknowns says that a value that is known only after apply is reported as a change. Otherwise
	// the rule cannot judge it.
	unknowns bool
	// object, if it is set, compares the objects as a whole instead of values; kind is the type
	// that the example is of, if it matters.
	object func(look) bool
	kind   string
}

// values are what an attribute holds on both sides. An attribute in several blocks has the values
// of all of them; null has none.
type values struct {
	before, after []raw.Value
	// created and unknown describe the object and the attribute after the change.
	created, unknown bool
	kind             string
}

// rule makes the rule of a table's row.
func (a attribute) rule() Rule {
	r := Rule{
		Name: a.name, Source: a.source, Words: a.words, Kinds: a.kinds, Paths: a.paths,
		When: a.test.when, Actions: a.test.actions, Risk: a.risk, Security: !a.plain, attribute: a.test,
	}
	if !a.plain && !a.test.unknowns {
		r.judged = a.paths
	}
	if r.Risk == diff.RiskNone {
		r.Risk = diff.RiskInPlace
	}
	if a.test.object != nil {
		r.holds = a.test.object
		r.each = at(func(f field) bool { return !f.unknown || a.test.unknowns })
		return r
	}
	var paths []pattern
	for _, p := range a.paths {
		paths = append(paths, parsePattern(p))
	}
	r.each = func(l look) func(field) bool {
		q := attributeQuestion{test: &a.test, object: l, paths: paths, known: make([]map[bool]bool, len(paths))}
		return q.ask
	}
	return r
}

// attributeQuestion asks the test of a rule about one object.
type attributeQuestion struct {
	test   *test
	object look
	paths  []pattern
	// known are the answers of test.finds by path and by whether the value is unknown.
	known []map[bool]bool
}

func (q *attributeQuestion) ask(f field) bool {
	if f.unknown && !q.test.unknowns {
		return false
	}
	if len(q.paths) == 0 {
		return q.test.finds(values{})
	}
	plain := !f.whole && isPlain(f.Before) && isPlain(f.After)
	for i, p := range q.paths {
		if !f.whole && !p.matches(f.Touched) {
			continue
		}
		if plain && q.test.leaf != nil {
			if found, settled := q.test.leaf(f.Before, f.After); found {
				return true
			} else if settled {
				continue
			}
		}
		if q.finds(i, f.unknown) {
			return true
		}
	}
	return false
}

// finds compares all values at a path.
func (q *attributeQuestion) finds(path int, unknown bool) bool {
	found, ok := q.known[path][unknown]
	if !ok {
		p, l := q.paths[path], q.object
		found = q.test.finds(values{
			before: p.values(l.before), after: p.values(l.after), created: l.before.IsNull(), unknown: unknown, kind: l.kind,
		})
		if q.known[path] == nil {
			q.known[path] = map[bool]bool{}
		}
		q.known[path][unknown] = found
	}
	return found
}

func isPlain(v raw.Value) bool { return !v.IsObject() && !v.IsList() }

// attributeRules makes the rules of a table.
func attributeRules(table []attribute) []Rule {
	out := make([]Rule, len(table))
	for i := range table {
		out[i] = table[i].rule()
	}
	return out
}

// values are all values at the place; the elements of a list count one by one.
func (p pattern) values(v raw.Value) []raw.Value {
	if len(p) == 0 {
		return oneOrMore(v)
	}
	if p[0] != anyElement {
		child, _ := v.Get(p[0])
		return p[1:].values(child)
	}
	var out []raw.Value
	for _, e := range oneOrMore(v) {
		out = append(out, p[1:].values(e)...)
	}
	return out
}

// count is how many of some values have a property.
func count(list []raw.Value, has func(string) bool) int {
	n := 0
	for _, v := range list {
		if !v.IsObject() && !v.IsList() && has(text(v)) {
			n++
		}
	}
	return n
}

// oneOf matches one of some texts, in any case.
func oneOf(words []string) func(string) bool {
	return func(s string) bool {
		for _, w := range words {
			if strings.EqualFold(s, w) {
				return true
			}
		}
		return false
	}
}

// becomes reports an attribute that gets one of some values, also in a new object.
func becomes(words ...string) test {
	t := becomesLike(oneOf(words), words[0])
	t.when = "it becomes `" + strings.Join(words, "`, `") + "`"
	return t
}

func becomesLike(has func(string) bool, example string) test {
	return test{
		actions: present, strong: `"other"`, weak: strconv.Quote(example),
		leaf:  func(was, is raw.Value) (found, settled bool) { return has(text(is)) && !has(text(was)), false },
		finds: func(v values) bool { return count(v.after, has) > count(v.before, has) },
	}
}

// leaves reports an attribute that has one of some values and no longer has it.
func leaves(words ...string) test {
	has := oneOf(words)
	return test{
		when: "it was `" + strings.Join(words, "`, `") + "`", actions: changed, strong: strconv.Quote(words[0]), weak: `"other"`,
		leaf:  func(was, is raw.Value) (found, settled bool) { return has(text(was)) && !has(text(is)), false },
		finds: func(v values) bool { return count(v.after, has) < count(v.before, has) },
	}
}

// turnsOn and turnsOff report booleans.
func turnsOn() test {
	t := becomes("true")
	t.when, t.strong, t.weak = "it is turned on", "false", "true"
	return t
}

func turnsOff() test {
	t := leaves("true")
	t.when, t.strong, t.weak = "it was on", "true", "false"
	return t
}

// lowers reports a number that gets smaller. Forever is the number that means no limit; empty where there is none.
func lowers(forever string) test {
	return test{
		when: "it gets less", actions: changed, strong: "30", weak: "7",
		leaf: func(was, is raw.Value) (found, settled bool) { return shorter(is, was, forever), true },
		finds: func(v values) bool {
			if len(v.after) == 0 {
				return len(v.before) > 0 && forever == ""
			}
			return shorterThanSome(v.after, v.before, forever)
		},
	}
}

// shorterThanSome says that some number is shorter than another one of those before.
func shorterThanSome(after, before []raw.Value, forever string) bool {
	var longest *big.Rat
	unlimited := false
	for _, was := range before {
		unlimited = unlimited || forever != "" && text(was) == forever
		if n, ok := quantity(was); ok && (longest == nil || n.Cmp(longest) > 0) {
			longest = n
		}
	}
	return slices.ContainsFunc(after, func(is raw.Value) bool {
		if forever != "" && text(is) == forever {
			return false
		}
		n, ok := quantity(is)
		return ok && longest != nil && n.Cmp(longest) < 0 || unlimited && text(is) != ""
	})
}

// expires reports a limit in time that appears or gets shorter.
func expires() test {
	t := lowers("0")
	inner := t.finds
	t.when = "it is set, or gets less"
	t.leaf = func(was, is raw.Value) (found, settled bool) {
		return was.IsNull() && !is.IsNull() || shorter(is, was, "0"), true
	}
	t.finds = func(v values) bool {
		return !v.created && (len(v.before) < len(v.after) || inner(v))
	}
	return t
}

func shorter(is, was raw.Value, forever string) bool {
	if forever != "" && text(is) == forever {
		return false
	}
	return less(is, was) || forever != "" && text(was) == forever && text(is) != ""
}

// either finds what one of two tests finds.
func either(a, b test) test {
	t := a
	t.finds = func(v values) bool { return a.finds(v) || b.finds(v) }
	t.leaf = func(was, is raw.Value) (found, settled bool) {
		for _, leaf := range []func(was, is raw.Value) (found, settled bool){a.leaf, b.leaf} {
			if leaf != nil && !found {
				found, _ = leaf(was, is)
			}
		}
		return found, false
	}
	return t
}

// described is the test under other words and with another example.
func (t test) described(when, strong, weak string) test {
	t.when, t.strong, t.weak = when, strong, weak
	return t
}

// adds reports a value that a list did not have.
func adds() test {
	return addsLike(func(string) bool { return true }, "b")
}

func addsLike(has func(string) bool, example string) test {
	return test{
		when: "it gets one more", actions: present, strong: `["a"]`, weak: `["a",` + strconv.Quote(example) + `]`,
		finds: func(v values) bool {
			was := textSet(v.before)
			for is := range textSet(v.after) {
				if !was[is] && has(is) {
					return true
				}
			}
			return false
		},
	}
}

// drops reports a value that a list no longer has.
func drops() test {
	return test{when: "it loses one", actions: changed, strong: `["a","b"]`, weak: `["a"]`, finds: func(v values) bool {
		return grows(textSet(v.after), textSet(v.before))
	}}
}

// textSet are the texts of some values; an object is its JSON.
func textSet(list []raw.Value) map[string]bool {
	out := map[string]bool{}
	for _, v := range list {
		if t, _ := raw.Text(v); t != "" && !v.IsNull() {
			out[t] = true
		}
	}
	return out
}

// empties reports an attribute or a block that had something and has nothing.
func empties() test {
	return test{when: "it is removed", actions: changed, strong: `["a"]`, weak: "[]", finds: func(v values) bool {
		return len(textSet(v.before)) > 0 && len(textSet(v.after)) == 0
	}}
}

// fills reports an attribute or a block that had nothing and has something.
func fills() test {
	return test{when: "it is set", actions: present, strong: "[]", weak: `["a"]`, finds: func(v values) bool {
		return len(textSet(v.before)) == 0 && len(textSet(v.after)) > 0
	}}
}

// differ reports any change of an attribute that was set.
func differ() test {
	return test{when: "it was set", actions: changed, strong: `"a"`, weak: `"b"`, unknowns: true, finds: func(v values) bool {
		was, is := textSet(v.before), textSet(v.after)
		return len(was) > 0 && (v.unknown || grows(was, is) || grows(is, was))
	}}
}

// opensUp reports address ranges that newly hold most of the internet, or that were there and no longer limit anything.
func opensUp() test {
	return test{
		when: "it newly holds most of the internet, or the limit is removed", actions: present,
		strong: `["10.0.0.0/8"]`, weak: `["0.0.0.0/0"]`,
		finds: func(v values) bool {
			was, is := textList(v.before), textList(v.after)
			return wide(is) && !wide(was) || !v.created && len(was) > 0 && len(is) == 0
		},
	}
}

func textList(list []raw.Value) []string {
	var out []string
	for _, v := range list {
		if t := text(v); t != "" {
			out = append(out, source(t))
		}
	}
	return out
}

// lowersTLS reports a protocol version, or a policy that stands for one, below the one before; in a
// new object one below TLS 1.2.
func lowersTLS() test {
	return test{
		when: "the version gets lower, or a new object takes one below TLS 1.2", actions: present,
		strong: `"TLS1_2"`, weak: `"TLS1_0"`,
		finds: func(v values) bool {
			lowest := func(list []raw.Value) int {
				low := unknownTLS
				for _, e := range list {
					low = min(low, tlsVersion(text(e)))
				}
				return low
			}
			was, is := lowest(v.before), lowest(v.after)
			if was == unknownTLS {
				return is < 2 && len(v.before) == 0
			}
			return is < was
		},
	}
}

const unknownTLS = 9

var minorTLS = lazyregexp.New(`(?:^|\D)1[._-]([0-3])(?:\D|$)`)

// tlsVersion is the minor version of the lowest TLS 1.x that a name stands for, as clouds write it:
// TLS1_2, TLSv1.2_2021, ELBSecurityPolicy-TLS13-1-2-2021-06, 1.2. Before TLS 1.0 it is less than 0.
func tlsVersion(name string) int {
	lower := strings.ToLower(name)
	switch m := minorTLS.FindStringSubmatch(strings.Replace(lower, "tls13", "", 1)); {
	case m != nil:
		return int(m[1][0] - '0')
	case strings.HasPrefix(lower, "sslv"):
		return -1
	case strings.HasPrefix(lower, "tlsv1"), lower == "tls1", strings.HasPrefix(lower, "elbsecuritypolicy-20"),
		strings.HasPrefix(lower, "elbsecuritypolicy-fs-2018"):
		return 0
	}
	return unknownTLS
}

// made and removed report the object as a whole; where a rule has paths, they only say what the finding points at.
func made() test {
	return test{actions: created, strong: "null", weak: `"a"`, unknowns: true, finds: func(values) bool { return true }}
}

func removed() test {
	return test{actions: gone, strong: `"a"`, weak: "null", unknowns: true, finds: func(values) bool { return true }}
}
