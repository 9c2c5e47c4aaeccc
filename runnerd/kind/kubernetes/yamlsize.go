package kubernetes

import goyaml "go.yaml.in/yaml/v3"

// sizeOf returns the size of a document with its aliases expanded, in bytes, or more than
// maxDocument. The YAML decoder limits only the number of values, so that a few thousand
// aliases of one long text would be gigabytes. For invalid YAML it returns 0, because
// the decoder has a better error.
func sizeOf(text string) int {
	var root goyaml.Node
	if err := goyaml.Unmarshal([]byte(text), &root); err != nil {
		return 0
	}
	return growth{}.sizeOf(&root, 0)
}

// growth maps the anchors of a document to their sizes, in bytes.
type growth map[*goyaml.Node]int

// sizeOf returns the size of a node with everything below it, or more than the limit.
// An anchor that contains itself exceeds the limit.
func (g growth) sizeOf(n *goyaml.Node, depth int) int {
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
		if size += g.sizeOf(child, depth+1) + 1; size > maxDocument {
			size = maxDocument + 1
			break
		}
	}
	if n.Anchor != "" {
		g[n] = size
	}
	return size
}
