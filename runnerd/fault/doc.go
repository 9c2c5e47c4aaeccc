// Package fault injects faults from outside the product: a proxy that loses, delays, repeats and
// reorders requests, and functions that find and kill exact processes.
//
// It owns no schedule and depends on the product only for the names of its processes. It never
// changes the content of a request or response. The soak and the tests of the examples call it.
// Processes are found on Linux only.
package fault
