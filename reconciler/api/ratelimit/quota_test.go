package ratelimit

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
)

// clock is a quota with a fake clock.
type clock struct {
	*Quota
	now time.Time
}

func newClock(o Options) *clock {
	c := &clock{now: time.Unix(1_000_000, 0)}
	o.Now = func() time.Time { return c.now }
	c.Quota = New(o)
	return c
}

func from(address string, forwarded ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = address
	for _, f := range forwarded {
		r.Header.Add("X-Forwarded-For", f)
	}
	return r
}

// admitted returns how many of n requests are admitted, and the last error.
func (c *clock) admitted(n int, credential string, r *http.Request) (admitted int, refusal error) {
	for range n {
		if err := c.Admit(credential, false, r); err != nil {
			refusal = err
			continue
		}
		admitted++
	}
	return admitted, refusal
}

func TestOneCallerIsBoundedAndNoOther(t *testing.T) {
	c := newClock(Options{Rate: 2, Burst: 5})
	here := from("192.0.2.1:1")
	c.Good("a", "alice")
	c.Good("a2", "alice") // another credential of hers
	c.Good("b", "bob")
	n, err := c.admitted(10, "a", here)
	if n != 5 {
		t.Errorf("%d admitted, want the burst of 5", n)
	}
	p, known := problem.Of(err)
	if !known || p.Status != http.StatusTooManyRequests || p.Code != "too_many_requests" || p.RetryAfter != 1 ||
		p.Detail == "" {
		t.Errorf("refused with %+v", p)
	}
	w := httptest.NewRecorder()
	if problem.Write(w, err); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
		t.Errorf("answered %d %v", w.Code, w.Header())
	}
	if n, _ := c.admitted(1, "a2", here); n != 0 {
		t.Error("another credential of the same caller has a burst of its own")
	}
	if n, _ := c.admitted(5, "b", here); n != 5 {
		t.Errorf("bob was let in %d times of 5", n)
	}
	c.now = c.now.Add(2 * time.Second)
	if n, _ := c.admitted(10, "a", here); n != 4 {
		t.Errorf("after 2 s %d admitted, want 4", n)
	}
}

// TestOpenStreamsAreCounted: each caller has a limit, an ended stream frees its place once, and nothing is
// left behind.
func TestOpenStreamsAreCounted(t *testing.T) {
	q := New(Options{Streams: 2})
	var releases []func()
	for _, caller := range []string{"alice", "alice", "bob"} {
		release, err := q.OpenStream(caller)
		if err != nil {
			t.Fatalf("%s: %v", caller, err)
		}
		releases = append(releases, release)
	}
	_, err := q.OpenStream("alice")
	if p, known := problem.Of(err); !known || p.Status != http.StatusTooManyRequests || p.Code != "too_many_streams" ||
		p.RetryAfter != 5 || p.Title != "2 streams of this client are open, which is the limit" || p.Detail == "" {
		t.Errorf("refused with %+v", p)
	}
	releases[0]()
	releases[0]()
	again, err := q.OpenStream("alice")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.OpenStream("alice"); err == nil {
		t.Error("one ended stream freed two places")
	}
	for _, release := range append(releases, again) {
		release()
	}
	if len(q.streams) != 0 {
		t.Errorf("left behind: %v", q.streams)
	}
	if New(Options{}).options.Streams != DefaultStreams {
		t.Error("without an option there is no limit")
	}
}

// TestRefusalsCostNothing: requests over the limit do not extend the wait.
func TestRefusalsCostNothing(t *testing.T) {
	c := newClock(Options{Rate: 1, Burst: 1})
	c.Good("a", "alice")
	if n, _ := c.admitted(1000, "a", from("192.0.2.1:1")); n == 1000 {
		t.Fatal("nothing is refused")
	}
	c.now = c.now.Add(time.Second)
	if n, _ := c.admitted(1, "a", from("192.0.2.1:1")); n != 1 {
		t.Error("still refused")
	}
}

func TestStrangersCountByAddress(t *testing.T) {
	c := newClock(Options{})
	c.Good("good", "alice")
	guess := func(r *http.Request) (admitted int) {
		for i := range 2 * strangerBurst {
			credential := fmt.Sprint("guess", i)
			if c.Admit(credential, false, r) == nil {
				admitted++
				c.Bad(credential, false, r)
			}
		}
		return admitted
	}
	if n := guess(from("[2001:db8::1]:1")); n != strangerBurst {
		t.Errorf("%d guesses admitted, want %d", n, strangerBurst)
	}
	if n := guess(from("[2001:db8::ffff]:2")); n != 0 {
		t.Errorf("%d guesses from the same network admitted", n)
	}
	var many TooMany
	if err := c.Admit("new", false, from("[2001:db8::1]:1")); !errors.As(err, &many) || many.Seconds() != 1 {
		t.Errorf("refused with %v", err)
	}
	if err := c.Admit("good", false, from("[2001:db8::1]:1")); err != nil {
		t.Errorf("a good token pays for strangers: %v", err)
	}
	if n := guess(from("192.0.2.7:1")); n != strangerBurst {
		t.Errorf("%d guesses from elsewhere admitted, want %d", n, strangerBurst)
	}
	c.now = c.now.Add(time.Second)
	if n := guess(from("192.0.2.7:1")); n != strangerRate {
		t.Errorf("after 1 s %d admitted, want %d", n, strangerRate)
	}
	// A credential that is no longer valid counts for the address again.
	c.Bad("good", false, from("192.0.2.7:1"))
	if err := c.Admit("good", false, from("192.0.2.7:1")); err == nil {
		t.Error("a revoked token still counts as good")
	}
}

// TestGenuineTokensCountForThemselves: neither guesses from their address nor each other's failures
// affect genuine tokens.
func TestGenuineTokensCountForThemselves(t *testing.T) {
	c := newClock(Options{})
	nat := from("192.0.2.7:1")
	for i := range 10_000 {
		if credential := fmt.Sprint("garbage", i); c.Admit(credential, false, nat) == nil {
			c.Bad(credential, false, nat)
		}
	}
	for i := range 1000 {
		if err := c.Admit(fmt.Sprint("genuine", i), true, nat); err != nil {
			t.Fatalf("a genuine token that nobody has seen yet: %v", err)
		}
	}
	admitted := 0
	for range 2 * strangerBurst {
		if c.Admit("void", true, nat) == nil {
			admitted++
			c.Bad("void", true, nat)
		}
	}
	if admitted != strangerBurst {
		t.Errorf("a void token was looked up %d times, want %d", admitted, strangerBurst)
	}
	if err := c.Admit("another", true, nat); err != nil {
		t.Errorf("a genuine token pays for another: %v", err)
	}
	c.Good("void", "alice") // it was not yet in this replica's database
	if err := c.Admit("void", true, nat); err != nil {
		t.Errorf("a token that is good now pays for what it was: %v", err)
	}
}

func TestAddress(t *testing.T) {
	direct, behind := New(Options{}), New(Options{BehindProxy: true})
	for _, test := range []struct {
		quota *Quota
		r     *http.Request
		want  string
	}{
		{direct, from("192.0.2.1:80"), "192.0.2.1"},
		{direct, from("[::ffff:192.0.2.1]:80"), "192.0.2.1"},
		{direct, from("[2001:db8:1:2:3:4:5:6]:80"), "2001:db8:1:2::/64"},
		{direct, from("[fe80::1%eth0]:80"), "fe80::/64"},
		{direct, from("192.0.2.1:80", "10.9.9.9"), "192.0.2.1"},
		{direct, from("@"), "unknown"},
		{behind, from("192.0.2.1:80"), "192.0.2.1"},
		{behind, from("192.0.2.1:80", "forged, 198.51.100.7"), "198.51.100.7"},
		{behind, from("192.0.2.1:80", "203.0.113.1", "198.51.100.7"), "198.51.100.7"},
		{behind, from("192.0.2.1:80", "198.51.100.7:4711"), "198.51.100.7"},
		{behind, from("192.0.2.1:80", "nonsense"), "unknown"},
	} {
		if got := test.quota.Address(test.r); got != test.want {
			t.Errorf("%s %v: %s, want %s", test.r.RemoteAddr, test.r.Header, got, test.want)
		}
	}
}

// TestMemoryIsBounded: the tables are bounded for any number of callers, and active callers still
// count.
func TestMemoryIsBounded(t *testing.T) {
	c := newClock(Options{Rate: 1, Burst: 2})
	busy := from("192.0.2.1:1")
	for range strangerBurst {
		c.Bad("x", false, busy)
	}
	for i := range maxEntries + 1000 {
		c.Bad("x", false, from(fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255)))
		c.Good(fmt.Sprint("credential", i), fmt.Sprint("caller", i))
		c.Bad(fmt.Sprint("void", i), true, busy)
		if i == maxEntries-2000 {
			c.now = c.now.Add(time.Second) // the ones so far are idle now
		}
	}
	for name, n := range map[string]int{"callers": len(c.callers), "known": len(c.known), "void": len(c.void),
		"strangers": len(c.strangers)} {
		if n > maxEntries {
			t.Errorf("%d %s are kept", n, name)
		}
	}
	if c.strangers["192.0.2.1"] == nil {
		t.Error("who owes most was forgotten")
	}
}
