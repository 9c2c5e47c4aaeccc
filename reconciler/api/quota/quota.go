// Package quota bounds how much one caller may ask of the control plane, so that a program gone wrong, or somebody who guesses at
// tokens, takes nothing from the others. It counts requests by caller, failed authentications with a genuine token (package token) by
// that token, and those with anything else by address, in memory and per replica. It decides nobody's rights. The control API and the runner API ask it before they look a token up.
package quota

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

// Options are the bounds. The zero value has generous ones: a busy client does not come near them.
type Options struct {
	// Rate is how many requests a second one caller may make for long, and Burst how many at once; zero means DefaultRate, and ten
	// times the rate.
	Rate  float64
	Burst int
	// BehindProxy takes the client's address from the last entry of X-Forwarded-For, which the proxy in front of this listener must
	// set. Without it a proxy's clients count as one address.
	BehindProxy bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// DefaultRate is how many requests a second one caller may make for long.
const DefaultRate = 200

// Failed authentications of one address without a genuine token, and of one genuine token: a person who mistypes stays below.
const (
	strangerRate  = 10 // a second
	strangerBurst = 300
)

// mostKept bounds each of the tables. What is dropped from one is only forgotten: a caller is known again at the next request.
const mostKept = 1 << 16

// Quota counts. It is safe for concurrent use.
type Quota struct {
	options Options

	mu        sync.Mutex
	callers   map[string]*rate.Limiter            // by who was found to call
	known     map[[sha256.Size]byte]*rate.Limiter // by what they showed, so that nothing need be looked up to refuse them
	void      map[[sha256.Size]byte]*rate.Limiter // by a genuine token that opened nothing
	strangers map[string]*rate.Limiter            // by address
}

// New makes a quota in which nobody has asked for anything yet.
func New(o Options) *Quota {
	if o.Rate <= 0 {
		o.Rate = DefaultRate
	}
	if o.Burst <= 0 {
		o.Burst = int(math.Ceil(10 * o.Rate))
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Quota{
		options: o, callers: map[string]*rate.Limiter{}, known: map[[sha256.Size]byte]*rate.Limiter{},
		void: map[[sha256.Size]byte]*rate.Limiter{}, strangers: map[string]*rate.Limiter{},
	}
}

// Admit says whether a request that shows a credential is looked at; else the error is a problem that says when to come again. What
// was good before counts for its caller alone, and a genuine token that is void for itself alone. Anything else is not looked at while
// its address owes for failures: whoever guesses makes no genuine token, and takes nothing from who has one behind the same address.
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
	limit, who := q.void[sum], "this token, which opens nothing,"
	if !genuine {
		limit, who = q.strangers[q.Address(r)], "somebody at this address, with what is no good token,"
	}
	if limit != nil {
		if owed := 1 - limit.TokensAt(now); owed > 0 {
			return TooMany{Wait: time.Duration(owed / strangerRate * float64(time.Second)), Who: who}
		}
	}
	return nil
}

// Good notes whose credential a request showed. All that one caller shows counts as one.
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

// Bad notes that what a request showed opens nothing, or nothing any more.
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

// room keeps a table below its bound. First those go who have not asked for a while; when that is not enough, everybody: then so many
// are counted at once that nobody alone is the trouble.
func room[K comparable](table map[K]*rate.Limiter, now time.Time) {
	if len(table) < mostKept {
		return
	}
	for key, limit := range table {
		if limit.TokensAt(now) >= float64(limit.Burst()) {
			delete(table, key)
		}
	}
	if len(table) > mostKept/2 {
		clear(table)
	}
}

// Address is where a request comes from, as it is counted: an IPv4 address, or the /64 network of an IPv6 one, which is what one
// customer of a provider is given.
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
	network, _ := ip.Prefix(64) // 64 fits every IPv6 address
	return network.String()
}

// TooMany refuses a request because of those before it.
type TooMany struct {
	Wait time.Duration // until one is taken again
	Who  string        // asked too often
}

// Error says so to people.
func (t TooMany) Error() string { return t.problem().Error() }

// Unwrap gives the problem that a client is told.
func (t TooMany) Unwrap() error { return t.problem() }

// Seconds is when to come again, in whole seconds, at least one.
func (t TooMany) Seconds() int { return max(1, int(math.Ceil(t.Wait.Seconds()))) }

func (t TooMany) problem() problem.Error {
	e := problem.New(http.StatusTooManyRequests, "too_many_requests", t.Who+" asked for too much in too short a time",
		"Come again after "+strconv.Itoa(t.Seconds())+" s, as the header Retry-After says.")
	e.RetryAfter = t.Seconds()
	return e
}
