package terraform

import (
	"encoding/json"

	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// replacePaths reads the paths that force a replacement. Terraform writes each as a list of keys and indexes.
func replacePaths(raw [][]any) []tree.Path {
	var out []tree.Path
	for _, steps := range raw {
		var p tree.Path
		for _, s := range steps {
			switch s := s.(type) {
			case string:
				p = p.Field(s)
			case float64:
				p = p.At(int(s))
			case json.Number:
				n, _ := s.Int64()
				p = p.At(int(n))
			}
		}
		if len(p) > 0 {
			out = append(out, p)
		}
	}
	return out
}
