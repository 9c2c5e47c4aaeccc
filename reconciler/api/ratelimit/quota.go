// Package ratelimit limits the request rate, the open streams and the bodies in memory per caller, so that a broken
// program or somebody who guesses tokens does not affect other callers. It counts these by caller, failed
// authentications with a genuine token (package token) by that token, and other failed
// authentications by address, in memory and per replica. It makes no authorization decisions. The
// control API and the runner API call it before they look up a token.
package ratelimit

import (
	"crypto/sha256"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
)

// Options are the limits. The zero value has generous ones, which a busy client does not reach.
type Options struct {
	// Rate is the sustained number of requests a second for one caller, and Burst the number at
	// once; zero means DefaultRate, and ten times the rate.
	Rate  float64
	Burst int
	// Streams is the number of streams that one caller may have open at once; zero means
	// DefaultStreams.
	Streams int
	// EachBodies and AllBodies are how many bytes of the bodies of requests may be in memory at once, of one
	// caller and of all; zero means DefaultEachBodies and DefaultAllBodies. Neither may be less than the largest
	// body of a route.
	EachBodies, AllBodies int64
	// BehindProxy reads the client's address from the last entry of X-Forwarded-For, which the
	// proxy in front of this listener must set. Without it all clients of a proxy count as one
	// address.
	BehindProxy bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// DefaultRate is the sustained number of requests a second for one caller.
const DefaultRate = 200

// DefaultStreams is the number of streams that one caller may have open at once. A nuon command opens one
// or two.
const DefaultStreams = 100

// streamPause is when a client whose stream or body was refused may try again.
const streamPause = 5 * time.Second

// Limits of failed authentications of one address without a genuine token, and of one genuine
// token. A person who mistypes does not reach them.
const (
	strangerRate  = 10 // a second
	strangerBurst = 300
)

// maxEntries bounds each of the tables. A dropped entry does no harm: the next request adds the
// caller again.
const maxEntries = 1 << 16

// Quota counts requests. It is safe for concurrent use.
type Quota struct {
	options Options

	mu        sync.Mutex
	callers   map[string]*rate.Limiter            // by authenticated caller
	known     map[[sha256.Size]byte]*rate.Limiter // by credential, to reject without a lookup
	void      map[[sha256.Size]byte]*rate.Limiter // by genuine token that authenticated nobody
	strangers map[string]*rate.Limiter            // by address
	streams   map[string]int                      // open ones by authenticated caller, without zeros

	bodies *bodies
}

// New returns an empty quota.
func New(o Options) *Quota {
	if o.Rate <= 0 {
		o.Rate = DefaultRate
	}
	if o.Burst <= 0 {
		o.Burst = int(math.Ceil(10 * o.Rate))
	}
	if o.Streams <= 0 {
		o.Streams = DefaultStreams
	}
	if o.EachBodies <= 0 {
		o.EachBodies = DefaultEachBodies
	}
	if o.AllBodies <= 0 {
		o.AllBodies = DefaultAllBodies
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Quota{
		options: o, callers: map[string]*rate.Limiter{}, known: map[[sha256.Size]byte]*rate.Limiter{},
		void: map[[sha256.Size]byte]*rate.Limiter{}, strangers: map[string]*rate.Limiter{},
		streams: map[string]int{}, bodies: &bodies{each: o.EachBodies, all: o.AllBodies, held: map[string]int64{}},
	}
}

// Admit reports whether to process a request with a credential; else the error is a problem with
// the time to wait. A credential that was valid before counts for its caller alone, and a genuine
// but void token for itself alone. Any other credential is rejected while its address has too
// many failures. Guesses are never genuine tokens, so they do not affect genuine ones from the
// same address.
func (q *Quota) Admit(credential string, genuine bool, r *http.Request) error {
	now, sum := q.options.Now(), sha256.Sum256([]byte(credential))
	q.mu.Lock()
	defer q.mu.Unlock()
	if limit, known := q.known[sum]; known {
		reserved := limit.ReserveN(now, 1)
		if wait := reserved.DelayFrom(now); wait > 0 {
			reserved.CancelAt(now)
			return TooMany{Wait: wait, Who: "this token"}
		}
		return nil
	}
	limit, who := q.void[sum], "this token, which is not valid,"
	if !genuine {
		limit, who = q.strangers[q.Address(r)], "requests from this address without a valid token"
	}
	if limit != nil {
		if owed := 1 - limit.TokensAt(now); owed > 0 {
			return TooMany{Wait: time.Duration(owed / strangerRate * float64(time.Second)), Who: who}
		}
	}
	return nil
}

// Good records the caller of a valid credential. All credentials of one caller share its limit.
func (q *Quota) Good(credential, caller string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	limit := q.callers[caller]
	if limit == nil {
		limit = rate.NewLimiter(rate.Limit(q.options.Rate), q.options.Burst)
		room(q.callers, q.options.Now())
		q.callers[caller] = limit
	}
	sum := sha256.Sum256([]byte(credential))
	delete(q.void, sum)
	if q.known[sum] != limit {
		room(q.known, q.options.Now())
		q.known[sum] = limit
	}
}

// OpenStream counts a stream, or a request that waits, of a caller until release is called. It returns a problem
// if the caller has too many open.
func (q *Quota) OpenStream(caller string) (release func(), err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.streams[caller] >= q.options.Streams {
		return nil, q.tooManyStreams()
	}
	q.streams[caller]++
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.streams[caller]--; q.streams[caller] == 0 {
			delete(q.streams, caller)
		}
	}), nil
}

func (q *Quota) tooManyStreams() error {
	return tooMany("too_many_streams",
		strconv.Itoa(q.options.Streams)+" streams of this client are open, which is the limit",
		"End a command that follows a workflow, a log or a shell, or try again later.", streamPause)
}

// tooMany returns the problem of a request over a limit, which the client may repeat after wait, in whole seconds.
func tooMany(code, title, remedy string, wait time.Duration) problem.Error {
	e := problem.New(http.StatusTooManyRequests, code, title, remedy)
	e.RetryAfter = int(wait.Seconds())
	return e
}

// Bad records that a credential is not valid, or no longer.
func (q *Quota) Bad(credential string, genuine bool, r *http.Request) {
	now, sum := q.options.Now(), sha256.Sum256([]byte(credential))
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.known, sum)
	if genuine {
		owe(q.void, sum, now)
	} else {
		owe(q.strangers, q.Address(r), now)
	}
}

// owe counts one failure.
func owe[K comparable](table map[K]*rate.Limiter, key K, now time.Time) {
	limit := table[key]
	if limit == nil {
		limit = rate.NewLimiter(strangerRate, strangerBurst)
		room(table, now)
		table[key] = limit
	}
	limit.AllowN(now, 1)
}

// room makes room in a full table. It removes idle entries first. If that does not free half of
// it, it clears the table: with so many active entries at once, no single one is the problem.
func room[K comparable](table map[K]*rate.Limiter, now time.Time) {
	if len(table) < maxEntries {
		return
	}
	for key, limit := range table {
		if limit.TokensAt(now) >= float64(limit.Burst()) {
			delete(table, key)
		}
	}
	if len(table) > maxEntries/2 {
		clear(table)
	}
}

// Address returns the address of a request as it is counted: an IPv4 address, or the /64 network
// of an IPv6 address, which is what a provider assigns to one customer.
func (q *Quota) Address(r *http.Request) string {
	text := r.RemoteAddr
	if q.options.BehindProxy {
		entries := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if last := strings.TrimSpace(entries[len(entries)-1]); last != "" {
			text = last
		}
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		with, err := netip.ParseAddrPort(text)
		if err != nil {
			return "unknown"
		}
		ip = with.Addr()
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, _ := ip.Prefix(64) // 64 is valid for every IPv6 address
	return network.String()
}

// TooMany is the error for a request over a limit.
type TooMany struct {
	Wait time.Duration // until the next request is admitted
	Who  string        // the caller over the limit, for the message
}

// Error returns the message of the problem.
func (t TooMany) Error() string { return t.problem().Error() }

// Unwrap returns the problem for the client.
func (t TooMany) Unwrap() error { return t.problem() }

// Seconds returns the time to wait in whole seconds, at least one.
func (t TooMany) Seconds() int { return max(1, int(math.Ceil(t.Wait.Seconds()))) }

func (t TooMany) problem() problem.Error {
	return tooMany("too_many_requests", t.Who+" exceeded the rate limit",
		"Try again after "+strconv.Itoa(t.Seconds())+" s (see the header Retry-After).",
		time.Duration(t.Seconds())*time.Second)
}
