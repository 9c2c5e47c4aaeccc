package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// The first garbage collection runs when the heap reaches relaxedPercent of 4 MiB; later
// ones run with Go's default. Most commands exit before the first collection, and a large
// comparison runs a quarter as many collections.
const (
	relaxedPercent = 400
	usualPercent   = 100
)

// relaxCollector delays the first garbage collection, unless GOGC is set.
func relaxCollector() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(relaxedPercent)
	runtime.SetFinalizer(&[16]byte{}, func(*[16]byte) { debug.SetGCPercent(usualPercent) })
}
