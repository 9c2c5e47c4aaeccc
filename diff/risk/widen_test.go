package risk

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		outer, inner string
		covers, meet bool
	}{
		{"*", "s3:Get*", true, true},
		{"s3:*", "s3:Get*", true, true},
		{"s3:Get*", "s3:*", false, true},
		{"s3:Get*", "s3:Put*", false, false},
		{"a*c", "abc", true, true},
		{"a*c", "ab*", false, true},
		{"a*b*c", "a*c", false, true},
		{"a*c", "a*b*c", true, true},
		{"a?c", "abc", true, true},
		{"a?c", "ac", false, false},
		{"a?c", "a*c", false, true},
		{"?*", "*?", true, true},
		{"**", "*", true, true},
		{"", "*", false, true},
		{"", "", true, true},
		{"a", "", false, false},
	} {
		if got := globCovers(c.outer, c.inner); got != c.covers {
			t.Errorf("%q covers %q: %t", c.outer, c.inner, got)
		}
		if globsMeet(c.outer, c.inner) != c.meet || globsMeet(c.inner, c.outer) != c.meet {
			t.Errorf("%q meets %q: not %t", c.outer, c.inner, c.meet)
		}
	}
	long := strings.Repeat("a", maxGlob+1)
	if !globCovers(long, long) || globCovers(long+"*", long) || !globsMeet(long, "b") {
		t.Error("patterns that are too long to compare")
	}
}

// TestGlobsAgainstTexts checks the comparison of two patterns against texts that they match.
func TestGlobsAgainstTexts(t *testing.T) {
	pattern := rapid.StringMatching(`[ab*?]{0,5}`)
	rapid.Check(t, func(t *rapid.T) {
		outer, inner, text := pattern.Draw(t, "outer"), pattern.Draw(t, "inner"),
			rapid.StringMatching(`[ab]{0,6}`).Draw(t, "text")
		inOuter, _ := path.Match(outer, text)
		inInner, _ := path.Match(inner, text)
		if inInner && !inOuter && globCovers(outer, inner) {
			t.Fatalf("%q covers %q, but not %q", outer, inner, text)
		}
		if inInner && inOuter && !globsMeet(outer, inner) {
			t.Fatalf("%q and %q do not meet, but in %q", outer, inner, text)
		}
		if !globCovers(outer, outer) {
			t.Fatalf("%q does not cover itself", outer)
		}
		if covers, _ := path.Match(outer, text); covers != globCovers(outer, text) {
			t.Fatalf("%q and the text %q", outer, text)
		}
	})
}

type statement struct {
	Effect      string
	Action      []string            `json:",omitempty"`
	NotAction   []string            `json:",omitempty"`
	Resource    []string            `json:",omitempty"`
	NotResource []string            `json:",omitempty"`
	Principal   map[string][]string `json:",omitempty"`
	Condition   map[string]any      `json:",omitempty"`
}

func statements() *rapid.Generator[statement] {
	actions := rapid.SliceOfN(rapid.SampledFrom([]string{"s3:Get", "s3:Put", "s3:*", "ec2:Run", "*", "s3:G*"}), 1, 3)
	resources := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "a/*", "a/b", "*"}), 1, 3)
	principals := rapid.SampledFrom([]map[string][]string{nil, {"AWS": {"111111111111"}}, {"AWS": {"*"}},
		{"Service": {"ec2"}, "AWS": {"111111111111"}}})
	conditions := rapid.SampledFrom([]map[string]any{nil, nil, {"StringEquals": map[string]any{"a": "b"}},
		{"StringEquals": map[string]any{"a": []string{"b", "c"}}}, {"StringNotEquals": map[string]any{"a": "b"}},
		{"Bool": map[string]any{"tls": "true"}}})
	return rapid.Custom(func(t *rapid.T) statement {
		s := statement{Effect: "Allow", Principal: principals.Draw(t, "principal"),
			Condition: conditions.Draw(t, "condition")}
		if s.Action = actions.Draw(t, "action"); rapid.IntRange(0, 5).Draw(t, "not action") == 0 {
			s.Action, s.NotAction = nil, s.Action
		}
		if s.Resource = resources.Draw(t, "resource"); rapid.IntRange(0, 5).Draw(t, "not resource") == 0 {
			s.Resource, s.NotResource = nil, s.Resource
		}
		return s
	})
}

func document(t interface{ Fatal(...any) }, list ...statement) raw.Value {
	data, err := json.Marshal(map[string]any{"Statement": list})
	if err != nil {
		t.Fatal(err)
	}
	return raw.Of(string(data))
}

// request is one access attempt with its circumstances.
type request struct {
	action, resource, principal string
	context                     map[string]string
}

// requests returns all requests that the vocabulary of the statements allows.
func requests() []request {
	var out []request
	for _, action := range []string{"s3:Get", "s3:Put", "s3:Got", "ec2:Run", "other"} {
		for _, resource := range []string{"a", "b", "a/b", "a/c", "z"} {
			for _, principal := range []string{"AWS 111111111111", "AWS 222222222222", "Service ec2"} {
				for _, context := range []map[string]string{{}, {"a": "b"}, {"a": "c"}, {"a": "b", "tls": "true"}} {
					out = append(out, request{action, resource, principal, context})
				}
			}
		}
	}
	return out
}

// allows evaluates a policy in the simplest way, as the reference for the comparison.
func allows(list []statement, r request) bool {
	allowed := false
	for _, s := range list {
		if !s.applies(r) {
			continue
		}
		if s.Effect == "Deny" {
			return false
		}
		allowed = true
	}
	return allowed
}

func (s statement) applies(r request) bool {
	matches := func(items []string, text string) bool {
		return slices.ContainsFunc(items, func(item string) bool {
			// path.Match does not let a star match a slash.
			ok, _ := path.Match(strings.ReplaceAll(item, "/", "|"), strings.ReplaceAll(text, "/", "|"))
			return ok
		})
	}
	if s.Action != nil && !matches(s.Action, r.action) || s.NotAction != nil && matches(s.NotAction, r.action) {
		return false
	}
	if s.Resource != nil && !matches(s.Resource, r.resource) ||
		s.NotResource != nil && matches(s.NotResource, r.resource) {
		return false
	}
	if s.Principal != nil {
		found := false
		for kind, ids := range s.Principal {
			found = found || slices.Contains(ids, "*") ||
				slices.ContainsFunc(ids, func(id string) bool { return kind+" "+id == r.principal })
		}
		if !found {
			return false
		}
	}
	for operator, tests := range s.Condition {
		for key, want := range tests.(map[string]any) {
			var values []string
			switch w := want.(type) {
			case string:
				values = []string{w}
			case []string:
				values = w
			}
			is, has := r.context[key]
			in := has && slices.Contains(values, is)
			if operator == "StringNotEquals" && in || operator != "StringNotEquals" && !in {
				return false
			}
		}
	}
	return true
}

// TestWidensNeverMisses checks that widens is true whenever after allows a request that before does
// not.
func TestWidensNeverMisses(t *testing.T) {
	all := requests()
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOfN(statements(), 0, 3)
		before, after := gen.Draw(t, "before"), gen.Draw(t, "after")
		for _, list := range [][]statement{before, after} {
			for i := range list {
				if rapid.IntRange(0, 4).Draw(t, "deny") == 0 {
					list[i].Effect = "Deny"
				}
			}
		}
		wider := widens(document(t, before...), document(t, after...))
		for _, r := range all {
			if allows(after, r) && !allows(before, r) && !wider {
				t.Fatalf("%+v is newly allowed", r)
			}
		}
	})
}

// TestWidensIsQuietAboutTheSame checks that another order, split statements, duplicates and fewer
// rights do not count as wider.
func TestWidensIsQuietAboutTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SliceOfN(statements(), 1, 4).Draw(t, "before")
		var after []statement
		for _, s := range rapid.Permutation(before).Draw(t, "order") {
			s.Action, s.Resource = rapid.Permutation(s.Action).Draw(t, "actions"),
				rapid.Permutation(s.Resource).Draw(t, "resources")
			if len(s.Action) > 1 && rapid.Bool().Draw(t, "apart") {
				one, rest := s, s
				one.Action, rest.Action = s.Action[:1], s.Action[1:]
				after = append(after, one)
				s = rest
			}
			after = append(after, s)
			if rapid.Bool().Draw(t, "double") {
				after = append(after, s)
			}
		}
		if widens(document(t, before...), document(t, after...)) {
			t.Fatalf("the same in other words widens: %+v", after)
		}
		fewer := after[:rapid.IntRange(0, len(after)).Draw(t, "fewer")]
		if widens(document(t, before...), document(t, fewer...)) {
			t.Fatalf("less widens: %+v", fewer)
		}
		// Monotone: one more statement widens, unless the existing ones cover it.
		more := rapid.SampledFrom([]string{"iam:PassRole", "*"}).Draw(t, "more")
		covered := slices.ContainsFunc(before, func(s statement) bool {
			return (slices.Contains(s.Action, "*") || s.NotAction != nil && more != "*" && !slices.Contains(s.NotAction, "*")) &&
				slices.Contains(s.Resource, "*") && (s.Principal == nil || slices.Contains(s.Principal["AWS"], "*")) &&
				s.Condition == nil
		})
		added := append(slices.Clone(before), statement{Effect: "Allow", Action: []string{more}, Resource: []string{"*"}})
		if got := widens(document(t, before...), document(t, added...)); got == covered {
			t.Fatalf("%s is added to %+v: widens %t", more, before, got)
		}
	})
}

func TestPolicyPairs(t *testing.T) {
	policyOf := func(statements string) raw.Value {
		return raw.Of(`{"Version":"2012-10-17","Statement":[` + statements + `]}`)
	}
	allow := func(rest string) string { return `{"Effect":"Allow",` + rest + `}` }
	deny := func(rest string) string { return `{"Effect":"Deny",` + rest + `}` }
	for _, c := range []struct {
		name, before, after string
		wider               bool
	}{
		{"not action to actions in it", allow(`"NotAction":"iam:*","Resource":"*"`), allow(`"Action":"s3:*","Resource":"*"`),
			false},
		{"not action to actions beyond", allow(`"NotAction":"iam:*","Resource":"*"`),
			allow(`"Action":"iam:Get*","Resource":"*"`), true},
		{"not action leaves out more", allow(`"NotAction":"iam:*","Resource":"*"`),
			allow(`"NotAction":["iam:*","s3:*"],"Resource":"*"`), false},
		{"not action leaves out less", allow(`"NotAction":["iam:*","s3:*"],"Resource":"*"`),
			allow(`"NotAction":"iam:*","Resource":"*"`), true},
		{"all but something is not some", allow(`"Action":["s3:*"],"Resource":"*"`),
			allow(`"NotAction":"iam:*","Resource":"*"`), true},
		{"more values of a test", allow(`"Action":"a","Condition":{"StringEquals":{"k":"v"}}`),
			allow(`"Action":"a","Condition":{"StringEquals":{"k":["v","w"]}}`), true},
		{"fewer values of a test", allow(`"Action":"a","Condition":{"StringEquals":{"K":["v","w"]}}`),
			allow(`"Action":"a","Condition":{"stringequals":{"k":"v"}}`), false},
		{"fewer values of a negative test", allow(`"Action":"a","Condition":{"StringNotEquals":{"k":["v","w"]}}`),
			allow(`"Action":"a","Condition":{"StringNotEquals":{"k":"v"}}`), true},
		{"a condition on a deny", deny(`"Action":"a"`), deny(`"Action":"a","Condition":{"Bool":{"k":"true"}}`), true},
		{"a wider deny", deny(`"Action":"a"`), deny(`"Action":"*"`), false},
		{"allowed but denied", deny(`"Action":"s3:*"`), deny(`"Action":"s3:*"`) + "," + allow(`"Action":"s3:Get"`), false},
		{"allowed and denied no longer", deny(`"Action":"s3:*"`) + "," + allow(`"Action":"*"`), allow(`"Action":"*"`), true},
		{"cross products are not unions", allow(`"Action":"a","Resource":"x"`) + "," + allow(`"Action":"b","Resource":"y"`),
			allow(`"Action":["a","b"],"Resource":["x","y"]`), true},
		{"an effect nobody knows", allow(`"Action":"a"`), `{"Effect":"Perhaps","Action":"a"}`, true},
		{"both actions and not actions", allow(`"Action":"a"`), allow(`"Action":"a","NotAction":"b"`), true},
		{"the version", allow(`"Action":"a"`), allow(`"Action":"a","Sid":"x"`), false},
	} {
		if got := widens(policyOf(c.before), policyOf(c.after)); got != c.wider {
			t.Errorf("%s: wider %t, want %t", c.name, got, c.wider)
		}
	}
	for _, bad := range []string{"{", "[]", `{"Statement":7}`, `{"Statement":[[]]}`,
		`{"Statement":{"Effect":"Allow","Action":{"a":1}}}`} {
		if !widens(raw.Value{}, raw.Of(bad)) || widens(raw.Of(bad), raw.Of(bad)) {
			t.Errorf("a document that is not understood: %s", bad)
		}
	}
}

// TestWidensIsBounded checks that a document that is too large to compare counts as wider, without
// much work.
func TestWidensIsBounded(t *testing.T) {
	var items []string
	for i := range 3000 {
		items = append(items, fmt.Sprintf("a%d*b*c*d*e*f", i))
	}
	before := document(t, statement{Effect: "Allow", Action: items, Resource: items})
	after := document(t, statement{Effect: "Allow", Action: append(slices.Clone(items), "new"), Resource: items})
	if !widens(before, after) {
		t.Error("too large to compare, but not wider")
	}
	long := strings.Repeat("a*b?", 500)
	for i := range items {
		items[i] = fmt.Sprintf("%s%d", long, i)
	}
	if got := globsCompared(document(t, statement{Effect: "Allow", Action: items[:200]}),
		document(t, statement{Effect: "Allow", Action: items[200:400]})); got > 100 {
		t.Errorf("%d pairs of long patterns were compared", got)
	}
	budget := maxCompared
	_ = globs.coveredBy(dimension{except: true, items: items}, dimension{except: true, items: items}, &budget)
	if budget > maxCompared-1000 {
		t.Errorf("the budget is not counted: %d left", budget)
	}
}

// globsCompared counts the pairs of actions that are compared.
func globsCompared(before, after raw.Value) int {
	compared := 0
	count := func(outer, inner string) bool { compared++; return globCovers(outer, inner) }
	was, _ := parsePolicy(before)
	is, _ := parsePolicy(after)
	covered([]comparator{{covers: count, meet: globsMeet}, policyComparators[1], policyComparators[2]}, is.allow,
		was.allow)
	return compared
}

func TestSourcesAndPorts(t *testing.T) {
	for _, c := range []struct {
		outer, inner string
		covers       bool
	}{
		{"10.0.0.0/8", "10.0.0.0/16", true}, {"10.0.0.0/16", "10.0.0.0/8", false}, {"10.0.0.0/8", "11.0.0.0/16", false},
		{"0.0.0.0/0", "10.0.0.0/8", true}, {"0.0.0.0/0", "::/0", false}, {"::/0", "fd00::/8", true}, {"*", "::/0", true},
		{"::/0", "*", false},
		{"sg-1", "sg-1", true}, {"sg-1", "sg-2", false}, {"sg-1", "10.0.0.0/8", false},
	} {
		if got := sourceCovers(source(c.outer), source(c.inner)); got != c.covers {
			t.Errorf("%s covers %s: %t", c.outer, c.inner, got)
		}
	}
	if source("10.1.2.3") != source("10.1.2.3/32") || source("10.1.2.3/8") != "10.0.0.0/8" || source("Internet") != "*" {
		t.Error("one network is written in two ways")
	}
	for _, c := range []struct {
		outer, inner string
		covers       bool
	}{
		{"*", "80", true}, {"80", "*", false}, {"80-90", "85", true}, {"80-90", "80-90", true}, {"80-90", "79-85", false},
		{"80-90", "85-91", false},
		{"80", "http", false}, {"http", "http", true},
	} {
		if got := portsCover(c.outer, c.inner); got != c.covers {
			t.Errorf("%s covers %s: %t", c.outer, c.inner, got)
		}
	}
}

func TestQuantities(t *testing.T) {
	for _, c := range []struct {
		a, b string
		less bool
	}{
		{"1", "2", true}, {"1000m", "1", false}, {"999m", "1", true}, {"1Gi", "1G", false}, {"1G", "1Gi", true},
		{"1e3", "1k", false},
		{"1K", "1", false}, {"1Ki", "1025", true}, {"0.5", "1", true}, {"1E", "1Ei", true}, {"", "1", false},
		{"x", "1", false},
		{"1e999999999", "1", false}, {"0x1", "2", false}, {"1/2", "1", false}, {"1ki", "9", false}, {"1mi", "9", false},
		{"n", "1", false},
		{"-1", "0", true}, {"1_0", "99", false}, {"50%", "60%", false},
	} {
		if got := less(raw.Of(c.a), raw.Of(c.b)); got != c.less {
			t.Errorf("%q < %q: %t", c.a, c.b, got)
		}
	}
}

func FuzzWidens(f *testing.F) {
	f.Add(`{"Statement":[{"Effect":"Allow","Action":"s3:*","Resource":["a"],"Principal":{"AWS":"1"},"Condition":{"Bool":{"a":true}}}]}`, `{"Statement":[]}`)
	f.Add(`{"Statement":{"Effect":"Deny","NotAction":["*"],"NotPrincipal":"*"}}`, `{`)
	f.Fuzz(func(t *testing.T, before, after string) {
		b, a := raw.Of(before), raw.Of(after)
		widens(b, a)
		public(b, a)
		allPowerful(b, a)
		if widens(a, a) {
			t.Errorf("%q widens itself", after)
		}
	})
}
