package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pair writes a certificate with a new authority for a name, and returns the pool that trusts it.
func pair(t *testing.T, dir, name string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted, _ := x509.ParseCertificate(der) // it was created above
	pool := x509.NewCertPool()
	pool.AddCert(trusted)
	return pool
}

// TestCertificate checks that a listener uses the certificate on disk, uses a renewed one without a
// restart, and uses the last good one while the files do not match.
func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	first := pair(t, dir, "first.example")
	c, err := newCertificate(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{name: controlListener, listener: listener, tls: true, http: &http.Server{
		TLSConfig: c.config(), ReadHeaderTimeout: headerTime,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }),
	}}
	done := make(chan error, 1)
	go func() { done <- s.serve() }()
	defer func() {
		_ = s.http.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	if !strings.HasPrefix(s.url(), "https://") {
		t.Errorf("its address is %s", s.url())
	}
	get := func(pool *x509.CertPool) error {
		client := http.Client{
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true},
		}
		answer, err := client.Get(s.url())
		if err == nil {
			err = answer.Body.Close()
		}
		return err
	}
	lookAgain := func() { // as if the interval had passed
		c.mu.Lock()
		c.checkedAt = time.Time{}
		c.mu.Unlock()
	}
	if err := get(first); err != nil {
		t.Errorf("with the first certificate: %v", err)
	}
	renewed := t.TempDir()
	second := pair(t, renewed, "second.example")
	move := func(file string) {
		b, err := os.ReadFile(filepath.Join(renewed, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), b, 0o600)
		}
		if err == nil { // a different time, however coarse the file system's are
			err = os.Chtimes(filepath.Join(dir, file), time.Now(), time.Now().Add(time.Hour))
		}
		if err != nil {
			t.Fatal(err)
		}
		lookAgain()
	}
	move("tls.crt")
	if err := get(first); err != nil {
		t.Errorf("while only half is renewed: %v", err)
	}
	move("tls.key")
	if err := get(second); err != nil {
		t.Errorf("with the renewed certificate: %v", err)
	}
	if err := get(first); err == nil {
		t.Error("the old certificate is still used")
	}
}

func TestCertificateThatIsNone(t *testing.T) {
	if c, err := newCertificate("", ""); c != nil || err != nil {
		t.Errorf("without files: %v, %v", c, err)
	}
	for _, files := range [][2]string{{"a", ""}, {"", "b"}, {"/nowhere/a", "/nowhere/b"}} {
		if _, err := newCertificate(files[0], files[1]); err == nil {
			t.Errorf("%q was taken", files)
		}
	}
}
