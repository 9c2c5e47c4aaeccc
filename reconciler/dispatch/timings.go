package dispatch

import "time"

// Lease is the constant from which all timings of this package derive: an attempt belongs to its
// runner for so long without a heartbeat. A runner that sends one every Heartbeat may miss several
// before contact counts as lost.
const Lease = 60 * time.Second

// The timings and their relations to each other, which a test checks.
const (
	// PollBeat is the interval between the keepalive bytes that show a waiting runner that its poll
	// is held. Each byte sent is a sign that the runner is present, so PollBeat is shorter than
	// Online. The OpenAPI document states it for clients.
	PollBeat = Lease / 2
	// pollTick is the grid to which the keepalives of all polls are aligned: thousands of waiting
	// polls wake this process twice a second instead of once each.
	pollTick = PollBeat / 60
	// LongestPoll is how long a poll for work is held. It is many keepalives, because each poll
	// costs queries, and it is finite, because behind a proxy only another poll shows that the
	// runner is still present.
	LongestPoll = 5 * Lease
	// pollSpread is how much earlier a poll may end, so that polls that started together do not
	// return together.
	pollSpread = Lease
	// Heartbeat is the interval at which a runner sends heartbeats: several fit into a lease, so
	// that a lost one does no harm.
	Heartbeat = Lease / 6
	// AcceptWithin is the time to accept that an offer states to its runner.
	AcceptWithin = Lease / 6
	// offerLife is the time after which an offer is withdrawn. It exceeds AcceptWithin by the time
	// that the runner's request may travel.
	offerLife = Lease / 4
	// touchEvery is the minimum interval between writes of a runner's last_seen. It is short enough
	// for Online.
	touchEvery = Lease / 12
	// Online is how long a runner counts as online after it was last seen.
	Online = Lease
	// registrationLife is how long a registration token can be used.
	registrationLife = 60 * Lease
	// lateDelivery is how long after its end an attempt's token can still deliver: longer than a
	// machine may be away before it comes back with results, but finite.
	lateDelivery = 30 * 24 * 60 * Lease
	// streamBeat is the interval at which a quiet stream sends a comment, so that no proxy closes
	// it.
	streamBeat = Lease / 4
	// streamWrite is how long a client may take to read what it was sent before it is disconnected.
	streamWrite = Lease / 2
)
