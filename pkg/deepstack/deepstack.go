// Package deepstack gives goroutines a large stack at once.
//
// A new goroutine has a stack of 2 KiB, which is copied to one twice as large whenever it is too
// small. Each copy reads the tables of all functions that are on the stack from the program file.
// Of a process that starts a few goroutines with deep calls and exits, those pages were a tenth of
// the memory and of the page faults.
package deepstack

// room is the memory that a stack has at least after Reserve, in bytes: more than a comparison of
// manifests needs.
const room = 20 << 10

// Reserve grows the stack of the calling goroutine. Call it first in a goroutine with deep calls.
//
//go:noinline
func Reserve() {
	var frame [room]byte
	use(&frame)
}

//go:noinline
func use(frame *[room]byte) { frame[0] = 1 }
