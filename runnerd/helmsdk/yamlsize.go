package helmsdk

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Bounds of YAML with expanded aliases, and of its nesting. A parser that counts only
// nodes lets a short text with many aliases to one long string become gigabytes.
const (
	maxGrown = 32 << 20
	maxDepth = 200
)

// guard returns an error if one YAML document is unsafe to parse. Text that is not
// YAML passes: its reader returns a better error.
func guard(name string, content []byte) error { return (&budget{most: maxGrown}).guard(name, content) }

// budget is shared by documents that are held in memory together: each of thousands
// could expand to the limit of one. Both are in bytes.
type budget struct{ most, grown int }

func (b *budget) guard(name string, content []byte) error {
	var root yaml.Node
	if err := yaml.Unmarshal(content, &root); err != nil {
		return nil //nolint:nilerr // see above
	}
	g := growth{sizes: map[*yaml.Node]int{}}
	size := g.sizeOf(&root, 0)
	if b.grown += size; size > maxGrown || b.grown > b.most {
		return fmt.Errorf(
			"%s: with its aliases written out, this YAML is deeper than %d levels or larger than %d MiB, or with those before "+
				"it larger than %d MiB; "+
				"write it without so many aliases (*name)", name, maxDepth, maxGrown>>20, b.most>>20)
	}
	return nil
}

// growth computes the expanded size of a node, each anchor once.
type growth struct {
	sizes map[*yaml.Node]int
}

// sizeOf returns the size of a node in bytes, or more than maxGrown. An anchor that
// contains itself counts as unbounded.
func (g growth) sizeOf(n *yaml.Node, depth int) int {
	if depth > maxDepth {
		return maxGrown + 1
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Anchor != "" {
		if size, known := g.sizes[n]; known {
			return size
		}
		g.sizes[n] = maxGrown + 1
	}
	size := len(n.Value) + 4
	for _, child := range n.Content {
		if size += g.sizeOf(child, depth+1); size > maxGrown {
			size = maxGrown + 1
			break
		}
	}
	if n.Anchor != "" {
		g.sizes[n] = size
	}
	return size
}
