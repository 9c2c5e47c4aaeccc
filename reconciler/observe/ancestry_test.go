package observe

import (
	"encoding/binary"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"pgregory.net/rapid"
)

// node returns the hash of a commit of a generated history.
func node(i int) (hash plumbing.Hash) {
	binary.BigEndian.PutUint32(hash[:], uint32(i)+1)
	return hash
}

// The result of kin for a history that is cut off anywhere agrees with the whole history, or is
// unknown.
func TestKinAgreesWithTheWholeHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 14).Draw(t, "size")
		parents := make([][]plumbing.Hash, size)
		above := make([]map[int]bool, size) // ancestors, with itself
		for i := range size {
			above[i] = map[int]bool{i: true}
			for range rapid.IntRange(0, min(i, 2)).Draw(t, "parents") {
				p := rapid.IntRange(0, i-1).Draw(t, "parent")
				parents[i] = append(parents[i], node(p))
				for a := range above[p] {
					above[i][a] = true
				}
			}
		}
		hidden := rapid.SliceOfN(rapid.Bool(), size, size).Draw(t, "hidden")
		see := func(all bool) parentsOf {
			return func(hash plumbing.Hash) ([]plumbing.Hash, bool) {
				i := int(binary.BigEndian.Uint32(hash[:])) - 1
				if hidden[i] && !all {
					return nil, false
				}
				return parents[i], true
			}
		}
		before := rapid.IntRange(0, size-1).Draw(t, "before")
		now := rapid.IntRange(0, size-1).Draw(t, "now")
		truth := ancestryRewritten
		if above[now][before] {
			truth = ancestryDescends
		}
		if got := ancestryOf(node(before), node(now), see(true), 100); got != truth {
			t.Fatalf("with the whole history: got %v, want %v", got, truth)
		}
		if got := ancestryOf(node(before), node(now), see(false), 100); got != truth && got != ancestryUnknown {
			t.Fatalf("with a cut-off history: got %v, the truth is %v", got, truth)
		}
		if got := ancestryOf(node(before), node(now), see(true), 1); got != truth && got != ancestryUnknown {
			t.Fatalf("with few looks: got %v, the truth is %v", got, truth)
		}
	})
}

// For an amended commit on a long branch, kin detects the force-push without the branch's old
// history.
func TestKinOfAnAmendedCommit(t *testing.T) {
	parents := func(hash plumbing.Hash) ([]plumbing.Hash, bool) {
		if hash == node(10) || hash == node(11) {
			return []plumbing.Hash{node(9)}, true
		}
		return nil, false
	}
	if got := ancestryOf(node(10), node(11), parents, 100); got != ancestryRewritten {
		t.Fatalf("got %v, want rewritten", got)
	}
}
