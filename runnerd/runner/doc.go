// Package runner is runnerd at work: it registers once, leases jobs, gives each its own process, looks after these processes, and
// delivers what they leave in the spool.
//
// It owns the loops (a file each): lease asks for work, heartbeat keeps the leases and brings cancels, rules follows the runner
// file, keys changes the runner key, children ends what dead jobs have left, clear removes what is old, and each attempt has one
// that watches its process and one that ships. What an attempt needs next is read from its spool directory and its process, never
// remembered, so a runnerd that was killed is simply started again.
//
// It does no work itself, opens no secret, and reads of a spec only its time limit and install; what a killed job left behind it
// hands to Options.Settle. The runnerd command calls Run.
package runner
