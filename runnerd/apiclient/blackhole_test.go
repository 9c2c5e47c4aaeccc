package apiclient

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// swallowing is a connection that can discard what is sent, like a network that
// has lost track of it.
type swallowing struct {
	net.Conn
	mutex sync.Mutex
	on    bool
}

func (s *swallowing) Write(what []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.on {
		return len(what), nil
	}
	return s.Conn.Write(what)
}

func TestASwallowedConnectionIsGivenUp(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_,
			_ = io.WriteString(w, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	made := newTransport(100 * time.Millisecond)
	defer made.CloseIdleConnections()
	made.TLSHandshakeTimeout = testtime.Limit // the machine may be slow
	made.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
	var line *swallowing // the newest connection
	dial := made.DialContext
	made.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled, err := dial(ctx, network, address)
		line = &swallowing{Conn: dialled}
		return line, err
	}
	client := &http.Client{Transport: made, Timeout: testtime.Limit}
	get := func() (string, error) {
		answer, err := client.Get(server.URL)
		if err != nil {
			return "", err
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		return string(text), err
	}
	if text, err := get(); err != nil || text != "HTTP/2.0" {
		t.Fatalf("got %q, %v", text, err)
	}
	line.mutex.Lock()
	line.on = true
	line.mutex.Unlock()
	swallowed := line
	_, first := get() // fails, or the transport sends it again
	if text, err := get(); err != nil || text != "HTTP/2.0" || line == swallowed {
		t.Errorf("got %q, %v, on another connection: %v; before that %v", text, err, line != swallowed, first)
	}
}
