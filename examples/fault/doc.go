// Package fault breaks things from outside, as the world does: a proxy that loses, delays, repeats and reorders requests, and a
// finder of processes that kills exactly the one that was meant.
//
// It owns no schedule and knows nothing of the product but how its processes are called. It never changes what is in a request or
// an answer. The soak and the tests of the examples call it. Processes are found on Linux only.
package fault
