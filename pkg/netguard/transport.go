package netguard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Options configure a Transport.
type Options struct {
	// HTTPS and HTTP list the kinds of addresses that each scheme may reach. An empty list disables
	// the scheme. Special addresses are never dialed.
	HTTPS, HTTP []Kind
	// Roots are the certificate authorities that are trusted; nil means the system's.
	Roots *x509.CertPool
	// Resolver resolves names; nil means the system's resolver.
	Resolver *net.Resolver
	// Dial, Handshake, Header and Idle bound connecting, the TLS handshake, the wait for the
	// response header, and each pause within the body. Zero means 10 seconds, 10 seconds, 30
	// seconds and 30 seconds.
	Dial, Handshake, Header, Idle time.Duration
}

// maxHeaders bounds the header of a response, in bytes.
const maxHeaders = 64 << 10

// BlockedError reports an address that may not be dialed.
type BlockedError struct {
	// Host is the host as it was written in the URL.
	Host   string
	Scheme string
	// Kind is the kind of the address that was rejected.
	Kind Kind
}

// Error describes the kind of network that the host leads to.
func (e *BlockedError) Error() string {
	switch e.Kind {
	case Private:
		return e.Host + " leads to an address in a private network"
	case Loopback:
		return e.Host + " leads to this machine"
	case Public:
		return e.Host + " may not be reached over " + e.Scheme + "://"
	}
	return e.Host + " leads to an address that is none of the internet"
}

// UnsupportedSchemeError reports a URL whose scheme is neither https nor http, or is disabled.
type UnsupportedSchemeError struct{ Scheme string }

// Error names the scheme.
func (e *UnsupportedSchemeError) Error() string {
	return fmt.Sprintf("%q is not spoken here", e.Scheme)
}

// ErrStalled is returned when a server pauses for too long. It implements net.Error as a timeout.
var ErrStalled error = stalledError{}

type stalledError struct{}

func (stalledError) Error() string   { return "the server stopped sending" }
func (stalledError) Timeout() bool   { return true }
func (stalledError) Temporary() bool { return true }

// Transport is an http.RoundTripper for untrusted servers.
type Transport struct {
	schemes map[string]*http.Transport
	idle    time.Duration
}

// NewTransport returns a transport with the given options.
func NewTransport(options Options) *Transport {
	options.fill()
	return &Transport{idle: options.Idle, schemes: map[string]*http.Transport{
		"https": options.transport("https", options.HTTPS), "http": options.transport("http", options.HTTP),
	}}
}

// fill sets the time limits that are zero.
func (o *Options) fill() {
	for _, one := range []struct {
		limit    *time.Duration
		standard time.Duration
	}{{&o.Dial, 10 * time.Second}, {&o.Handshake, 10 * time.Second}, {&o.Header, 30 * time.Second},
		{&o.Idle, 30 * time.Second}} {
		if *one.limit == 0 {
			*one.limit = one.standard
		}
	}
}

func (o Options) transport(scheme string, allowed []Kind) *http.Transport {
	return &http.Transport{
		DialContext:            o.dialer(scheme, allowed),
		TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    o.Handshake,
		ResponseHeaderTimeout:  o.Header,
		MaxResponseHeaderBytes: maxHeaders,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    4,
		ForceAttemptHTTP2:      true,
		// The caller decompresses, and counts the bytes before and after.
		DisableCompression: true,
	}
}

// dialer returns a dial function that checks each address at the moment of dialing.
func (o Options) dialer(scheme string, allowed []Kind) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("dial: %w", err)
		}
		dialer := &net.Dialer{Timeout: o.Dial, Resolver: o.Resolver,
			Control: func(_, dialed string, _ syscall.RawConn) error {
				at, err := netip.ParseAddrPort(dialed)
				if err != nil {
					return &BlockedError{Host: host, Scheme: scheme, Kind: Special}
				}
				if kind := KindOf(at.Addr()); kind == Special || !slices.Contains(allowed, kind) {
					return &BlockedError{Host: host, Scheme: scheme, Kind: kind}
				}
				return nil
			}}
		opened, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, stripAddress(err, address)
		}
		return &hostConn{opened, address}, nil
	}
}

// hostAddr is a net.Addr with the address as it was written in the URL.
type hostAddr string

// Network and String implement net.Addr.
func (hostAddr) Network() string  { return "tcp" }
func (a hostAddr) String() string { return string(a) }

// stripAddress removes the resolved address and the name server from an error.
func stripAddress(err error, address string) error {
	var (
		blocked   *BlockedError
		lookup    *net.DNSError
		operation *net.OpError
	)
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return err
	case errors.As(err, &blocked):
		return blocked
	case errors.As(err, &lookup):
		return &net.DNSError{
			UnwrapErr: lookup.UnwrapErr, Err: explainLookup(lookup), Name: lookup.Name,
			IsTimeout: lookup.IsTimeout, IsTemporary: lookup.IsTemporary, IsNotFound: lookup.IsNotFound,
		}
	case errors.As(err, &operation):
		return &net.OpError{Op: operation.Op, Net: operation.Net, Addr: hostAddr(address), Err: operation.Err}
	}
	return err
}

// explainLookup returns a text for a failed lookup. The library's own text may name the name server.
func explainLookup(lookup *net.DNSError) string {
	switch {
	case lookup.IsNotFound:
		return "no such host"
	case lookup.IsTimeout:
		return "the name server does not answer"
	}
	return "the name cannot be looked up"
}

// hostConn is a connection whose errors name the host as it was written.
type hostConn struct {
	net.Conn
	address string
}

// Read reads from the server.
func (c *hostConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	return n, stripAddress(err, c.address)
}

// Write writes to the server.
func (c *hostConn) Write(data []byte) (int, error) {
	n, err := c.Conn.Write(data)
	return n, stripAddress(err, c.address)
}

// RoundTrip sends one request.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	transport, known := t.schemes[request.URL.Scheme]
	if !known {
		return nil, &UnsupportedSchemeError{request.URL.Scheme}
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	response, err := transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	body := &idleBody{ReadCloser: response.Body, ctx: ctx, cancel: cancel, idle: t.idle}
	body.timer = time.AfterFunc(t.idle, func() { cancel(ErrStalled) })
	body.timer.Stop() // it runs while the body is read
	response.Body = body
	return response, nil
}

// idleBody is a body that fails when a single read takes longer than idle.
type idleBody struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // context of the request, which ends with its body
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer
	once   sync.Once
}

// Read reads the next bytes that the server sends.
func (b *idleBody) Read(into []byte) (int, error) {
	b.timer.Reset(b.idle)
	n, err := b.ReadCloser.Read(into)
	b.timer.Stop()
	if err != nil && errors.Is(context.Cause(b.ctx), ErrStalled) {
		err = ErrStalled
	}
	return n, err
}

// Close ends the request.
func (b *idleBody) Close() error {
	b.once.Do(func() {
		b.timer.Stop()
		b.cancel(nil)
	})
	return b.ReadCloser.Close()
}
