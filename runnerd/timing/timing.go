// Package timing derives every duration of runnerd from one constant.
//
// It owns how long the runner waits for each event, and the order of these durations.
// It never reads a clock. The loops of runnerd and the job process use it; tests use a smaller
// tick, which scales everything else.
package timing

import "time"

// Tick is the constant from which all durations are derived.
const Tick = time.Second

// Timing holds the durations. Each is a multiple of one tick; a test checks their order.
type Timing struct {
	// Look is how often the spool of a running job is polled for new states, new lines
	// and the end of the process.
	Look time.Duration
	// Gather is how long log lines are gathered before they are sent.
	Gather time.Duration
	// BackoffFirst and BackoffMost bound the pause between two tries of a call. It doubles from
	// the first to the most, and a random value from its upper half is used.
	BackoffFirst, BackoffMost time.Duration
	// Beat is the time between two heartbeats. The server's lease must be longer;
	// once the server has reported it, a third of the lease is used if that is less.
	Beat time.Duration
	// Call is the limit of one call that the server answers immediately.
	Call time.Duration
	// Transfer is the limit of one call that carries a Terraform state.
	Transfer time.Duration
	// Poll is how long the server may hold a lease call open. It sends a byte every 30 ticks;
	// PollSilence is the time without a byte after which the call fails.
	Poll, PollSilence time.Duration
	// PollShort replaces Poll where these bytes do not get through: the response must
	// come before PollSilence.
	PollShort time.Duration
	// UnlockTry is how long a job process tries to free its state lock itself, before it
	// leaves that to runnerd.
	UnlockTry time.Duration
	// ToolGrace is how long a handler may wait after an interrupt for the program that it
	// started (Terraform, a script). Then it has to kill it.
	ToolGrace time.Duration
	// JobGrace is how long the job process may take to end after an interrupt; then all its processes are killed.
	JobGrace time.Duration
	// KillWait is how long the processes of a job may take to disappear after SIGKILL,
	// before that is reported.
	KillWait time.Duration
	// Rules is how often the runner file, and whether its window has opened
	// or closed, is checked.
	Rules time.Duration
	// JobLimit is how long a job may run when neither its spec nor the runner file has a limit.
	JobLimit time.Duration
	// Clear is the time between two removals of old files, and Keep the age at
	// which they are removed.
	Clear, Keep time.Duration
	// KeyLife is the age at which a runner key is replaced.
	KeyLife time.Duration
	// StopWait is how long runnerd waits for its jobs after the first signal. Jobs that still
	// run continue, and the next runnerd adopts them.
	StopWait time.Duration
}

// Default is the Timing of the product.
func Default() Timing { return From(Tick) }

// From returns the Timing for a tick.
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

// BeatWithin returns the time between two heartbeats for a lease of the given length;
// Beat when the lease is unknown (zero).
func (t Timing) BeatWithin(lease time.Duration) time.Duration {
	if lease > 0 {
		return min(t.Beat, lease/3)
	}
	return t.Beat
}
