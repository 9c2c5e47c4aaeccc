package manifest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestTextsAreNotCopied checks that a value shares the bytes of its source.
func TestTextsAreNotCopied(t *testing.T) {
	const size = 1 << 20
	var object strings.Builder
	object.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: large\ndata:\n")
	for i := range 20 {
		fmt.Fprintf(&object, "  text-%d: %s\n", i, strings.Repeat("x", size/20))
	}
	read, err := Read([]Source{{Name: "large", Data: []byte(object.String())}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	v, err := read.Objects[0].Value()
	runtime.ReadMemStats(&after)
	if err != nil || v.IsNull() {
		t.Fatal(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > size/4 {
		t.Errorf("reading a value of %d bytes from its text allocated %d bytes", size, took)
	}
}

// TestValuesTakeLittleMemory checks that reading the schema of a custom resource, which consists of
// many small objects, takes a few times as much memory as its text.
func TestValuesTakeLittleMemory(t *testing.T) {
	var definition strings.Builder
	definition.WriteString("apiVersion: v1\nkind: Schema\nmetadata:\n  name: large\nproperties:\n")
	for i := range 10_000 {
		fmt.Fprintf(&definition, "  property%05d:\n    maxLength: 63\n    type: string\n", i)
	}
	size := uint64(definition.Len())
	read, err := Read([]Source{{Name: "large", Data: []byte(definition.String())}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	v, err := read.Objects[0].Value()
	runtime.ReadMemStats(&after)
	if err != nil || v.IsNull() {
		t.Fatal(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 6*size {
		t.Errorf("reading a value of %d bytes allocated %d bytes", size, took)
	}
}

// TestPrintable checks each character at each offset of a word, also beside others.
func TestPrintable(t *testing.T) {
	plain := strings.Repeat("a: b\n", 8)
	for c := range 256 {
		want := c == '\t' || c == '\n' || c >= ' ' && c < 0x7f
		for at := range len(plain) {
			text := []byte(plain)
			text[at] = byte(c)
			if got := printableYAML(text); got != want {
				t.Fatalf("%#x at %d: %v", c, at, got)
			}
			text[(at+1)%len(text)] = ' '
			if got := printableYAML(text); got != want {
				t.Fatalf("%#x before a space at %d: %v", c, at, got)
			}
		}
	}
	for text, want := range map[string]bool{
		"a: \u00e4": true, "a: \u0085": false, "a: \ufffe": false, "a: \ufeff": true, "a: \U0001F600": true, "": true,
	} {
		if got := printableYAML([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
