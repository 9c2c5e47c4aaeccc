package observe

import "github.com/go-git/go-git/v5/plumbing"

// ancestry is the ancestry of the commit that a ref points at now, relative to the previous one.
type ancestry int

const (
	// ancestryUnknown: the visible history is not enough to decide.
	ancestryUnknown ancestry = iota
	// ancestryDescends: the ref moved forward.
	ancestryDescends
	// ancestryRewritten: the previous commit is certainly not part of the new history; the ref was
	// force-pushed.
	ancestryRewritten
)

// parentsOf returns the parents of a commit, and false if its history is not available.
type parentsOf func(plumbing.Hash) (parents []plumbing.Hash, known bool)

// ancestryOf returns how now is related to before. It visits at most the given number of commits on each
// side. The history may be cut off anywhere (a shallow fetch). The ancestors of an ancestor of
// before need not be visible, since before cannot be among them.
func ancestryOf(before, now plumbing.Hash, parents parentsOf, most int) ancestry {
	if before == now {
		return ancestryDescends
	}
	below := ancestors(before, parents, most)
	if below[now] {
		return ancestryRewritten
	}
	seen := map[plumbing.Hash]bool{now: true}
	cutOff := false
	for queue := []plumbing.Hash{now}; len(queue) > 0; queue = queue[1:] {
		next, known := parents(queue[0])
		if !known || len(seen) > most {
			cutOff = true
			continue
		}
		for _, parent := range next {
			switch {
			case parent == before:
				return ancestryDescends
			case !seen[parent] && !below[parent]:
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	if cutOff {
		return ancestryUnknown
	}
	return ancestryRewritten
}

// ancestors returns the nearest known ancestors of a commit, without the commit.
func ancestors(of plumbing.Hash, parents parentsOf, most int) map[plumbing.Hash]bool {
	found := map[plumbing.Hash]bool{}
	for queue := []plumbing.Hash{of}; len(queue) > 0 && len(found) < most; queue = queue[1:] {
		next, _ := parents(queue[0])
		for _, parent := range next {
			if !found[parent] {
				found[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	return found
}
