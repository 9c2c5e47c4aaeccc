// Package testbuffer has a buffer for the output of what runs beside a test. Only tests and test rigs use it.
package testbuffer

import (
	"bytes"
	"sync"
)

// Buffer stores what is written to it. It can be read while it is written. The zero value is empty.
type Buffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

// Write appends to the buffer. It never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(p)
}

// String returns what was written until now.
func (b *Buffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}
