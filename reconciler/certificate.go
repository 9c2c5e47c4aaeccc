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

// certificate is the pair of files that the listeners use for TLS. Changed files are read again, so
// that a renewal needs no restart. A pair that does not match (one file is written before the
// other) leaves the last good one in use.
type certificate struct {
	certFile, keyFile string

	mu        sync.Mutex
	loaded    *tls.Certificate
	from      string    // times and sizes of the files that it was loaded from
	checkedAt time.Time // when the files were last checked
}

// certificateCheckInterval is the minimum interval between checks of the files, which happen on handshakes.
const certificateCheckInterval = 5 * time.Second

// newCertificate reads the files. It returns nil if neither is named.
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

// config returns the TLS configuration for a server.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil },
	}
}

// current returns the newest valid certificate.
func (c *certificate) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checkedAt) >= certificateCheckInterval {
		if err := c.load(); err != nil {
			slog.Warn("the TLS certificate on disk cannot be used; the previous one stays in use", "error", err)
		}
	}
	return c.loaded
}

// load reads the files if they have changed. The caller holds the lock or has the only reference.
func (c *certificate) load() error {
	c.checkedAt = time.Now()
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
