package credentialscope_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/credentialscope"
)

// TestChange checks that a list is sorted and has no pattern twice, what it may not remove, and its limit.
func TestChange(t *testing.T) {
	lower := func(text string) (string, error) {
		if text == "" {
			return "", errors.New("empty")
		}
		return strings.ToLower(text), nil
	}
	got, err := credentialscope.Change([]string{"c", "b"}, []string{"A", "B"}, []string{"C"}, lower)
	if err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q, %v", got, err)
	}
	var missing *credentialscope.NotNamedError
	_, err = credentialscope.Change(got, nil, []string{"X"}, lower)
	if !errors.As(err, &missing) || missing.Pattern != "x" {
		t.Errorf("an absent pattern was removed: %v", err)
	}
	for _, lists := range [][2][]string{{{""}, nil}, {nil, {""}}} {
		if _, err := credentialscope.Change(got, lists[0], lists[1], lower); err == nil || err.Error() != "empty" {
			t.Errorf("got %v, want the error of the check", err)
		}
	}
	var many []string
	for i := range credentialscope.Limit + 1 {
		many = append(many, fmt.Sprint(i))
	}
	if got, err = credentialscope.Change(nil, many[1:], nil, lower); err != nil || len(got) != credentialscope.Limit {
		t.Errorf("got %d patterns, %v", len(got), err)
	}
	if _, err := credentialscope.Change(got, many[:1], nil, lower); !errors.Is(err, credentialscope.TooManyError{}) {
		t.Errorf("got %v, want TooManyError", err)
	}
}

// TestMatch checks which pattern is for an address, and that the closest one counts most.
func TestMatch(t *testing.T) {
	const address = "https://git.test/acme/app"
	closest := []string{address, "https://git.test/acme/*", "https://git.test/*"}
	for i, pattern := range closest[1:] {
		n, above := credentialscope.Match(pattern, address), credentialscope.Match(closest[i], address)
		if n == 0 || n >= above {
			t.Errorf("%s counts %d, and %s counts %d", pattern, n, closest[i], above)
		}
	}
	for _, pattern := range []string{
		"https://git.test/acme", "https://git.test/acm/*", address + "/*", "https://git.test/ac*",
	} {
		if credentialscope.Match(pattern, address) != 0 {
			t.Errorf("%s matches %s", pattern, address)
		}
	}
}

func TestPlainPath(t *testing.T) {
	for path, want := range map[string]bool{
		"": true, "/a/b": true, "a/b": true, "/a%20b": true, "/a//b": false, "/a/": false, "/.": false, "/a/..": false,
		"/%2e%2e/a": false, "/a%2fb": false, "/a%5cb": false, "/a%252fb": false, "/a%00": false, "/a%": false,
	} {
		if got := credentialscope.PlainPath(path); got != want {
			t.Errorf("%q: got %t", path, got)
		}
	}
}
