package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// kubeletClient names the files of the certificate with which the API server authenticates to the
// kubelet. Nobody else may read logs.
const kubeletClient = "kubelet-client"

// writeKubeletClient creates this certificate; each start creates a new one.
func writeKubeletClient(d *directory) error {
	cert, key, err := selfSigned("kube-apiserver", x509.ExtKeyUsageClientAuth)
	if err != nil {
		return err
	}
	return errors.Join(d.write(kubeletClient+".crt", cert), d.write(kubeletClient+".key", key))
}

// kubeletTLS returns the TLS config of the kubelet, which accepts only the API server as a client.
func kubeletTLS(d *directory) (*tls.Config, error) {
	written, err := os.ReadFile(d.path(kubeletClient + ".crt"))
	if err != nil {
		return nil, fmt.Errorf("read the API server's certificate: %w", err)
	}
	known, _ := pem.Decode(written)
	cert, key, err := selfSigned(nodeName, x509.ExtKeyUsageServerAuth)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12,
		VerifyPeerCertificate: func(shown [][]byte, _ [][]*x509.Certificate) error {
			if known == nil || len(shown) == 0 || !bytes.Equal(shown[0], known.Bytes) {
				return errors.New("only the API server may ask")
			}
			return nil
		},
	}, nil
}

// selfSigned creates a certificate for 127.0.0.1 and its key, both as PEM.
func selfSigned(name string, usage x509.ExtKeyUsage) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().AddDate(10, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate: %w", err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), nil
}
