package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// The first garbage collection runs when the heap reaches relaxedPercent of 4 MiB, 32 MiB; later
// ones run with Go's default. Almost every command exits before, also a comparison of manifests of
// 4 MB, in which collections took a sixth of the time and saved 4 MiB.
const (
	relaxedPercent = 800
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
