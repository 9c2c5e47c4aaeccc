package terraform

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// step is one step into a value: a key, or the index of a list (key is empty and isIndex is set).
type step struct {
	key     string
	index   int
	isIndex bool
}

// path leads from the root of an object to a value inside it.
type path []step

func (p path) key(k string) path { return append(p[:len(p):len(p)], step{key: k}) }
func (p path) at(i int) path     { return append(p[:len(p):len(p)], step{index: i, isIndex: true}) }

// text is the path as people may see it: spec[0].name, tags["a b"]. The first key is an attribute of the provider's schema; the
// others may be keys of a map, which can hold a secret.
func (p path) text(m *diff.Masker) string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.isIndex:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case i == 0:
			b.WriteString(s.key)
		default:
			key := m.Text(s.key)
			if identifier(key) {
				b.WriteString("." + key)
			} else {
				b.WriteString("[" + strconv.Quote(key) + "]")
			}
		}
	}
	return b.String()
}

func identifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}

// overlaps says that one path is the other one or lies inside it.
func (p path) overlaps(other path) bool {
	for i := range min(len(p), len(other)) {
		if p[i] != other[i] {
			return false
		}
	}
	return true
}

// replacePaths reads the paths that force a replacement. Terraform writes each as a list of keys and indexes.
func replacePaths(raw [][]any) []path {
	var out []path
	for _, steps := range raw {
		var p path
		for _, s := range steps {
			switch s := s.(type) {
			case string:
				p = p.key(s)
			case float64:
				p = p.at(int(s))
			case json.Number:
				n, _ := s.Int64()
				p = p.at(int(n))
			}
		}
		if len(p) > 0 {
			out = append(out, p)
		}
	}
	return out
}
