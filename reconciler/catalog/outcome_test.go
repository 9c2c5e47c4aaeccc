package catalog

import (
	"strings"
	"testing"
)

func TestConclude(t *testing.T) {
	text := conclude("", "a", []string{"one"}, "nothing")
	if text != "app a: one" {
		t.Fatal(text)
	}
	if again := conclude(text, "a", []string{"one"}, "nothing"); again != text {
		t.Fatal(again)
	}
	if again := conclude(text, "a", nil, "nothing"); again != text {
		t.Fatal(again)
	}
	text = conclude(text, "a", []string{"two\nlines"}, "")
	if text != "app a: one; two lines" {
		t.Fatal(text)
	}
	text = conclude(text, "ab", nil, "nothing")
	if text != "app a: one; two lines\napp ab: nothing" {
		t.Fatal(text)
	}
	if text := conclude("", "a", nil, ""); text != "" {
		t.Fatal(text)
	}
	if long := conclude(text, "a", []string{strings.Repeat("x", maxOutcome)}, ""); long != text {
		t.Fatal("the outcome has no bound")
	}
}

func TestBelow(t *testing.T) {
	paths := []string{"a/b", "ab/c", "a", "x/a/b"}
	if got := strings.Join(Below(paths, "a"), " "); got != "a/b a" {
		t.Error(got)
	}
	if got := Below(paths, "."); len(got) != 4 {
		t.Error(got)
	}
}

func TestSome(t *testing.T) {
	for want, things := range map[string][]string{
		"": nil, "a": {"a"}, "a and b": {"a", "b"}, "a, b and c": {"a", "b", "c"},
		"a, b, c and 2 more": {"a", "b", "c", "d", "e"},
	} {
		if got := Some(things); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
