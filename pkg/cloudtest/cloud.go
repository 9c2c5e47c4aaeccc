// Package cloudtest runs small stand-ins of the clouds on the loopback address for tests: the security
// token service and the instance metadata of AWS, the metadata servers and token keys of GCP and
// Azure, and other hosts that a test adds. They speak the clouds' own formats, so the clouds' own
// libraries talk to them, through an HTTPS proxy that ends the TLS connections to the clouds' host
// names. A program under test needs only the variables of Environ.
package cloudtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Cloud is a running simulated cloud. Its methods are safe for concurrent use.
type Cloud struct {
	AWS   *AWS
	GCP   *GCP
	Azure *Azure

	authority *x509.Certificate
	key       *ecdsa.PrivateKey
	roots     *x509.CertPool
	file      string // of the authority
	proxy     *url.URL
	address   string // of the TLS listener
	servers   []*http.Server

	mu        sync.Mutex
	hosts     map[string]http.Handler
	offset    time.Duration
	throttled map[string]int
	requests  []Request
}

// Request is a request that the cloud received.
type Request struct{ Method, Host, Path, Action string }

// Start starts a cloud that writes the certificate of its authority into dir. Close ends it.
func Start(dir string) (*Cloud, error) {
	c := &Cloud{hosts: map[string]http.Handler{}, throttled: map[string]int{},
		file: filepath.Join(dir, "cloud-authority.pem")}
	if err := c.newAuthority(); err != nil {
		return nil, fmt.Errorf("make the authority of the simulated cloud: %w", err)
	}
	c.AWS, c.GCP, c.Azure = newAWS(c), newGCP(c), newAzure(c)

	secure := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.issue}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", secure)
	if err != nil {
		return nil, fmt.Errorf("open the simulated cloud: %w", err)
	}
	c.address = listener.Addr().String()
	c.serve(listener, http.HandlerFunc(c.dispatch))
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the proxy to the simulated cloud: %w", err), c.Close())
	}
	c.proxy = &url.URL{Scheme: "http", Host: proxy.Addr().String()}
	c.serve(proxy, http.HandlerFunc(c.connect))
	return c, nil
}

// Close ends the cloud.
func (c *Cloud) Close() error {
	var errs []error
	for _, s := range c.servers {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

func (c *Cloud) serve(l net.Listener, handler http.Handler) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	c.servers = append(c.servers, server)
	go func() { _ = server.Serve(l) }() // it ends with Close
}

// Environ returns the variables by which a program talks to this cloud and not to a real one.
func (c *Cloud) Environ() []string {
	return []string{"HTTPS_PROXY=" + c.proxy.String(), "https_proxy=" + c.proxy.String(),
		"NO_PROXY=127.0.0.1,localhost,::1", "no_proxy=127.0.0.1,localhost,::1", "SSL_CERT_FILE=" + c.file,
		"AWS_CA_BUNDLE=" + c.file}
}

// Proxy returns the address HOST:PORT of the proxy that leads to this cloud.
func (c *Cloud) Proxy() string { return c.proxy.Host }

// Client returns an HTTP client that talks to this cloud.
func (c *Cloud) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			if r.URL.Scheme == "http" { // a metadata service
				return nil, nil
			}
			return c.proxy, nil
		},
		TLSClientConfig: &tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12},
	}}
}

// Handle serves a host, such as secretsmanager.*.amazonaws.com, where * stands for one label. Each request is recorded,
// and counts for Throttle.
func (c *Cloud) Handle(host string, handler http.Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hosts[host] = handler
}

// MoveClock moves the clock of the cloud. Its clients keep theirs.
func (c *Cloud) MoveClock(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += by
}

// Now returns the time of the cloud's clock.
func (c *Cloud) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

// Throttle makes a host refuse the next requests as too many, in the format of its cloud.
func (c *Cloud) Throttle(host string, requests int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.throttled[host] = requests
}

// Requests returns what the cloud received so far.
func (c *Cloud) Requests() []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Request(nil), c.requests...)
}

// dispatch passes a request on to the handler of its host.
func (c *Cloud) dispatch(w http.ResponseWriter, r *http.Request) {
	host, _, found := strings.Cut(r.Host, ":")
	if !found {
		host = r.Host
	}
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	}
	pattern, handler, throttled := c.find(host, Request{Method: r.Method, Host: host, Path: r.URL.Path,
		Action: r.Header.Get("X-Amz-Target")})
	switch {
	case handler == nil:
		http.Error(w, "the simulated cloud has no host "+host, http.StatusBadGateway)
	case throttled && strings.HasSuffix(pattern, ".amazonaws.com"):
		writeAWSError(w, http.StatusBadRequest, "Throttling", "Rate exceeded")
	case throttled:
		http.Error(w, "too many requests", http.StatusTooManyRequests)
	default:
		handler.ServeHTTP(w, r)
	}
}

// find returns the handler of a host and records the request.
func (c *Cloud) find(host string, request Request) (pattern string, handler http.Handler, throttled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, request)
	for p, h := range c.hosts {
		if matches(p, host) {
			pattern, handler = p, h
		}
	}
	for _, name := range []string{host, pattern} {
		if c.throttled[name] > 0 {
			c.throttled[name]--
			return pattern, handler, true
		}
	}
	return pattern, handler, false
}

// matches reports whether a host matches a pattern, in which * stands for one label.
func matches(pattern, host string) bool {
	want, got := strings.Split(pattern, "."), strings.Split(strings.ToLower(host), ".")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != "*" && want[i] != got[i] {
			return false
		}
	}
	return true
}

// connect answers a CONNECT request by a tunnel to the TLS listener.
func (c *Cloud) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT is supported", http.StatusMethodNotAllowed)
		return
	}
	inside, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", c.address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	outside, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = inside.Close()
		return
	}
	_, _ = io.WriteString(outside, "HTTP/1.1 200 Connection established\r\n\r\n") // the copies report errors
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{inside, outside}, {outside, inside}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // the other side sees the end
			_ = pair[0].Close()
		})
	}
	both.Wait()
}

// newAuthority makes the authority that issues the certificates of all hosts.
func (c *Cloud) newAuthority() (err error) {
	if c.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "simulated cloud"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().AddDate(1, 0, 0), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, c.key.Public(), c.key)
	if err != nil {
		return err
	}
	if c.authority, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	c.roots = x509.NewCertPool()
	c.roots.AddCert(c.authority)
	return os.WriteFile(c.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}

// issue issues the certificate of a host.
func (c *Cloud) issue(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: serial, DNSNames: []string{hello.ServerName},
		Subject: pkix.Name{CommonName: hello.ServerName}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().AddDate(0, 1, 0), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, c.authority, c.key.Public(), c.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: c.key}, err
}

// servePlain serves a handler without TLS, as metadata services are, and returns its address HOST:PORT.
func (c *Cloud) servePlain(handler http.Handler) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("open a metadata service: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serve(l, handler)
	return l.Addr().String(), nil
}
