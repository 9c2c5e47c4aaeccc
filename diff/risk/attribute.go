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

// attribute is a rule about the values of Terraform attributes: one row in the table of a cloud.
type attribute struct {
	name, source, message string
	// kinds lists resource types and paths lists attributes; each type has at least one of them.
	kinds, paths []string
	test         test
	// risk defaults to diff.RiskInPlace.
	risk diff.Risk
	// plain marks a rule that is not about security.
	plain bool
}

// test compares the values of one attribute before and after.
type test struct {
	when    string
	actions []diff.Action
	// finds compares all values of the attribute. It is called once for each path of a rule.
	finds func(values) bool
	// leaf, if set, is called first, for each difference of a single value. When it returns settled
	// false, finds decides.
	leaf func(was, is raw.Value) (found, settled bool)
	// strong and weak are example values, in JSON; the test reports the change from strong to weak.
	strong, weak string
	// unknowns reports a value that is known only after apply as a change. Without it, the rule
	// cannot judge such values.
	unknowns bool
	// object, if set, compares whole objects instead of values. kind is the resource type of the
	// example, where it matters.
	object func(subjectView) bool
	kind   string
}

// values holds the values of an attribute on both sides. An attribute that occurs in several blocks
// has the values of all of them; null contributes none.
type values struct {
	before, after []raw.Value
	// created reports that the object is new; unknown that the attribute is known only after apply.
	created, unknown bool
	kind             string
}

// rule builds the rule for a row of a table.
func (a attribute) rule() Rule {
	r := Rule{
		Name: a.name, Source: a.source, Message: a.message, Kinds: a.kinds, Paths: a.paths,
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
		r.matches = onDifference(func(f field) bool { return !f.unknown || a.test.unknowns })
		return r
	}
	var paths []pattern
	for _, p := range a.paths {
		paths = append(paths, parsePattern(p))
	}
	r.matches = func(l subjectView) func(field) bool {
		q := attributeCheck{test: &a.test, object: l, paths: paths, cache: make([]map[bool]bool, len(paths))}
		return q.evaluate
	}
	return r
}

// attributeCheck runs the test of one rule on one object.
type attributeCheck struct {
	test   *test
	object subjectView
	paths  []pattern
	// cache caches the results of test.finds by path and by whether the value is unknown.
	cache []map[bool]bool
}

func (q *attributeCheck) evaluate(f field) bool {
	if f.unknown && !q.test.unknowns {
		return false
	}
	if len(q.paths) == 0 {
		return q.test.finds(values{})
	}
	plain := !f.whole && isPlain(f.Before) && isPlain(f.After)
	for i, p := range q.paths {
		if !f.whole && !p.matches(f.Difference) {
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

// finds compares all values at a path and caches the result.
func (q *attributeCheck) finds(path int, unknown bool) bool {
	found, ok := q.cache[path][unknown]
	if !ok {
		p, l := q.paths[path], q.object
		found = q.test.finds(values{
			before: p.values(l.before), after: p.values(l.after), created: l.before.IsNull(), unknown: unknown, kind: l.kind,
		})
		if q.cache[path] == nil {
			q.cache[path] = map[bool]bool{}
		}
		q.cache[path][unknown] = found
	}
	return found
}

func isPlain(v raw.Value) bool { return !v.IsObject() && !v.IsList() }

// attributeRules builds the rules of a table.
func attributeRules(table []attribute) []Rule {
	out := make([]Rule, len(table))
	for i := range table {
		out[i] = table[i].rule()
	}
	return out
}

// values returns all values at the place; the elements of a list count one by one.
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

// count returns the number of scalar values that satisfy has.
func count(list []raw.Value, has func(string) bool) int {
	n := 0
	for _, v := range list {
		if !v.IsObject() && !v.IsList() && has(text(v)) {
			n++
		}
	}
	return n
}

// oneOf returns a predicate that matches any of the words, ignoring case.
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

// becomes reports an attribute that changes to one of the words, also in a new object.
func becomes(words ...string) test {
	t := becomesLike(oneOf(words), words[0])
	t.when = "it becomes `" + strings.Join(words, "`, `") + "`"
	return t
}

func becomesLike(has func(string) bool, example string) test {
	return test{
		actions: actionsPresent, strong: `"other"`, weak: strconv.Quote(example),
		leaf:  func(was, is raw.Value) (found, settled bool) { return has(text(is)) && !has(text(was)), false },
		finds: func(v values) bool { return count(v.after, has) > count(v.before, has) },
	}
}

// leaves reports an attribute that changes from one of the words to another value.
func leaves(words ...string) test {
	has := oneOf(words)
	return test{
		when: "it was `" + strings.Join(words, "`, `") + "`", actions: actionsChange, strong: strconv.Quote(words[0]),
		weak:  `"other"`,
		leaf:  func(was, is raw.Value) (found, settled bool) { return has(text(was)) && !has(text(is)), false },
		finds: func(v values) bool { return count(v.after, has) < count(v.before, has) },
	}
}

// turnsOn reports a boolean that becomes true; turnsOff one that is no longer true.
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

// lowers reports a number that gets smaller. forever is the number that means "no limit"; it is
// empty where there is none.
func lowers(forever string) test {
	return test{
		when: "it gets less", actions: actionsChange, strong: "30", weak: "7",
		leaf: func(was, is raw.Value) (found, settled bool) { return shorter(is, was, forever), true },
		finds: func(v values) bool {
			if len(v.after) == 0 {
				return len(v.before) > 0 && forever == ""
			}
			return shorterThanSome(v.after, v.before, forever)
		},
	}
}

// shorterThanSome reports whether some number is lower than the highest number before.
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

// expires reports a time limit that appears or gets shorter.
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

// either combines two tests: it finds what one of them finds.
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

// described returns the test with another description and example.
func (t test) described(when, strong, weak string) test {
	t.when, t.strong, t.weak = when, strong, weak
	return t
}

// adds reports a value that is new in a list.
func adds() test {
	return addsLike(func(string) bool { return true }, "b")
}

func addsLike(has func(string) bool, example string) test {
	return test{
		when: "it gets one more", actions: actionsPresent, strong: `["a"]`, weak: `["a",` + strconv.Quote(example) + `]`,
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

// drops reports a value that a list loses.
func drops() test {
	return test{when: "it loses one", actions: actionsChange, strong: `["a","b"]`, weak: `["a"]`,
		finds: func(v values) bool {
			return hasNew(textSet(v.after), textSet(v.before))
		}}
}

// textSet returns the texts of the values; an object counts as its JSON.
func textSet(list []raw.Value) map[string]bool {
	out := map[string]bool{}
	for _, v := range list {
		if t, _ := raw.Text(v); t != "" && !v.IsNull() {
			out[t] = true
		}
	}
	return out
}

// becomesEmpty reports an attribute or a block that loses all its values.
func becomesEmpty() test {
	return test{when: "it is removed", actions: actionsChange, strong: `["a"]`, weak: "[]", finds: func(v values) bool {
		return len(textSet(v.before)) > 0 && len(textSet(v.after)) == 0
	}}
}

// becomesSet reports an attribute or a block that was empty and gets a value.
func becomesSet() test {
	return test{when: "it is set", actions: actionsPresent, strong: "[]", weak: `["a"]`, finds: func(v values) bool {
		return len(textSet(v.before)) == 0 && len(textSet(v.after)) > 0
	}}
}

// differ reports any change of an attribute that was set.
func differ() test {
	return test{when: "it was set", actions: actionsChange, strong: `"a"`, weak: `"b"`, unknowns: true,
		finds: func(v values) bool {
			was, is := textSet(v.before), textSet(v.after)
			return len(was) > 0 && (v.unknown || hasNew(was, is) || hasNew(is, was))
		}}
}

// opensUp reports address ranges that newly cover most of the internet, or that are removed so that
// nothing is limited.
func opensUp() test {
	return test{
		when: "it newly holds most of the internet, or the limit is removed", actions: actionsPresent,
		strong: `["10.0.0.0/8"]`, weak: `["0.0.0.0/0"]`,
		finds: func(v values) bool {
			was, is := textList(v.before), textList(v.after)
			return coversInternet(is) && !coversInternet(was) || !v.created && len(was) > 0 && len(is) == 0
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

// lowersTLS reports a minimum protocol version, or the name of a TLS policy, that is lower than
// before. In a new object it reports versions below TLS 1.2.
func lowersTLS() test {
	return test{
		when: "the version gets lower, or a new object accepts one below TLS 1.2", actions: actionsPresent,
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

// tlsVersion returns the minor version of the lowest TLS 1.x that a name allows, in the spellings of
// the clouds: TLS1_2, TLSv1.2_2021, ELBSecurityPolicy-TLS13-1-2-2021-06, 1.2. It returns a negative
// number for SSL versions.
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

// creates and removed report an object that is created or destroyed. Where a rule has paths, they only
// select the path that the finding cites.
func creates() test {
	return test{actions: actionsCreate, strong: "null", weak: `"a"`, unknowns: true,
		finds: func(values) bool { return true }}
}

func destroys() test {
	return test{actions: actionsDestroy, strong: `"a"`, weak: "null", unknowns: true,
		finds: func(values) bool { return true }}
}
