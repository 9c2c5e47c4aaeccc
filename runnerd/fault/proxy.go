package fault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

// maxBody bounds the body of a forwarded request, in bytes; the rest of a larger one is cut off.
const maxBody = 256 << 20

// Faults is the condition of the network. The zero value has no faults.
type Faults struct {
	// Blackhole drops everything: no request or response is forwarded, and connections stay open until
	// the weather changes; then they are reset.
	Blackhole bool
	// Reset is the share of requests, 0 to 1, whose connection is reset: for half of them before the
	// request is forwarded, for the other half after the response has arrived, which is then lost.
	Reset float64
	// Cut is the share of responses that end in the middle.
	Cut float64
	// MaxDelay is the maximum delay of a request, and again of its response. Each delay is drawn
	// separately, so concurrent requests overtake each other.
	MaxDelay time.Duration
	// Duplicate is the share of requests that are sent twice. The copy is sent up to MaxDuplicateDelay after the
	// first, possibly after later requests have completed.
	Duplicate float64
	// MaxDuplicateDelay is the maximum delay of a copy; zero sends it at once.
	MaxDuplicateDelay time.Duration
}

// Proxy forwards HTTP requests to the first backend that accepts a connection, with the faults of
// the current weather.
type Proxy struct {
	backends []*url.URL
	listener net.Listener
	server   *http.Server
	client   *http.Transport
	copies   sync.WaitGroup
	ctx      context.Context // ends with Close; for pending copies
	cancel   context.CancelFunc

	mu      sync.Mutex
	random  *rand.Rand
	faults  Faults
	changed chan struct{} // closed when the weather changes
	first   int           // the backend to try first
	counts  Counts
}

// Counts holds the number of requests by result.
type Counts struct{ Passed, Dropped, Reset, Cut, Duplicated, Refused int }

// NewProxy listens on a free port of the loopback address and forwards to backends such as
// http://127.0.0.1:7111. seed determines the fate of each request.
func NewProxy(seed uint64, backends ...string) (*Proxy, error) {
	p := &Proxy{random: rand.New(rand.NewPCG(seed, 1)), changed: make(chan struct{})}
	for _, b := range backends {
		u, err := url.Parse(b)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("proxy to %q: name it as http://host:port", b)
		}
		p.backends = append(p.backends, u)
	}
	if len(p.backends) == 0 {
		return nil, errors.New("proxy: name at least one backend")
	}
	var err error
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.client = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
	// The proxy refuses and resets connections on purpose, so the server must not log that.
	p.server = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(p.listener) }()
	return p, nil
}

// URL returns the address of the proxy.
func (p *Proxy) URL() string { return "http://" + p.listener.Addr().String() }

// SetFaults changes the weather.
func (p *Proxy) SetFaults(w Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = w
	close(p.changed)
	p.changed = make(chan struct{})
}

// Counts returns the number of requests so far.
func (p *Proxy) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// Close ends every connection and waits for pending copies.
func (p *Proxy) Close() error {
	p.cancel()
	err := p.server.Close()
	p.copies.Wait()
	p.client.CloseIdleConnections()
	return err
}

// requestFaults holds the faults of one request.
type requestFaults struct {
	before, after, late                 time.Duration
	loseRequest, loseAnswer, cut, twice bool
}

func (p *Proxy) drawFaults() requestFaults {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.faults
	f := requestFaults{before: p.randomDelay(w.MaxDelay), after: p.randomDelay(w.MaxDelay),
		late: p.randomDelay(w.MaxDuplicateDelay)}
	if p.random.Float64() < w.Reset {
		f.loseRequest = p.random.IntN(2) == 0
		f.loseAnswer = !f.loseRequest
	}
	f.cut = p.random.Float64() < w.Cut
	f.twice = p.random.Float64() < w.Duplicate
	return f
}

func (p *Proxy) randomDelay(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return time.Duration(p.random.Int64N(int64(most)))
}

func (p *Proxy) count(what func(*Counts)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what(&p.counts)
}

// ServeHTTP forwards one request, with its faults.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		panic(http.ErrAbortHandler) // the client has disconnected
	}
	f := p.drawFaults()
	if !p.waitForNetwork(r.Context()) || !backoff.Pause(r.Context(), f.before) {
		p.count(func(c *Counts) { c.Dropped++ })
		reset(w)
		return
	}
	if f.loseRequest {
		p.count(func(c *Counts) { c.Reset++ })
		reset(w)
		return
	}
	if f.twice {
		p.sendCopy(r, body, f.late)
	}
	answer, err := p.send(r.Context(), r, body)
	if err != nil {
		p.count(func(c *Counts) { c.Refused++ })
		reset(w)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	if !backoff.Pause(r.Context(), f.after) || !p.waitForNetwork(r.Context()) || f.loseAnswer {
		p.count(func(c *Counts) { c.Reset++ })
		reset(w)
		return
	}
	p.count(func(c *Counts) { c.Passed++ })
	p.forwardResponse(w, r, answer, f.cut)
}

// waitForNetwork waits while the weather has a hole. It returns false if it had to wait, because anything
// in the hole is lost.
func (p *Proxy) waitForNetwork(ctx context.Context) bool {
	lost := false
	for {
		p.mu.Lock()
		hole, changed := p.faults.Blackhole, p.changed
		p.mu.Unlock()
		if !hole {
			return !lost
		}
		lost = true
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		case <-p.ctx.Done():
			return false
		}
	}
}

// forwardResponse forwards a response as it arrives, and stops at a hole that opens meanwhile.
func (p *Proxy) forwardResponse(w http.ResponseWriter, r *http.Request, answer *http.Response, cut bool) {
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	flush := http.NewResponseController(w)
	part := make([]byte, 32<<10)
	for {
		n, err := answer.Body.Read(part)
		if cut && n > 0 {
			_, _ = w.Write(part[:n/2])
			_ = flush.Flush()
			p.count(func(c *Counts) { c.Cut++ })
			reset(w)
			return
		}
		if !p.waitForNetwork(r.Context()) {
			reset(w)
			return
		}
		if n > 0 {
			if _, werr := w.Write(part[:n]); werr != nil {
				return
			}
			_ = flush.Flush()
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			reset(w) // the backend has disconnected
			return
		}
	}
}

// sendCopy sends a request again, later, and drops the response.
func (p *Proxy) sendCopy(r *http.Request, body []byte, late time.Duration) {
	p.count(func(c *Counts) { c.Duplicated++ })
	again := r.Clone(p.ctx)
	p.copies.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, late+time.Minute)
		defer cancel()
		if !backoff.Pause(ctx, late) {
			return
		}
		answer, err := p.send(ctx, again, body)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	})
}

// send sends a request to the next backend in turn, or to the first after it that accepts a
// connection.
func (p *Proxy) send(ctx context.Context, r *http.Request, body []byte) (*http.Response, error) {
	p.mu.Lock()
	first := p.first
	p.mu.Unlock()
	var last error
	for i := range p.backends {
		number := (first + i) % len(p.backends)
		out := r.Clone(ctx)
		out.RequestURI, out.URL.Scheme, out.URL.Host = "", p.backends[number].Scheme, p.backends[number].Host
		out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		if len(body) == 0 {
			out.Body = http.NoBody
		}
		answer, err := p.client.RoundTrip(out)
		if err == nil {
			p.mu.Lock()
			p.first = (number + 1) % len(p.backends) // round robin
			p.mu.Unlock()
			return answer, nil
		}
		var dial *net.OpError
		if !errors.As(err, &dial) || dial.Op != "dial" {
			return nil, err // the request may have arrived, so no other backend gets it
		}
		last = err
	}
	return nil, last
}

// reset ends a connection with RST, like a machine that has failed.
func reset(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}
