package dev

// tellsOrphans reports whether the kernel signals a child when its parent dies.
func tellsOrphans() bool { return childAttributes().Pdeathsig != 0 }
