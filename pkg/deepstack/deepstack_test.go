package deepstack

import (
	"testing"
	"unsafe"
)

// TestReserve checks that a stack does not move any more when calls become deeper.
func TestReserve(t *testing.T) {
	moved := make(chan bool)
	go func() {
		Reserve()
		var local byte
		before := uintptr(unsafe.Pointer(&local))
		deep(room / frameSize / 2)
		moved <- before != uintptr(unsafe.Pointer(&local))
	}()
	if <-moved {
		t.Error("the stack was moved")
	}
}

const frameSize = 512

// deep calls itself, with a frame of somewhat more than frameSize bytes.
//
//go:noinline
func deep(more int) byte {
	var frame [frameSize]byte
	if more > 0 {
		frame[more%frameSize] = deep(more - 1)
	}
	return frame[0]
}
