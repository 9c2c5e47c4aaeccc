// Package timing derives every duration of runnerd from one constant.
//
// It owns how long the runner waits for what, and the order of these times. It never reads a clock. The loops of runnerd and the
// job process ask it; tests give it a smaller tick, and everything else shrinks along.
package timing

import "time"

// Tick is the one constant.
const Tick = time.Second

// Timing holds the durations. Each is a multiple of one tick; a test holds their order.
type Timing struct {
	// Look is how often the spool of a running job is looked at: for new states, lines and the end of the process.
	Look time.Duration
	// Gather is how long log lines are gathered before they are sent.
	Gather time.Duration
	// BackoffFirst and BackoffMost bound the pause between two tries of a call; it doubles from the first to the most, and is
	// drawn from its upper half.
	BackoffFirst, BackoffMost time.Duration
	// Beat is the time between two heartbeats. The server's lease has to be longer; when it says how long, a third of that is
	// taken if it is less.
	Beat time.Duration
	// Call is the limit of one call that is answered at once.
	Call time.Duration
	// Transfer is the limit of one call that carries a Terraform state.
	Transfer time.Duration
	// Poll is how long the server may hold a lease call open. It shows every 30 ticks that it does; PollSilence is after how long
	// without that the call is given up.
	Poll, PollSilence time.Duration
	// PollShort is Poll where the line lets no such sign through: the answer has to come before PollSilence.
	PollShort time.Duration
	// UnlockTry is how long a job process tries to free its state lock itself, before it leaves that to runnerd.
	UnlockTry time.Duration
	// ToolGrace is how long a handler may wait for what it started (Terraform, a script) after an interrupt; then it has to kill
	// it.
	ToolGrace time.Duration
	// JobGrace is how long the job process may take to end after an interrupt; then all its processes are killed.
	JobGrace time.Duration
	// KillWait is how long the processes of a job may take to vanish after SIGKILL, before that is reported.
	KillWait time.Duration
	// Rules is how often the runner file is looked at, and whether its window has opened or closed.
	Rules time.Duration
	// JobLimit is how long a job may run when nobody says how long.
	JobLimit time.Duration
	// Clear is the time between two looks for what is old, and Keep how old that is.
	Clear, Keep time.Duration
	// KeyLife is how old a runner key gets before it is replaced.
	KeyLife time.Duration
	// StopWait is how long runnerd waits for its jobs after the first signal; what still runs then goes on, and the next runnerd
	// adopts it.
	StopWait time.Duration
}

// Default is the Timing of the product.
func Default() Timing { return From(Tick) }

// From gives the Timing for a tick.
func From(tick time.Duration) Timing {
	return Timing{
		Look:         tick / 10,
		Gather:       tick / 2,
		BackoffFirst: tick / 4,
		BackoffMost:  20 * tick,
		Beat:         5 * tick,
		Call:         15 * tick,
		Transfer:     300 * tick,
		Poll:         300 * tick,
		PollSilence:  40 * tick,
		PollShort:    30 * tick,
		UnlockTry:    10 * tick,
		ToolGrace:    45 * tick,
		JobGrace:     60 * tick,
		KillWait:     10 * tick,
		StopWait:     10 * tick,
		Rules:        tick,
		JobLimit:     2 * 3600 * tick,
		Clear:        3600 * tick,
		Keep:         30 * 24 * 3600 * tick,
		KeyLife:      24 * 3600 * tick,
	}
}

// BeatWithin gives the time between two heartbeats under a lease of that length; Beat when the lease is unknown (zero).
func (t Timing) BeatWithin(lease time.Duration) time.Duration {
	if lease > 0 {
		return min(t.Beat, lease/3)
	}
	return t.Beat
}
