package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// BenchmarkLargeDefinition reads a CRD in the style of operators that embed
// pods: some 15,000 types in one version.
func BenchmarkLargeDefinition(b *testing.B) {
	leaves := make([]string, 24)
	for i := range leaves {
		leaves[i] = fmt.Sprintf(`"field%d":{"type":"string","description":"what it is for"}`, i)
	}
	schema := `{"type":"object","properties":{` + strings.Join(leaves, ",") + `}}`
	for range 2 {
		for i := range leaves {
			leaves[i] = fmt.Sprintf(`"field%d":%s`, i, schema)
		}
		schema = `{"type":"object","properties":{` + strings.Join(leaves, ",") + `}}`
	}
	crd := []raw.Value{parse(b, widget(schema))}
	b.ReportAllocs()
	for b.Loop() {
		s, _ := Builtin().With(crd)
		if s.Find("example.com", "v1", "Widget").Field("field3") == nil {
			b.Fatal("not read")
		}
	}
}
