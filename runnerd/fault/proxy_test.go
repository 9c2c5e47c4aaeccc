package fault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// server answers every request with its body, and records the bodies in order of arrival.
type server struct {
	*httptest.Server
	mu  sync.Mutex
	got []string
}

func serve(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.got = append(s.got, string(body))
		s.mu.Unlock()
		_, _ = w.Write(append([]byte("echo "), body...))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func proxyTo(t *testing.T, backends ...string) *Proxy {
	t.Helper()
	p, err := NewProxy(1, backends...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// post sends a body on a new connection, so that the client does not retry.
func post(ctx context.Context, p *Proxy, body string) (string, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL()+"/x", bytes.NewReader([]byte(body)))
	if err != nil {
		return "", err
	}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	got, err := io.ReadAll(answer.Body)
	return string(got), err
}

func TestGoodWeather(t *testing.T) {
	s := serve(t)
	p := proxyTo(t, s.URL)
	if got, err := post(t.Context(), p, "hello"); got != "echo hello" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestResetLosesTheRequestOrTheAnswer(t *testing.T) {
	s := serve(t)
	p := proxyTo(t, s.URL)
	p.SetFaults(Faults{Reset: 1})
	for i := range 20 {
		if got, err := post(t.Context(), p, fmt.Sprint(i)); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
			t.Fatalf("got %q, %v; want a reset", got, err)
		}
	}
	if n := len(s.seen()); n == 0 || n == 20 {
		t.Errorf("%d of 20 requests arrived; some should be lost on the way, and some on the way back", n)
	}
}

func TestHoleSwallowsUntilItCloses(t *testing.T) {
	s := serve(t)
	p := proxyTo(t, s.URL)
	p.SetFaults(Faults{Blackhole: true})
	ended := make(chan error, 1)
	go func() {
		_, err := post(context.WithoutCancel(t.Context()), p, "lost")
		ended <- err
	}()
	//walltime: nothing says that nothing comes
	late, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	select {
	case err := <-ended:
		t.Fatalf("a hole answered: %v", err)
	case <-late.Done():
	}
	p.SetFaults(Faults{})
	if err := <-ended; err == nil {
		t.Error("what was in the hole came through")
	}
	if len(s.seen()) != 0 {
		t.Errorf("%v arrived", s.seen())
	}
}

func TestHoleSwallowsAnswersUnderWay(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-goOn
		_, _ = io.WriteString(w, "too late")
	}))
	t.Cleanup(s.Close)
	p := proxyTo(t, s.URL)
	ended := make(chan error, 1)
	go func() {
		_, err := post(context.WithoutCancel(t.Context()), p, "x")
		ended <- err
	}()
	<-began
	p.SetFaults(Faults{Blackhole: true})
	close(goOn) // the response meets the open hole, however late it is
	select {
	case err := <-ended:
		t.Fatalf("the answer came through: %v", err)
	case <-time.After(100 * time.Millisecond): //walltime: nothing says that nothing comes
	}
	p.SetFaults(Faults{})
	if err := <-ended; err == nil {
		t.Error("the answer came through in the end")
	}
}

func TestTwiceSendsTheSameAgain(t *testing.T) {
	s := serve(t)
	p := proxyTo(t, s.URL)
	p.SetFaults(Faults{Duplicate: 1, MaxDuplicateDelay: 50 * time.Millisecond})
	if got, err := post(t.Context(), p, "a"); got != "echo a" || err != nil {
		t.Fatalf("got %q, %v", got, err)
	}
	testtime.Until(t, "it came twice", func() bool { return slices.Equal(s.seen(), []string{"a", "a"}) })
}

func TestSlowReorders(t *testing.T) {
	s := serve(t)
	p := proxyTo(t, s.URL)
	p.SetFaults(Faults{MaxDelay: 300 * time.Millisecond})
	var sent []string
	var all sync.WaitGroup
	for i := range 20 {
		text := fmt.Sprintf("%02d", i)
		sent = append(sent, text)
		all.Go(func() { _, _ = post(context.WithoutCancel(t.Context()), p, text) })
		backoff.Pause(t.Context(), 5*time.Millisecond)
	}
	all.Wait()
	got := s.seen()
	if slices.Equal(got, sent) {
		t.Error("20 requests that were held up for different times arrived in order")
	}
	if slices.Sort(got); !slices.Equal(got, sent) {
		t.Errorf("%v arrived", got)
	}
}

func TestCutEndsAnAnswerInTheMiddle(t *testing.T) {
	s := serve(t)
	p := proxyTo(t, s.URL)
	p.SetFaults(Faults{Cut: 1})
	if got, err := post(t.Context(), p, strings.Repeat("x", 1000)); err == nil || len(got) >= 1000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestBackendsTakeTurnsAndStandIn(t *testing.T) {
	one, two := serve(t), serve(t)
	p := proxyTo(t, one.URL, two.URL)
	for i := range 4 {
		if _, err := post(t.Context(), p, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(one.seen()) != 2 || len(two.seen()) != 2 {
		t.Errorf("%v and %v", one.seen(), two.seen())
	}
	one.Close()
	for i := range 4 {
		if _, err := post(t.Context(), p, fmt.Sprint(i)); err != nil {
			t.Errorf("with one backend gone: %v", err)
		}
	}
	two.Close()
	if _, err := post(t.Context(), p, "x"); err == nil {
		t.Error("an answer from nobody")
	}
}

func TestCloseEndsWhatIsInAHole(t *testing.T) {
	s := serve(t)
	p := proxyTo(t, s.URL)
	p.SetFaults(Faults{Blackhole: true})
	ended := make(chan error, 1)
	go func() {
		c, err := net.Dial("tcp", strings.TrimPrefix(p.URL(), "http://"))
		if err == nil {
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			_, err = c.Read(make([]byte, 1))
		}
		ended <- err
	}()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("something was answered")
	}
}
