package cloud

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// gateway is an HTTP proxy that leads to the simulated clusters. The addresses of clusters are those
// that the clouds would assign, such as NAME.gr7.REGION.eks.amazonaws.com. The gateway ends the TLS
// connections to those that exist, with a certificate of the cloud's authority, and forwards the
// requests that have the cloud's token or a client certificate to one real Kubernetes. It tunnels
// connections to all other addresses.
type gateway struct {
	store     string
	authority tls.Certificate
	roots     *x509.CertPool
	token     string
	file      string // has the address, for the providers
	upstream  string // proxy to all other hosts; empty for directly

	listener net.Listener
	proxy    *http.Server
	api      *http.Server
	accepted handover
	ended    chan error
}

// startGateway starts a gateway to the Kubernetes of a kubeconfig for the cloud in a directory.
func startGateway(dir, kubeconfig, upstream string) (*gateway, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the cluster: %w", err)
	}
	config.NextProtos = []string{"http/1.1"} // HTTP/2 has no upgrades, which exec and port forwarding need
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the cluster: %w", err)
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the cluster: %w", err)
	}
	g := &gateway{upstream: upstream, store: filepath.Join(dir, storeFile), roots: x509.NewCertPool(),
		ended:    make(chan error, 2),
		accepted: handover{connections: make(chan net.Conn), closed: make(chan struct{})}}
	if err := g.loadAuthority(dir); err != nil {
		return nil, err
	}
	if g.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("open the gateway to the clusters: %w", err)
	}
	g.proxy = &http.Server{Handler: http.HandlerFunc(g.connect), ReadHeaderTimeout: time.Minute}
	g.api = &http.Server{Handler: g.authenticate(&httputil.ReverseProxy{Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Del("Authorization")
		}}), ReadHeaderTimeout: time.Minute}
	g.file = filepath.Join(dir, gatewayFile)
	if err := os.WriteFile(g.file, []byte(g.url()), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("open the gateway to the clusters: %w", err), g.listener.Close())
	}
	go func() { g.ended <- g.proxy.Serve(g.listener) }()
	go func() { g.ended <- g.api.Serve(&g.accepted) }()
	return g, nil
}

func (g *gateway) loadAuthority(dir string) (err error) {
	g.authority, err = tls.LoadX509KeyPair(filepath.Join(dir, authorityFile), filepath.Join(dir, "authority.key"))
	if err != nil {
		return fmt.Errorf("load the authority of the clusters: %w", err)
	}
	if g.authority.Leaf, err = x509.ParseCertificate(g.authority.Certificate[0]); err != nil {
		return fmt.Errorf("load the authority of the clusters: %w", err)
	}
	g.roots.AddCert(g.authority.Leaf)
	token, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		return fmt.Errorf("load the token of the clusters: %w", err)
	}
	g.token = string(token)
	return nil
}

func (g *gateway) url() string { return "http://" + g.listener.Addr().String() }

func (g *gateway) close() error {
	err := errors.Join(os.Remove(g.file), g.proxy.Close(), g.api.Close())
	for range 2 {
		if ended := <-g.ended; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
	}
	return err
}

// connect answers a CONNECT request.
func (g *gateway) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT is supported", http.StatusMethodNotAllowed)
		return
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	clusters, err := readClusters(g.store)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	isCluster := clusters[strings.ToLower(host)]
	var outside net.Conn
	switch {
	case isCluster:
	case isClusterName(host):
		http.Error(w, "no such cluster", http.StatusBadGateway)
		return
	default:
		if outside, err = g.dial(r.Host); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
	}
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the connection is gone
	}
	_, _ = io.WriteString(connection, "HTTP/1.1 200 Connection established\r\n\r\n") // the next read reports an error
	if outside != nil {
		go tunnel(connection, outside)
		return
	}
	certificate, err := g.issue(host)
	if err != nil {
		_ = connection.Close()
		return
	}
	g.accepted.take(tls.Server(connection, &tls.Config{Certificates: []tls.Certificate{certificate}, ClientCAs: g.roots,
		ClientAuth: tls.VerifyClientCertIfGiven, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}))
}

// dial connects to an address that is none of a cluster.
func (g *gateway) dial(address string) (net.Conn, error) {
	if g.upstream == "" {
		return net.DialTimeout("tcp", address, time.Minute)
	}
	connection, err := net.DialTimeout("tcp", g.upstream, time.Minute)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(connection, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address)
	var answer *http.Response
	if err == nil { // a proxy sends nothing after its answer before the client does
		answer, err = http.ReadResponse(bufio.NewReader(connection), &http.Request{Method: http.MethodConnect})
	}
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the proxy answers %s", answer.Status)
	}
	if err != nil {
		return nil, errors.Join(err, connection.Close())
	}
	return connection, nil
}

// isClusterName reports whether a name is one that a cloud assigns to its clusters.
func isClusterName(host string) bool {
	host = strings.ToLower(host)
	return strings.HasSuffix(host, ".eks.amazonaws.com") || strings.HasSuffix(host, ".azmk8s.io") ||
		strings.HasPrefix(host, "198.18.")
}

// tunnel copies in both directions until either ends.
func tunnel(a, b net.Conn) {
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // the other side sees the end
			_ = pair[0].Close()
		})
	}
	both.Wait()
}

// authenticate passes on requests with the token or a client certificate.
func (g *gateway) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if len(r.TLS.PeerCertificates) == 0 && subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) != 1 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure",
				"message": "Unauthorized", "reason": "Unauthorized", "code": http.StatusUnauthorized})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// issue issues the certificate of a cluster.
func (g *gateway) issue(host string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "kube-apiserver"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{strings.ToLower(host)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, g.authority.Leaf, key.Public(), g.authority.PrivateKey)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// readClusters returns the addresses of the clusters in a store.
func readClusters(store string) (map[string]bool, error) {
	content, err := os.ReadFile(store)
	if err != nil {
		return nil, err
	}
	byKey := map[string][]string{}
	for line := range bytes.Lines(content) {
		if !bytes.Contains(line, []byte("_cluster/")) {
			continue
		}
		var record struct {
			Key    string
			Object struct {
				Endpoint, FQDN string
				PrivateFQDN    string `json:"private_fqdn"`
			}
		}
		if json.Unmarshal(line, &record) != nil { // a line that is being written, or a type with other attributes
			continue
		}
		switch typ, _, _ := strings.Cut(record.Key, "/"); typ {
		case "aws_eks_cluster", "google_container_cluster", "azurerm_kubernetes_cluster":
			o := record.Object
			byKey[record.Key] = []string{strings.TrimPrefix(o.Endpoint, "https://"), o.FQDN, o.PrivateFQDN}
		}
	}
	clusters := map[string]bool{}
	for _, addresses := range byKey {
		for _, address := range addresses {
			clusters[strings.ToLower(address)] = address != ""
		}
	}
	return clusters, nil
}

// handover is a listener for connections that somebody else accepted.
type handover struct {
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func (h *handover) take(connection net.Conn) {
	select {
	case h.connections <- connection:
	case <-h.closed:
		_ = connection.Close()
	}
}

// Accept returns the next connection.
func (h *handover) Accept() (net.Conn, error) {
	select {
	case connection := <-h.connections:
		return connection, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (h *handover) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

// Addr returns an address that means nothing, as the connections come from elsewhere.
func (h *handover) Addr() net.Addr { return &net.TCPAddr{} }
