package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// authority is the certificate authority of a cloud's clusters, with the token that they accept.
type authority struct {
	certificate    *x509.Certificate
	certificatePEM []byte
	key            crypto.Signer
	token          string
}

// The files of the authority in the directory of a cloud.
const (
	authorityFile    = "authority.pem"
	authorityKeyFile = "authority.key"
	tokenFile        = "token"
)

// createAuthority makes the authority of a cloud unless it has one.
func createAuthority(directory string) error {
	if _, err := os.Stat(filepath.Join(directory, tokenFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: randomSerial(), Subject: pkix.Name{CommonName: "simulated cloud"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	own, _, err := encodeKey(key)
	if err != nil {
		return err
	}
	// The token is last: a cloud that has it is complete.
	for _, file := range []struct{ name, content string }{
		{authorityFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))},
		{authorityKeyFile, string(own)},
		{tokenFile, "simulated-" + rand.Text()},
	} {
		if err := os.WriteFile(filepath.Join(directory, file.name), []byte(file.content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func loadAuthority(directory string) (*authority, error) {
	var contents [3][]byte
	for i, name := range []string{authorityFile, authorityKeyFile, tokenFile} {
		var err error
		if contents[i], err = os.ReadFile(filepath.Join(directory, name)); err != nil {
			return nil, err
		}
	}
	certificate, err := parseCertificate(string(contents[0]))
	if err != nil {
		return nil, err
	}
	key, _, err := parseKey(string(contents[1]))
	if err != nil {
		return nil, err
	}
	return &authority{certificate, contents[0], key, string(contents[2])}, nil
}

// issueClient issues a client certificate and its key, as PEM.
func (a *authority) issueClient(name string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: randomSerial(),
		Subject:   pkix.Name{CommonName: name, Organization: []string{"system:masters"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(2, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, a.certificate, private.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	own, _, err := encodeKey(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), own, err
}
