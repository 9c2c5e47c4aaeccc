package catalog

import (
	"strings"
	"testing"
)

func TestConclude(t *testing.T) {
	text := mergeOutcome("", "a", []string{"one"}, "nothing")
	if text != "app a: one" {
		t.Fatal(text)
	}
	if again := mergeOutcome(text, "a", []string{"one"}, "nothing"); again != text {
		t.Fatal(again)
	}
	if again := mergeOutcome(text, "a", nil, "nothing"); again != text {
		t.Fatal(again)
	}
	text = mergeOutcome(text, "a", []string{"two\nlines"}, "")
	if text != "app a: one; two lines" {
		t.Fatal(text)
	}
	text = mergeOutcome(text, "ab", nil, "nothing")
	if text != "app a: one; two lines\napp ab: nothing" {
		t.Fatal(text)
	}
	if text := mergeOutcome("", "a", nil, ""); text != "" {
		t.Fatal(text)
	}
	if long := mergeOutcome(text, "a", []string{strings.Repeat("x", maxOutcomeLength)}, ""); long != text {
		t.Fatal("the outcome has no bound")
	}
}

func TestBelow(t *testing.T) {
	paths := []string{"a/b", "ab/c", "a", "x/a/b"}
	if got := strings.Join(PathsIn(paths, "a"), " "); got != "a/b a" {
		t.Error(got)
	}
	if got := PathsIn(paths, "."); len(got) != 4 {
		t.Error(got)
	}
}

func TestSome(t *testing.T) {
	for want, things := range map[string][]string{
		"": nil, "a": {"a"}, "a and b": {"a", "b"}, "a, b and c": {"a", "b", "c"},
		"a, b, c and 2 more": {"a", "b", "c", "d", "e"},
	} {
		if got := Summarize(things); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
