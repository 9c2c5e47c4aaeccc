// Package timing holds the timings of the contact between the control plane and its runners. They
// all derive from one constant, Lease, and a test checks their order. The packages jobs, runners and
// joblog and the APIs use them.
package timing

import "time"

// Lease is the constant from which all timings of this package derive: an attempt belongs to its
// runner for so long without a heartbeat. A runner that sends one every Heartbeat may miss several
// before contact counts as lost.
const Lease = 60 * time.Second

// The timings and their relations to each other, which a test checks.
const (
	// PollKeepalive is the interval between the keepalive bytes that show a waiting runner that its poll
	// is held. Each byte sent is a sign that the runner is present, so PollKeepalive is shorter than
	// Online. The OpenAPI document states it for clients.
	PollKeepalive = Lease / 2
	// PollTick is the grid to which the keepalives of all polls are aligned: thousands of waiting
	// polls wake this process twice a second instead of once each.
	PollTick = PollKeepalive / 60
	// LongestPoll is how long a poll for work is held. It is many keepalives, because each poll
	// costs queries, and it is finite, because behind a proxy only another poll shows that the
	// runner is still present.
	LongestPoll = 5 * Lease
	// PollSpread is how much earlier a poll may end, so that polls that started together do not
	// return together.
	PollSpread = Lease
	// Heartbeat is the interval at which a runner sends heartbeats: several fit into a lease, so
	// that a lost one does no harm.
	Heartbeat = Lease / 6
	// AcceptWithin is the time to accept that an offer states to its runner.
	AcceptWithin = Lease / 6
	// OfferLife is the time after which an offer is withdrawn. It exceeds AcceptWithin by the time
	// that the runner's request may travel.
	OfferLife = Lease / 4
	// SeenInterval is the minimum interval between writes of a runner's last_seen. It is short enough
	// for Online.
	SeenInterval = Lease / 12
	// Online is how long a runner counts as online after it was last seen.
	Online = Lease
	// RegistrationLife is how long a registration token can be used.
	RegistrationLife = 60 * Lease
	// NonceLife is how long a nonce for a cloud identity can be used: the clocks of AWS allow a signed
	// request as much.
	NonceLife = 5 * Lease
	// KeyMinAge is the minimum time between two changes of a runner key, of which the audit log keeps a
	// record forever. A runner changes its key once a day.
	KeyMinAge = 60 * Lease
	// LateDelivery is how long after its end an attempt's token can still deliver: longer than a
	// machine may be away before it comes back with results, but finite.
	LateDelivery = 30 * 24 * 60 * Lease
	// StreamKeepalive is the interval at which a quiet stream sends a comment, so that no proxy closes
	// it.
	StreamKeepalive = Lease / 4
	// StreamWrite is how long a client may take to read what it was sent before it is disconnected.
	StreamWrite = Lease / 2
	// PollRefresh is the interval after which a runner without notifications is queried again, at a
	// keepalive of a held poll or when it polls.
	PollRefresh = 10 * Lease
	// PollMemory is how long a runner that has stopped polling is remembered.
	PollMemory = Lease
)
