package tree

import "slices"

// PathSet is a set of paths. A lookup takes time for the steps of its path only, however many paths
// there are. The zero value is an empty set.
type PathSet struct {
	all  []Path
	root pathNode
}

// pathNode is a step of one or more paths of a set.
type pathNode struct {
	below map[stepID]*pathNode
	ends  bool // a path ends here
}

// PathsOf returns the set of some paths.
func PathsOf(paths []Path) PathSet {
	var s PathSet
	for _, p := range paths {
		s.Add(p)
	}
	return s
}

// Add adds a path.
func (s *PathSet) Add(p Path) {
	s.all = append(s.all, p)
	at := &s.root
	for _, step := range p {
		next := at.below[step.id()]
		if next == nil {
			if at.below == nil {
				at.below = map[stepID]*pathNode{}
			}
			next = &pathNode{}
			at.below[step.id()] = next
		}
		at = next
	}
	at.ends = true
}

// All returns the paths in the order in which they were added.
func (s *PathSet) All() []Path { return slices.Clone(s.all) }

// Overlaps reports whether some path of the set overlaps p; see Path.Overlaps.
func (s *PathSet) Overlaps(p Path) bool {
	at := &s.root
	for _, step := range p {
		if at.ends {
			return true
		}
		if at = at.below[step.id()]; at == nil {
			return false
		}
	}
	return at.ends || len(at.below) > 0
}
