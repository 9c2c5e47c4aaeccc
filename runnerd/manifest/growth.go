package manifest

import goyaml "go.yaml.in/yaml/v3"

// sizeOf is what a document comes to when its aliases are written out, in bytes, or more than maxDocument. Who decodes it counts only how many values it makes, so
// that a few thousand aliases of one long text would be gigabytes. Text that is no YAML has none: who decodes it says so better.
func sizeOf(text string) int {
	var root goyaml.Node
	if err := goyaml.Unmarshal([]byte(text), &root); err != nil {
		return 0
	}
	return growth{}.of(&root, 0)
}

// growth is what the anchors of a document come to, in bytes.
type growth map[*goyaml.Node]int

// of gives the size of a node with all that is below it, or more than may be. An anchor that holds itself has no end.
func (g growth) of(n *goyaml.Node, depth int) int {
	if depth > maxNested {
		return maxDocument + 1
	}
	if n.Kind == goyaml.AliasNode {
		n = n.Alias
	}
	if size, known := g[n]; known {
		return size
	}
	if n.Anchor != "" {
		g[n] = maxDocument + 1
	}
	size := len(n.Value)
	for _, child := range n.Content {
		if size += g.of(child, depth+1) + 1; size > maxDocument {
			size = maxDocument + 1
			break
		}
	}
	if n.Anchor != "" {
		g[n] = size
	}
	return size
}
