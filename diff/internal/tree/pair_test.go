package tree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

func parse(t interface {
	Helper()
	Fatal(...any)
}, text string) raw.Value {
	t.Helper()
	v, err := raw.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// show formats pairs like "0=1 -=0 1!0": before 0 with after 1, after 0
// alone, before 1 moved to after 0.
func show(pairs []tree.Pair) string {
	side := func(i int) string {
		if i < 0 {
			return "-"
		}
		return fmt.Sprint(i)
	}
	var out []string
	for _, p := range pairs {
		sign := "="
		if p.Moved {
			sign = "!"
		}
		out = append(out, side(p.Before)+sign+side(p.After))
	}
	return strings.Join(out, " ")
}

// rule returns an ingress rule as in a Terraform plan.
func rule(port int, protocol, cidr string) string {
	return fmt.Sprintf(
		`{"cidr_blocks":[%q],"description":"","from_port":%d,"ipv6_cidr_blocks":[],"protocol":%q,"self":false,"to_port":%d}`,
		cidr, port, protocol, port)
}

func TestMatches(t *testing.T) {
	web, tls, dns := rule(80, "tcp", "10.0.0.0/8"), rule(443, "tcp", "10.0.0.0/8"), rule(53, "udp", "10.1.0.0/16")
	webMore := rule(80, "tcp", "0.0.0.0/0")
	list := func(elements ...string) string { return "[" + strings.Join(elements, ",") + "]" }
	for _, c := range []struct{ name, before, after, want string }{
		{"nothing", `[]`, `[]`, ""},
		{"equal", `[1,2]`, `[1,2]`, "0=0 1=1"},
		{"one in front", `[1,2]`, `[0,1,2]`, "-=0 0=1 1=2"},
		{"plain values by place", `[1,2,3]`, `[1,5,3]`, "0=0 1=1 2=2"},
		{"plain values change places", `["a","b"]`, `["b","a"]`, "1=0 0!1"},
		{"doubles", `["a","a","b"]`, `["a","b","a"]`, "0=0 2=1 1!2"},
		{"names before places", `[{"name":"a","v":1},{"name":"b","v":1}]`, `[{"name":"b","v":2},{"name":"c","v":1}]`,
			"1=0 -=1 0=-"},
		{"names at any place", `[{"name":"a","v":1},"x","y"]`, `["x","y",{"name":"a","v":2}]`, "1=0 2=1 0=2"},
		{"the same name twice, by likeness", `[{"name":"a","v":1,"w":1},{"name":"a","v":2,"w":1}]`,
			`[{"name":"a","v":2,"w":3},{"name":"a","v":1,"w":3}]`, "1=0 0=1"},
		{"one block that is renamed", `[{"name":"a","v":1,"w":1}]`, `[{"name":"b","v":1,"w":1}]`, "0=0"},
		{"one block that is another", `[{"name":"a","v":1}]`, `[{"name":"b","v":2}]`, "-=0 0=-"},
		{"one nameless block", `[{"v":1}]`, `[{"v":2}]`, "0=0"},
		{"a rule in front", list(tls, dns), list(web, tls, dns), "-=0 0=1 1=2"},
		{"a rule that changes its place with its value", list(dns, tls, web), list(webMore, dns, tls), "2=0 0=1 1=2"},
		{"the rule most alike", list(web), list(tls, webMore), "-=0 0=1"},
		{"two of two change", list(web, dns), list(rule(53, "udp", "10.2.0.0/16"), webMore), "1=0 0=1"},
		{"a rule that goes for one that is unlike", list(dns), list(web, tls), "-=0 -=1 0=-"},
		{"a rule that has only the protocol in common", list(web),
			list(rule(22, "tcp", "10.2.0.0/16"), rule(25, "tcp", "10.3.0.0/16")), "-=0 -=1 0=-"},
		{"as many go as come", list(dns, web), list(rule(22, "ssh", "1.1.1.1/32"), web), "0=0 1=1"},
		{"shapes", `[1,{"a":1},[1]]`, `[[2],2,{"a":2}]`, "2=0 0=1 1=2"},
		{"not known yet", `[{"a":1,"b":2}]`, `[null]`, "0=0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := parse(t, c.before), parse(t, c.after)
			if d := cmp.Diff(c.want, show(tree.Matches(before, after, nil))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestUnknownElementsEqualNone(t *testing.T) {
	before, after := parse(t, `[{"a":1,"b":1},{"a":2,"b":2}]`), parse(t, `[{"a":2},{"a":1,"b":1}]`)
	got := tree.Matches(before, after, func(i int) bool { return i == 0 })
	if want := "1=0 0=1"; show(got) != want {
		t.Errorf("got %s, want %s", show(got), want)
	}
}

// TestPairsSayWhatMoves checks that Pairs lists a moved element as removed and added.
func TestPairsSayWhatMoves(t *testing.T) {
	if got := show(tree.Pairs(parse(t, `["a","b"]`), parse(t, `["b","a"]`), nil)); got != "1=0 -=1 0=-" {
		t.Errorf("got %s", got)
	}
}

func elements() *rapid.Generator[raw.Value] {
	leaf := rapid.SampledFrom([]any{nil, true, "", "a", "b", []any{"a"}, []any{"a", "b"}, map[string]any{"x": "a"}})
	object := rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"name", "id", "p", "q", "r"}), leaf, 0, 4),
		func(m map[string]any) any { return m })
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(leaf, object), 0, 8), func(l []any) raw.Value { return raw.Of(l) })
}

// TestEveryElementIsPairedOnce checks that the pairs are in the order of after,
// are the same on each run, and match equal elements only with equal ones.
func TestEveryElementIsPairedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := elements().Draw(t, "before"), elements().Draw(t, "after")
		pairs := tree.Matches(before, after, nil)
		was, next := make([]int, before.Len()), 0
		for _, p := range pairs {
			if p.Before >= 0 {
				was[p.Before]++
			}
			if p.After >= 0 {
				if p.After != next {
					t.Fatalf("%s is not in the order of after", show(pairs))
				}
				next++
			}
			if p.Moved && !before.At(p.Before).Equal(after.At(p.After)) {
				t.Fatalf("%s: %d moved but is not equal", show(pairs), p.Before)
			}
		}
		for i, n := range was {
			if n != 1 {
				t.Fatalf("%s: element %d of before is there %d times", show(pairs), i, n)
			}
		}
		if next != after.Len() {
			t.Fatalf("%s: %d elements of after", show(pairs), next)
		}
		if again := show(tree.Matches(before, after, nil)); again != show(pairs) {
			t.Fatalf("%s, then %s", show(pairs), again)
		}
		if before.Equal(after) && strings.ContainsAny(show(pairs), "-!") {
			t.Fatalf("%s for equal lists", show(pairs))
		}
	})
}

// TestLargeListsAreNotQuadratic changes every rule of a long list and reverses the list.
func TestLargeListsAreNotQuadratic(t *testing.T) {
	const n = 20_000
	var before, after []any
	for i := range n {
		before = append(before, map[string]any{"cidr": fmt.Sprint("10.0.", i), "port": "80", "note": "x"})
		after = append(after, map[string]any{"cidr": fmt.Sprint("10.0.", n-1-i), "port": "81", "note": "x"})
	}
	var pairs []tree.Pair
	testtime.CheckCPUCost(t, 5_000, func() { pairs = tree.Matches(raw.Of(before), raw.Of(after), nil) })
	for _, p := range pairs {
		if p.Before != n-1-p.After {
			t.Fatalf("%d of before with %d of after", p.Before, p.After)
		}
	}
}
