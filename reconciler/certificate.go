package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is the pair of files with which the listeners speak TLS. They are read again when they have changed, so that a renewal
// needs no restart; a pair that does not fit (one of the two is written before the other) leaves the last good one in use.
type certificate struct {
	certFile, keyFile string

	mu     sync.Mutex
	loaded *tls.Certificate
	from   string    // what the files looked like that it was loaded from
	looked time.Time // when they were last looked at
}

// certificateLook is how often the files are looked at, at most: once in so many handshakes as come in this time.
const certificateLook = 5 * time.Second

// newCertificate reads the files; nil when neither is named.
func newCertificate(certFile, keyFile string) (*certificate, error) {
	if certFile == "" && keyFile == "" {
		return nil, nil //nolint:nilnil // no certificate is no error
	}
	if certFile == "" || keyFile == "" {
		return nil, errors.New("TLS needs both --tls-cert and --tls-key")
	}
	c := &certificate{certFile: certFile, keyFile: keyFile}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return c, nil
}

// config is for a server.
func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now(), nil }}
}

// now is the newest good certificate.
func (c *certificate) now() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) >= certificateLook {
		if err := c.load(); err != nil {
			slog.Warn("the TLS certificate on disk cannot be used; the one before it stays in use", "error", err)
		}
	}
	return c.loaded
}

// load reads the files if they have changed. The caller holds the lock, or is alone.
func (c *certificate) load() error {
	c.looked = time.Now()
	look := ""
	for _, file := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		look += fmt.Sprintf("%s %d;", info.ModTime(), info.Size())
	}
	if look == c.from {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.loaded, c.from = &pair, look
	return nil
}
