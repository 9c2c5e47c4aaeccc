package replicas

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/telemetry/probe"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// crowd sends requests to the control API all the time, as a load balancer would: in turn to those
// replicas that report that they are ready.
type crowd struct {
	token    string
	replicas []string
	client   http.Client

	mu     sync.Mutex
	ready  map[string]bool
	turn   int
	counts map[string]int // by result: "200", "503", or the error
	wrong  []string       // results that must not occur
	work   sync.WaitGroup
	stop   context.CancelFunc
}

// members is the number of concurrent requesters.
const members = 4

// newCrowd starts the requests.
func newCrowd(t *testing.T, w *world) *crowd {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	c := &crowd{token: w.fleet.Token, ready: map[string]bool{}, counts: map[string]int{}, stop: stop,
		// Each request has a separate connection. A server that stops closes idle ones, and a client on a busy machine
		// may send on one just then.
		client: http.Client{Timeout: testtime.Limit, Transport: &http.Transport{DisableKeepAlives: true}}}
	for n := range w.fleet.Replicas {
		c.replicas = append(c.replicas, w.fleet.Ready(n).ControlURL)
	}
	c.look(ctx)
	c.work.Go(func() {
		for sleep(ctx, 100*time.Millisecond) {
			c.look(ctx)
		}
	})
	for n := range members {
		c.work.Go(func() { c.member(ctx, n) })
	}
	t.Cleanup(c.end)
	return c
}

// end stops the requests; it may be called more than once.
func (c *crowd) end() {
	c.stop()
	c.work.Wait()
}

// look polls /readyz.
func (c *crowd) look(ctx context.Context) {
	for _, url := range c.replicas {
		asking, stop := context.WithTimeout(ctx, 5*time.Second) //walltime: a load balancer's own; others take the requests then
		ok := false
		if r, err := c.get(asking, url+"/readyz"); err == nil {
			var a probe.Report
			ok = json.NewDecoder(r.Body).Decode(&a) == nil && a.Ready && r.StatusCode == http.StatusOK
			_ = r.Body.Close() // it was read
		}
		stop()
		c.mu.Lock()
		c.ready[url] = ok
		c.mu.Unlock()
	}
}

func (c *crowd) get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return c.client.Do(request)
}

// next returns a ready replica, or any replica if none is ready, as load balancers do.
func (c *crowd) next() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range c.replicas {
		c.turn++
		if url := c.replicas[c.turn%len(c.replicas)]; c.ready[url] {
			return url
		}
	}
	return c.replicas[c.turn%len(c.replicas)]
}

func (c *crowd) member(ctx context.Context, n int) {
	for i := 0; sleep(ctx, 250*time.Millisecond); i++ {
		method, path, body := http.MethodGet, "/v1/installs", ""
		if i%5 == 0 { // sometimes a request that changes something
			method, path, body = http.MethodPost, "/v1/runners", fmt.Sprintf(`{"name":"extra-%d-%d","kind":"install"}`, n, i)
		}
		answer, err := c.send(ctx, method, path, body)
		c.note(method+" "+path, answer, err)
	}
}

// send sends a request to a ready replica. If it cannot connect, nothing was sent, and it takes the next one, as load
// balancers do: on a busy machine the replica may have stopped since it was ready.
func (c *crowd) send(ctx context.Context, method, path, body string) (*http.Response, error) {
	for {
		to := c.next()
		// The end of the crowd is no failure of a replica: requests in flight complete.
		request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), method, to+path, strings.NewReader(body))
		if err != nil {
			panic(err) // it is well formed
		}
		request.Header.Set("Authorization", "Bearer "+c.token)
		request.Header.Set("Content-Type", "application/json")
		answer, err := c.client.Do(request)
		if unsent := (*net.OpError)(nil); !errors.As(err, &unsent) || unsent.Op != "dial" {
			return answer, err
		}
		c.mu.Lock()
		c.ready[to] = false
		c.mu.Unlock()
		if !sleep(ctx, 10*time.Millisecond) {
			return nil, err
		}
	}
}

func (c *crowd) note(what string, answer *http.Response, err error) {
	said := ""
	if err == nil {
		var body []byte
		if body, err = io.ReadAll(answer.Body); err == nil {
			said = string(body)
		}
		_ = answer.Body.Close() // it was read
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.counts["error"]++
		c.wrong = append(c.wrong, what+": "+err.Error())
	case answer.StatusCode >= http.StatusInternalServerError:
		c.counts[fmt.Sprint(answer.StatusCode)]++
		if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
			c.wrong = append(c.wrong, fmt.Sprintf("%s: %s %s", what, answer.Status, said))
		}
	case answer.StatusCode >= http.StatusBadRequest && answer.StatusCode != http.StatusConflict:
		c.wrong = append(c.wrong, fmt.Sprintf("%s: %s %s", what, answer.Status, said))
	default:
		c.counts["ok"]++
	}
}

// check returns the results since the last check, and fails the test for wrong ones.
func (c *crowd) check(t *testing.T) map[string]int {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, wrong := range c.wrong {
		if i == 10 {
			break
		}
		t.Errorf("the crowd was told: %s", wrong)
	}
	counts := c.counts
	c.wrong, c.counts = nil, map[string]int{}
	t.Logf("the crowd was told %v", counts)
	return counts
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d) //walltime: the pause between two requests
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
