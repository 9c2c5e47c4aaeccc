// Package hardening keeps other processes of the same user out of a process that holds keys.
//
// It owns the two settings of the operating system that do so: no core files, and no inspection. It never decides which processes
// hold keys; the programs call it first thing.
package hardening
