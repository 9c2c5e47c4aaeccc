// Package runner is the runner daemon: it registers once, leases jobs, runs each in a separate
// process or pod (executor.go), supervises these, and delivers what they leave in the spool.
//
// It owns the loops (one file each): lease polls for work, heartbeat renews the leases
// and receives cancellations, rules follows the runner file, keys rotates the runner key,
// children ends processes that dead jobs have left, cleanup removes old files, plugincache
// removes provider caches that jobs have filled, and each attempt has one loop that supervises
// its process and one that ships. An attempt's next step is derived from its spool directory and
// its process, never from memory, so a runnerd that was killed is simply started again.
//
// It never does a job's work, opens no secret, and reads only the time limit
// and the install of a spec; it passes what a killed job left behind to Options.FinishKilled.
// The runnerd command calls Run.
package runner
