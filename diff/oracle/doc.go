// Package oracle has tests only: an independent comparison of two objects, written from the rules of the Kubernetes API, and a check that
// diff/kubernetes reports what it finds and nothing else.
//
// It uses nothing of the engine but its report. What a field means is written down here once more, by hand, from the API reference; objects
// are drawn from that.
package oracle
