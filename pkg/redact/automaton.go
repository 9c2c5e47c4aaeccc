package redact

// automaton finds all forms in one pass over the text (Aho and Corasick, 1975). It is a tree of the
// forms' bytes in which each node links to the node of its longest proper suffix that is also in
// the tree.
type automaton struct {
	nodes []node
	// tables contain the children of the nodes with many children, such as the root. In ordinary
	// text, most steps use them.
	tables [][256]int32
	// begins contains, for each byte, whether a form starts with it. Most text is skipped by this
	// check alone.
	begins [256]bool
}

// node is one prefix of a form. Nearly all nodes have one child, which is stored inline; a dense
// table would take 1 KiB for each byte of a secret.
type node struct {
	child  int32
	suffix int32
	// depth is the length of the prefix.
	depth int32
	// match is the length of the longest form that ends here, or 0 for none.
	match int32
	more  map[byte]int32
	label byte
	// table is one more than the index of the node's table, or 0 for none.
	table int32
}

// manyChildren is the number of children from which a node has a table.
const manyChildren = 3

const root int32 = 0

// compile builds the automaton of non-empty forms.
func compile(forms map[string]struct{}) *automaton {
	a := &automaton{nodes: []node{{}}}
	for form := range forms {
		a.insert(form)
		a.begins[form[0]] = true
	}
	a.tabulate()
	a.link()
	return a
}

// tabulate builds the tables of the nodes with many children.
func (a *automaton) tabulate() {
	for at := range a.nodes {
		if len(a.nodes[at].more) < manyChildren-1 {
			continue
		}
		var table [256]int32
		a.eachChild(int32(at), func(b byte, child int32) { table[b] = child })
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
			a.nodes = append(a.nodes, node{depth: a.nodes[at].depth + 1})
			a.adopt(at, form[i], next)
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
	if n.child != root && n.label == b {
		return n.child
	}
	return n.more[b]
}

func (a *automaton) adopt(at int32, b byte, child int32) {
	n := &a.nodes[at]
	if n.child == root {
		n.child, n.label = child, b
		return
	}
	if n.more == nil {
		n.more = map[byte]int32{}
	}
	n.more[b] = child
}

// link sets suffix and match of every node. It goes breadth first because a node's suffix is
// shorter than the node.
func (a *automaton) link() {
	queue := []int32{root}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		a.eachChild(at, func(b byte, child int32) {
			suffix := root
			if at != root {
				suffix = a.step(a.nodes[at].suffix, b)
			}
			a.nodes[child].suffix = suffix
			a.nodes[child].match = max(a.nodes[child].match, a.nodes[suffix].match)
			queue = append(queue, child)
		})
	}
}

func (a *automaton) eachChild(at int32, visit func(byte, int32)) {
	n := a.nodes[at]
	if n.child != root {
		visit(n.label, n.child)
	}
	for b, child := range n.more {
		visit(b, child)
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
