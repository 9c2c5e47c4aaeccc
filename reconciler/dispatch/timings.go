package dispatch

import "time"

// Lease is the one constant that all timings of this package derive from: for so long an attempt is its runner's without a word.
// A runner that is asked to beat every Heartbeat may miss several beats before contact counts as lost.
const Lease = 60 * time.Second

// The timings, each with what it must stand in relation to; a test holds their order.
const (
	// PollBeat is how often a runner that waits for work is shown that its poll is held, by a byte. Each byte that goes out is a
	// sign that it is there, so it is shorter than Online. The API's document tells it to clients.
	PollBeat = Lease / 2
	// pollTick is the grid that the beats of all polls are put on: thousands that wait wake this program twice a second, and not
	// each by itself.
	pollTick = PollBeat / 60
	// LongestPoll is how long a poll for work is held. What a poll costs is asked for that often, so it is many beats; and it is
	// not for ever, because where a proxy stands between, only another poll shows that the runner is still there.
	LongestPoll = 5 * Lease
	// pollSpread is how much earlier a poll may end, so that those which began together do not come back together.
	pollSpread = Lease
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
