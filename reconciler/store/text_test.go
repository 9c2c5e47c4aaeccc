package store_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// TestDecodeJSON checks what is decoded, and that what Postgres cannot store is rejected.
func TestDecodeJSON(t *testing.T) {
	got, err := store.DecodeJSON([]byte(` {"a": ["x", 12345678901234567890, null, true]} `))
	want := map[string]any{"a": []any{"x", json.Number("12345678901234567890"), nil, true}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for raw, reason := range map[string]string{
		`zone`: "not JSON", ``: "not JSON", `1 2`: "more than one", `{} ]`: "more than one",
		`[{"a": "b\u0000"}]`: "NUL", `{"b\u0000": 1}`: "NUL", `[1e999]`: "the number 1e999 is too large",
	} {
		if _, err := store.DecodeJSON([]byte(raw)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: got %v, want an error with %q", raw, err, reason)
		}
	}
}

// TestCleanJSON checks what is replaced, and that numbers and structure stay.
func TestCleanJSON(t *testing.T) {
	got, err := store.CleanJSON([]byte(`{"k\u0000": ["a\u0000b", "\ud800", 1.10]}`))
	if want := "{\"k\ufffd\":[\"a\ufffdb\",\"\ufffd\",1.10]}"; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	for _, raw := range []string{`{`, `1 2`, `-1e999`} {
		if got, err := store.CleanJSON([]byte(raw)); err == nil {
			t.Errorf("%s became %s", raw, got)
		}
	}
}
