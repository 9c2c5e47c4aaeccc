package subprocess

import (
	"bytes"
	"errors"
)

// errTooMuch is what a program that writes gets; it does not reach people.
var errTooMuch = errors.New("too much output")

// Output stores what a program writes, up to Max bytes.
type Output struct {
	Max  int
	text bytes.Buffer
	full bool
}

// Write stores all of p or nothing.
func (o *Output) Write(p []byte) (int, error) {
	if o.text.Len()+len(p) > o.Max {
		o.full = true
		return 0, errTooMuch
	}
	return o.text.Write(p)
}

// Bytes returns what was stored.
func (o *Output) Bytes() []byte { return o.text.Bytes() }

// Exceeded reports whether there was more.
func (o *Output) Exceeded() bool { return o.full }
