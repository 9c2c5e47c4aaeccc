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
	// PollInterval is how often the spool of a running job is polled for new states, new lines
	// and the end of the process.
	PollInterval time.Duration
	// BatchInterval is how long log lines are gathered before they are sent.
	BatchInterval time.Duration
	// BackoffMin and BackoffMax bound the pause between two tries of a call. It doubles from
	// the first to the most, and a random value from its upper half is used.
	BackoffMin, BackoffMax time.Duration
	// HeartbeatInterval is the time between two heartbeats. The server's lease must be longer;
	// once the server has reported it, a third of the lease is used if that is less.
	HeartbeatInterval time.Duration
	// CallTimeout is the limit of one call that the server answers immediately.
	CallTimeout time.Duration
	// TransferTimeout is the limit of one call that carries a Terraform state.
	TransferTimeout time.Duration
	// LongPoll is how long the server may hold a lease call open. It sends a byte every 30 ticks;
	// LongPollSilence is the time without a byte after which the call fails.
	LongPoll, LongPollSilence time.Duration
	// ShortPoll replaces LongPoll where these bytes do not get through: the response must
	// come before LongPollSilence.
	ShortPoll time.Duration
	// UnlockTimeout is how long a job process tries to free its state lock itself, before it
	// leaves that to runnerd.
	UnlockTimeout time.Duration
	// ToolGrace is how long a handler may wait after an interrupt for the program that it
	// started (Terraform, a script). Then it has to kill it.
	ToolGrace time.Duration
	// JobGrace is how long the job process may take to end after an interrupt; then all its processes are killed.
	JobGrace time.Duration
	// PodStart is how long the pod of a job may take to start, before the job fails.
	PodStart time.Duration
	// KillWait is how long the processes of a job may take to disappear after SIGKILL,
	// before that is reported.
	KillWait time.Duration
	// PolicyInterval is how often the runner file, and whether its window has opened
	// or closed, is checked.
	PolicyInterval time.Duration
	// RoleInterval is how often a role is tried again that the cloud does not let the runner use.
	RoleInterval time.Duration
	// StackInterval is how often the outputs of the stack are read from the machine, which reports them when they change.
	StackInterval time.Duration
	// JobLimit is how long a job may run when neither its spec nor the runner file has a limit.
	JobLimit time.Duration
	// CleanupInterval is the time between two removals of old files, and MaxAge the age at
	// which they are removed.
	CleanupInterval, MaxAge time.Duration
	// KeyMaxAge is the age at which a runner key is replaced.
	KeyMaxAge time.Duration
	// StopWait is how long runnerd waits for its jobs after the first signal. Jobs that still
	// run continue, and the next runnerd adopts them.
	StopWait time.Duration
}

// Default is the Timing of the product.
func Default() Timing { return From(Tick) }

// From returns the Timing for a tick.
func From(tick time.Duration) Timing {
	return Timing{
		PollInterval:      tick / 10,
		BatchInterval:     tick / 2,
		BackoffMin:        tick / 4,
		BackoffMax:        20 * tick,
		HeartbeatInterval: 5 * tick,
		CallTimeout:       15 * tick,
		TransferTimeout:   300 * tick,
		LongPoll:          300 * tick,
		LongPollSilence:   40 * tick,
		ShortPoll:         30 * tick,
		UnlockTimeout:     10 * tick,
		ToolGrace:         45 * tick,
		JobGrace:          60 * tick,
		PodStart:          600 * tick,
		KillWait:          10 * tick,
		StopWait:          10 * tick,
		PolicyInterval:    tick,
		RoleInterval:      15 * tick,
		StackInterval:     15 * tick,
		JobLimit:          2 * 3600 * tick,
		CleanupInterval:   3600 * tick,
		MaxAge:            30 * 24 * 3600 * tick,
		KeyMaxAge:         24 * 3600 * tick,
	}
}

// HeartbeatFor returns the time between two heartbeats for a lease of the given length;
// HeartbeatInterval when the lease is unknown (zero).
func (t Timing) HeartbeatFor(lease time.Duration) time.Duration {
	if lease > 0 {
		return min(t.HeartbeatInterval, lease/3)
	}
	return t.HeartbeatInterval
}
