package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// The garbage collector runs for the first time when the heap has relaxedPercent of 4 MiB, and then as it does in any Go program. Most
// commands end before that, and a large comparison does a quarter of the collections.
const (
	relaxedPercent = 400
	usualPercent   = 100
)

// relaxCollector puts off the first garbage collection, unless GOGC says when it runs.
func relaxCollector() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(relaxedPercent)
	runtime.SetFinalizer(&[16]byte{}, func(*[16]byte) { debug.SetGCPercent(usualPercent) })
}
