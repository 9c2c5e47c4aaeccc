package netguard_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

var everywhere = []netguard.Kind{netguard.Public, netguard.Private, netguard.Loopback, netguard.Special}

// client returns a client that resolves every name to the address to; the zero address resolves
// none.
func client(options netguard.Options, to netip.Addr) *http.Client {
	options.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		if !to.IsValid() {
			return nil, &net.OpError{Op: "dial", Net: "udp", Addr: &net.UDPAddr{IP: net.IPv4(10, 9, 8, 7), Port: 53},
				Err: errors.New("refused")}
		}
		ours, theirs := net.Pipe()
		go answer(theirs, to)
		return ours, nil
	}}
	return &http.Client{Transport: netguard.NewTransport(options), CheckRedirect: netguard.CheckRedirect}
}

// answer answers one DNS question over a stream.
func answer(c net.Conn, to netip.Addr) {
	defer func() { _ = c.Close() }()
	var length [2]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		return
	}
	question := make([]byte, int(length[0])<<8|int(length[1]))
	if _, err := io.ReadFull(c, question); err != nil {
		return
	}
	var message dnsmessage.Message
	if err := message.Unpack(question); err != nil {
		return
	}
	message.Response, message.Additionals = true, nil
	if q := message.Questions[0]; q.Type == dnsmessage.TypeA {
		message.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
			Body:   &dnsmessage.AResource{A: to.As4()},
		}}
	}
	packed, err := message.Pack()
	if err != nil {
		return
	}
	_, _ = c.Write(append([]byte{byte(len(packed) >> 8), byte(len(packed))}, packed...))
}

func get(c *http.Client, url string) ([]byte, error) {
	response, err := c.Get(url) //nolint:noctx // the deadlines of the transport are what is tested
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	return io.ReadAll(response.Body)
}

// raw starts a TCP server that runs serve for each connection, and returns its address.
func raw(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				serve(c)
			}()
		}
	}()
	return listener.Addr().String()
}

// silent reads everything and sends nothing until the other side closes the connection.
func silent(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// asked waits for a request. A client drops a connection on which bytes arrive before its request.
func asked(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)) }

// TestOnlyAllowedKindsAreDialled checks that a special address is never dialed, even if the
// options allow it.
func TestOnlyAllowedKindsAreDialled(t *testing.T) {
	var opened atomic.Int64
	at := raw(t, func(net.Conn) { opened.Add(1) })
	_, port, _ := net.SplitHostPort(at)
	for _, url := range []string{
		"https://169.254.169.254/latest/meta-data", "https://[fe80::1]/", "https://[fd00:ec2::254]/",
		"https://224.0.0.1/", "https://0.0.0.0:" + port,
		"https://[::]:" + port, "https://[::ffff:169.254.169.254]/", "https://[64:ff9b::a9fe:a9fe]/",
		"https://[2002:a9fe:a9fe::]/",
		"https://168.63.129.16/", "https://100.100.100.200/", "https://255.255.255.255/",
	} {
		_, err := get(client(netguard.Options{HTTPS: everywhere, HTTP: everywhere}, netip.Addr{}), url)
		var blocked *netguard.BlockedError
		if !errors.As(err, &blocked) || blocked.Kind != netguard.Special {
			t.Errorf("%s: got %v", url, err)
		}
	}
	for _, url := range []string{"https://127.0.0.1:" + port, "https://localhost:" + port, "http://127.0.0.1:" + port,
		"https://[::ffff:127.0.0.1]:" + port, "https://100.64.0.1/"} {
		_, err := get(&http.Client{Transport: netguard.NewTransport(
			netguard.Options{HTTPS: []netguard.Kind{netguard.Public}})}, url)
		var blocked *netguard.BlockedError
		if !errors.As(err, &blocked) {
			t.Errorf("%s: got %v", url, err)
		}
	}
	if n := opened.Load(); n > 0 {
		t.Errorf("%d connections were opened", n)
	}
	var scheme *netguard.UnsupportedSchemeError
	if _, err := get(client(netguard.Options{HTTPS: everywhere}, netip.Addr{}),
		"ftp://127.0.0.1/"); !errors.As(err, &scheme) {
		t.Errorf("ftp: got %v", err)
	}
}

// TestErrorsNameNoAddress checks that errors contain neither the resolved address nor the name
// server, because the author of the name may read them.
func TestErrorsNameNoAddress(t *testing.T) {
	loopback := netip.MustParseAddr("127.0.0.1")
	all := netguard.Options{HTTPS: everywhere, HTTP: everywhere}
	broken := raw(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		_ = c.(*net.TCPConn).SetLinger(0)
	})
	_, brokenPort, _ := net.SplitHostPort(broken)
	for name, c := range map[string]struct {
		client *http.Client
		url    string
	}{
		"private": {client(netguard.Options{HTTPS: []netguard.Kind{netguard.Public}},
			netip.MustParseAddr("10.9.8.7")), "https://git.example/"},
		"special":    {client(all, netip.MustParseAddr("169.254.169.254")), "https://git.example/"},
		"no port":    {client(all, loopback), "https://git.example:1/"},
		"reset":      {client(all, loopback), "http://git.example:" + brokenPort + "/"},
		"no TLS":     {client(all, loopback), "https://git.example:" + brokenPort + "/"},
		"unresolved": {client(all, netip.Addr{}), "https://git.example/"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := get(c.client, c.url)
			if err == nil {
				t.Fatal("no error")
			}
			for _, secret := range []string{"10.9.8.7", "127.0.0.1", "169.254"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%v names %s", err, secret)
				}
			}
			if !strings.Contains(err.Error(), "git.example") {
				t.Errorf("%v does not name the host", err)
			}
		})
	}
}

// TestServersThatStall checks that each way to make a client wait forever has its own deadline. It
// checks only that the requests end.
func TestServersThatStall(t *testing.T) {
	short := 20 * time.Millisecond
	partial := raw(t, func(c net.Conn) {
		asked(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
		silent(c)
	})
	quiet := raw(t, silent)
	for name, c := range map[string]struct {
		url     string
		options netguard.Options
	}{
		"handshake": {"https://" + quiet, netguard.Options{Handshake: short}},
		"header":    {"http://" + quiet, netguard.Options{Header: short}},
		"body":      {"http://" + partial, netguard.Options{Idle: short}},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.HTTPS, c.options.HTTP = everywhere, everywhere
			_, err := get(client(c.options, netip.Addr{}), c.url)
			var late net.Error
			if !errors.As(err, &late) || !late.Timeout() {
				t.Errorf("got %v", err)
			}
			if name == "body" && !errors.Is(err, netguard.ErrStalled) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestFloods checks that headers and trailers are bounded.
func TestFloods(t *testing.T) {
	flood := func(start string) string {
		return raw(t, func(c net.Conn) {
			asked(c)
			_, err := io.WriteString(c, start)
			for line := "X-A: " + strings.Repeat("x", 1000) + "\r\n"; err == nil; {
				_, err = io.WriteString(c, line)
			}
		})
	}
	for name, start := range map[string]string{
		"headers":            "HTTP/1.1 200 OK\r\n",
		"trailers":           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
		"informational ones": "HTTP/1.1 103 Early Hints\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := get(client(netguard.Options{HTTP: everywhere}, netip.Addr{}),
				"http://"+flood(start)); err == nil {
				t.Error("no error")
			}
		})
	}
}

// TestNoProxyIsAsked also checks that nothing is decompressed.
func TestNoProxyIsAsked(t *testing.T) {
	var proxied atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied.Add(1) }))
	t.Cleanup(proxy.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "accepts %q", r.Header.Get("Accept-Encoding"))
	}))
	t.Cleanup(server.Close)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	data, err := get(client(netguard.Options{HTTP: everywhere}, netip.MustParseAddr("127.0.0.1")),
		"http://git.example:"+port+"/")
	if err != nil || string(data) != `accepts ""` || proxied.Load() > 0 {
		t.Errorf("got %q, %v; the proxy was asked %d times", data, err, proxied.Load())
	}
}
