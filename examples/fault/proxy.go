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

// mostBody bounds a request that passes through; what is larger is cut off, as by a broken line.
const mostBody = 256 << 20

// Weather is how the network is. Its zero value is a good day.
type Weather struct {
	// Hole swallows everything: nothing is passed on, nothing is answered, and connections stay open until the weather changes;
	// then they are reset.
	Hole bool
	// Reset is the share of requests, 0 to 1, whose connection is reset: half of them before the request is passed on, half when
	// its answer is there and gets lost.
	Reset float64
	// Cut is the share of answers that end in the middle.
	Cut float64
	// Slow is the most that a request, and its answer again, is held up. Each is held up for a time of its own, so requests that
	// are under way together overtake each other.
	Slow time.Duration
	// Twice is the share of requests that arrive twice. The copy comes up to Late after the first, so it may arrive when others
	// that were sent after it have come and gone.
	Twice float64
	// Late is the most that a copy is late; zero sends it together with the first.
	Late time.Duration
}

// Proxy passes HTTP requests on to the first backend that takes a connection, through the weather.
type Proxy struct {
	backends []*url.URL
	listener net.Listener
	server   *http.Server
	client   *http.Transport
	copies   sync.WaitGroup
	ctx      context.Context // ends with Close; for copies that are under way
	cancel   context.CancelFunc

	mu      sync.Mutex
	random  *rand.Rand
	weather Weather
	changed chan struct{} // closed when the weather changes
	first   int           // the backend that took the last connection
	counts  Counts
}

// Counts are what became of the requests.
type Counts struct{ Passed, Swallowed, Reset, Cut, Twice, Refused int }

// NewProxy listens on a port of the loopback address that the system picks, and passes on to backends such as
// http://127.0.0.1:7111. seed decides about each request's fate.
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
	// Refused and reset connections are what it is for, so nothing is said about them.
	p.server = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(p.listener) }()
	return p, nil
}

// URL is where the proxy listens.
func (p *Proxy) URL() string { return "http://" + p.listener.Addr().String() }

// Set changes the weather from now on.
func (p *Proxy) Set(w Weather) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.weather = w
	close(p.changed)
	p.changed = make(chan struct{})
}

// Counts gives what became of the requests so far.
func (p *Proxy) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// Close ends every connection and waits for the copies.
func (p *Proxy) Close() error {
	p.cancel()
	err := p.server.Close()
	p.copies.Wait()
	p.client.CloseIdleConnections()
	return err
}

// fate is what the weather does to one request.
type fate struct {
	before, after, late                 time.Duration
	loseRequest, loseAnswer, cut, twice bool
}

func (p *Proxy) fate() fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.weather
	f := fate{before: p.upTo(w.Slow), after: p.upTo(w.Slow), late: p.upTo(w.Late)}
	if p.random.Float64() < w.Reset {
		f.loseRequest = p.random.IntN(2) == 0
		f.loseAnswer = !f.loseRequest
	}
	f.cut = p.random.Float64() < w.Cut
	f.twice = p.random.Float64() < w.Twice
	return f
}

func (p *Proxy) upTo(most time.Duration) time.Duration {
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

// ServeHTTP passes one request on, if the weather lets it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, mostBody))
	if err != nil {
		panic(http.ErrAbortHandler) // the client has left, or it was interrupted
	}
	f := p.fate()
	if !p.through(r.Context()) || !backoff.Pause(r.Context(), f.before) {
		p.count(func(c *Counts) { c.Swallowed++ })
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
	if !backoff.Pause(r.Context(), f.after) || !p.through(r.Context()) || f.loseAnswer {
		p.count(func(c *Counts) { c.Reset++ })
		reset(w)
		return
	}
	p.count(func(c *Counts) { c.Passed++ })
	p.answer(w, r, answer, f.cut)
}

// through waits while a hole swallows everything; false when it did: what was in it is lost.
func (p *Proxy) through(ctx context.Context) bool {
	lost := false
	for {
		p.mu.Lock()
		hole, changed := p.weather.Hole, p.changed
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

// answer passes an answer on as it comes, and notices a hole that opens meanwhile.
func (p *Proxy) answer(w http.ResponseWriter, r *http.Request, answer *http.Response, cut bool) {
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
		if !p.through(r.Context()) {
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
			reset(w) // the backend broke off: so do we
			return
		}
	}
}

// sendCopy sends a request once more, later, and drops the answer.
func (p *Proxy) sendCopy(r *http.Request, body []byte, late time.Duration) {
	p.count(func(c *Counts) { c.Twice++ })
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

// send gives a request to the backend that answered last, else to the next that takes a connection.
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
			p.first = (number + 1) % len(p.backends) // they take turns
			p.mu.Unlock()
			return answer, nil
		}
		var dial *net.OpError
		if !errors.As(err, &dial) || dial.Op != "dial" {
			return nil, err // it may have arrived, so nobody else is asked
		}
		last = err
	}
	return nil, last
}

// reset ends a connection as a machine that has gone does: with RST, and nothing said.
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
