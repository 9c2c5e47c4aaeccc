package redact

import (
	"strings"
	"testing"
)

// TestTheTreeIsOnePieceOfMemory bounds the number of allocations for the tree of a secret, which
// has tens of thousands of nodes. A job rebuilds the tree for each group of secrets that it adds.
func TestTheTreeIsOnePieceOfMemory(t *testing.T) {
	var s Set
	for _, secret := range []string{"aQ3-", "Zx9_", "kP71"} {
		s.Add([]byte(strings.Repeat(secret+"m0Vd4tRw2LbE8cYh", 6)))
	}
	var built *automaton
	allocations := testing.AllocsPerRun(5, func() { built = compile(s.known) })
	if len(built.nodes) < 10_000 {
		t.Fatalf("the tree has only %d nodes", len(built.nodes))
	}
	if allocations > 50 {
		t.Errorf("%d nodes took %.0f allocations", len(built.nodes), allocations)
	}
}
