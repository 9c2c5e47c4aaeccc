package redact

// automaton finds all forms in one pass over the text (Aho and Corasick, 1975). It is a tree of the
// forms' bytes in which each node links to the node of its longest proper suffix that is also in
// the tree.
type automaton struct {
	nodes []node
	// tables contain the children of the nodes with many children, such as the root. In ordinary
	// text, most steps use them.
	tables [][256]int32
	// starts contains, for each byte, whether a form starts with it. Most text is skipped by this
	// check alone.
	starts [256]bool
}

// node is one prefix of a form. It contains no pointer, so the garbage collector does not scan the
// tree. A dense table in each would take 1 KiB for each byte of a secret.
type node struct {
	// child is the first child and sibling the next child of the same parent, or root for none.
	child, sibling int32
	suffix         int32
	// depth is the length of the prefix.
	depth int32
	// match is the length of the longest form that ends here, or 0 for none.
	match int32
	// table is one more than the index of the node's table, or 0 for none.
	table int32
	// label is the last byte of the prefix.
	label byte
}

// tableThreshold is the number of children from which a node has a table.
const tableThreshold = 3

const root int32 = 0

// compile builds the automaton of non-empty forms.
func compile(forms map[string]struct{}) *automaton {
	maxNodes := 1 // one node for each byte, if no two forms start alike
	for form := range forms {
		maxNodes += len(form)
	}
	a := &automaton{nodes: make([]node, 1, maxNodes)}
	for form := range forms {
		a.insert(form)
		a.starts[form[0]] = true
	}
	a.buildTables()
	a.link()
	return a
}

// buildTables builds the tables of the nodes with many children.
func (a *automaton) buildTables() {
	for at := range a.nodes {
		many := 0
		for child := a.nodes[at].child; child != root; child = a.nodes[child].sibling {
			many++
		}
		if many < tableThreshold {
			continue
		}
		var table [256]int32
		for child := a.nodes[at].child; child != root; child = a.nodes[child].sibling {
			table[a.nodes[child].label] = child
		}
		a.tables = append(a.tables, table)
		a.nodes[at].table = int32(len(a.tables))
	}
}

func (a *automaton) insert(form string) {
	at := root
	for i := range len(form) {
		next := a.child(at, form[i])
		if next == root {
			next = int32(len(a.nodes))
			parent := &a.nodes[at]
			a.nodes = append(a.nodes, node{label: form[i], sibling: parent.child, depth: parent.depth + 1})
			a.nodes[at].child = next
		}
		at = next
	}
	a.nodes[at].match = int32(len(form))
}

// child returns the child of node at for a byte, or root if there is none.
func (a *automaton) child(at int32, b byte) int32 {
	n := &a.nodes[at]
	if n.table > 0 {
		return a.tables[n.table-1][b]
	}
	child := n.child
	for child != root && a.nodes[child].label != b {
		child = a.nodes[child].sibling
	}
	return child
}

// link sets suffix and match of every node. It goes breadth first because a node's suffix is
// shorter than the node.
func (a *automaton) link() {
	queue := make([]int32, 1, len(a.nodes)) // the root
	for next := 0; next < len(queue); next++ {
		at := queue[next]
		for child := a.nodes[at].child; child != root; child = a.nodes[child].sibling {
			n, suffix := &a.nodes[child], root
			if at != root {
				suffix = a.step(a.nodes[at].suffix, n.label)
			}
			n.suffix = suffix
			n.match = max(n.match, a.nodes[suffix].match)
			queue = append(queue, child)
		}
	}
}

// step returns the state after one more byte: the longest suffix of the text so far that is a
// prefix of a form.
func (a *automaton) step(state int32, b byte) int32 {
	for {
		if next := a.child(state, b); next != root {
			return next
		}
		if state == root {
			return root
		}
		state = a.nodes[state].suffix
	}
}
