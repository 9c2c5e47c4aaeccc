package observe

import "github.com/go-git/go-git/v5/plumbing"

// kinship is how a commit that a ref points at now is related to the one before.
type kinship int

const (
	// unknown: the history that could be seen does not tell.
	unknown kinship = iota
	// descends: the ref moved forward.
	descends
	// rewritten: the commit before is proved not to be part of the new history; the ref was force-pushed.
	rewritten
)

// parentsOf gives the parents of a commit, and false when its history is not at hand.
type parentsOf func(plumbing.Hash) (parents []plumbing.Hash, known bool)

// kin tells how now is related to before, looking at no more than most commits on each side. History may be cut off anywhere (a
// shallow fetch); what an ancestor of before leads to need not be seen, since before cannot be among its ancestors.
func kin(before, now plumbing.Hash, parents parentsOf, most int) kinship {
	if before == now {
		return descends
	}
	below := ancestors(before, parents, most)
	if below[now] {
		return rewritten
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
				return descends
			case !seen[parent] && !below[parent]:
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	if cutOff {
		return unknown
	}
	return rewritten
}

// ancestors gives the nearest known ancestors of a commit, without itself.
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
