package policy

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestUnknownKeyNamesAllKeys checks that the error for an unknown key names every key of the file.
func TestUnknownKeyNamesAllKeys(t *testing.T) {
	_, err := Parse("runner.toml", []byte("nonsense = true\n"))
	if err == nil {
		t.Fatal("an unknown key is accepted")
	}
	for _, key := range keysOf(reflect.TypeFor[File]()) {
		if !strings.Contains(err.Error(), key) {
			t.Errorf("the error has no %s: %v", key, err)
		}
	}
}

// TestDocsListTheKindsOfComponent checks that docs/runner-file.md names exactly the kinds that a file may list.
func TestDocsListTheKindsOfComponent(t *testing.T) {
	page, err := os.ReadFile("../../docs/runner-file.md")
	if err != nil {
		t.Fatal(err)
	}
	last := len(componentKinds) - 1
	want := "The kinds are `" + strings.Join(componentKinds[:last], "`, `") + "` and `" + componentKinds[last] + "`."
	if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), want) {
		t.Errorf("docs/runner-file.md does not contain: %s", want)
	}
}

// keysOf returns the TOML keys of a struct and of the tables in it.
func keysOf(of reflect.Type) []string {
	var keys []string
	for i := range of.NumField() {
		field := of.Field(i)
		key, _, _ := strings.Cut(field.Tag.Get("toml"), ",")
		if key == "" || key == "-" {
			continue
		}
		keys = append(keys, key)
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			keys = append(keys, keysOf(inner)...)
		}
	}
	return keys
}
