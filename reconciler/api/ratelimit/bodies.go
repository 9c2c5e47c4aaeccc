package ratelimit

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// Default bounds of the bodies in memory, in bytes.
const (
	DefaultEachBodies = 128 << 20
	DefaultAllBodies  = 512 << 20
)

// bodies counts the bytes of bodies in memory. It is safe for concurrent use.
type bodies struct {
	each, all int64

	mu    sync.Mutex
	held  map[string]int64 // by caller, without zeros
	total int64
}

// LimitBody makes reading the body of a request fail with a problem while the bodies of its caller, or of
// all, have the size that is the limit. What was read counts until release is called after the request,
// because a body is decoded as a whole. So clients that send large or packed bodies and then stall do not
// use up the memory of a replica. The rest of a body that was refused is not waited for.
func (q *Quota) LimitBody(caller string, w http.ResponseWriter, r *http.Request) (release func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return func() {}
	}
	body := &countedBody{ReadCloser: r.Body, of: q.bodies, caller: caller, answer: w}
	r.Body = body
	return sync.OnceFunc(func() { q.bodies.add(caller, -body.read) })
}

// add counts n more bytes of a caller. It reports false, and counts none, if a bound would be exceeded.
func (b *bodies) add(caller string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > 0 && (b.held[caller]+n > b.each || b.total+n > b.all) {
		return false
	}
	b.total += n
	if b.held[caller] += n; b.held[caller] == 0 {
		delete(b.held, caller)
	}
	return true
}

// errTooMuch is the error for a body that has no room. A body that was refused half-way is not read to
// its end, so the connection closes.
var errTooMuch = tooMany("too_much_at_once", "The control plane processes too many large requests at once.",
	"Send it again later.", streamPause)

// countedBody counts what is read of a body.
type countedBody struct {
	io.ReadCloser
	of     *bodies
	caller string
	answer http.ResponseWriter
	read   int64
}

// Read counts what it has read.
func (c *countedBody) Read(into []byte) (int, error) {
	n, err := c.ReadCloser.Read(into)
	if !c.of.add(c.caller, int64(n)) {
		// The server would read more of it before it answers. After that, nothing can be read from the connection.
		c.answer.Header().Set("Connection", "close")
		_ = http.NewResponseController(c.answer).SetReadDeadline(time.Now())
		return 0, errTooMuch
	}
	c.read += int64(n)
	return n, err
}
