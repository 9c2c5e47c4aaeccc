// Package contact is how runnerd and its job processes call the control plane.
//
// It owns what an answer means (done, try again, never), the pauses between tries, how long a call that is held open may be quiet,
// and the one log line when contact is lost and the one when it is back.
//
// It never decides what to call, and never gives up by itself: the caller's context does. The loops of runnerd and the job
// process use it.
package contact
