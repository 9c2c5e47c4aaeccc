package dispatch

import "time"

// Lease is the one constant that all timings of this package derive from: for so long an attempt is its runner's without a word.
// A runner that is asked to beat every Heartbeat may miss several beats before contact counts as lost.
const Lease = 60 * time.Second

// The timings, each with what it must stand in relation to; a test holds their order.
const (
	// LongestPoll is how long a lease request waits for work. A waiting runner is heard of that often, so it is shorter than
	// Online.
	LongestPoll = Lease / 2
	// Heartbeat is what a runner is expected to keep to: several fit into a lease, so that one lost on the way does no harm.
	Heartbeat = Lease / 6
	// AcceptWithin is what a runner is told of an offer.
	AcceptWithin = Lease / 6
	// offerLife is when an offer is withdrawn: later than the runner was told, for the time that its answer travels.
	offerLife = Lease / 4
	// touchEvery is how often a runner's last_seen is written at most: more often than anybody needs it to tell Online.
	touchEvery = Lease / 12
	// Online is how long a runner counts as there after it was last heard of.
	Online = Lease
	// registrationLife is how long a registration token can be used.
	registrationLife = 60 * Lease
	// lateDelivery is for how long after its end an attempt's token still delivers: longer than a machine may be away that comes back
	// with what it did, and not for ever.
	lateDelivery = 30 * 24 * 60 * Lease
	// streamBeat is how often a quiet stream sends a comment, so that nobody between takes it for dead.
	streamBeat = Lease / 4
	// streamWrite is how long a follower may take to read what it was sent before it is let go.
	streamWrite = Lease / 2
)
