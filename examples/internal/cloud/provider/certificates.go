package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // the tls provider's ids and fingerprints are SHA-1
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// createPrivateKey makes a real key.
func createPrivateKey(f *filler) error {
	key, err := generateKey(asText(f.top["algorithm"]), asInt(f.top["rsa_bits"], 2048), asText(f.top["ecdsa_curve"]))
	if err != nil {
		return err
	}
	private, pkcs8, err := encodeKey(key)
	if err != nil {
		return err
	}
	f.top["private_key_pem"], f.top["private_key_pem_pkcs8"] = string(private), string(pkcs8)
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil { // a curve that OpenSSH does not have
		f.top["private_key_openssh"] = ""
	} else {
		f.top["private_key_openssh"] = string(pem.EncodeToMemory(block))
	}
	return setPublicKey(f, key.Public())
}

// setPublicKey sets the forms of a public key, and the id.
func setPublicKey(f *filler, key crypto.PublicKey) error {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return err
	}
	f.top["public_key_pem"] = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	f.top["public_key_openssh"], f.top["public_key_fingerprint_md5"], f.top["public_key_fingerprint_sha256"] = "", "", ""
	if public, err := ssh.NewPublicKey(key); err == nil {
		f.top["public_key_openssh"] = string(ssh.MarshalAuthorizedKey(public))
		f.top["public_key_fingerprint_md5"] = ssh.FingerprintLegacyMD5(public)
		f.top["public_key_fingerprint_sha256"] = ssh.FingerprintSHA256(public)
	}
	return f.setID(digestOf(der))
}

func digestOf(der []byte) string {
	sum := sha1.Sum(der) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}

func generateKey(algorithm string, bits int, curve string) (crypto.Signer, error) {
	switch algorithm {
	case "RSA":
		return rsa.GenerateKey(rand.Reader, bits)
	case "ECDSA":
		curves := map[string]elliptic.Curve{"": elliptic.P224(), "P224": elliptic.P224(), "P256": elliptic.P256(),
			"P384": elliptic.P384(), "P521": elliptic.P521()}
		if curves[curve] == nil {
			return nil, fmt.Errorf("invalid ECDSA curve %q", curve)
		}
		return ecdsa.GenerateKey(curves[curve], rand.Reader)
	case "ED25519":
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}
	return nil, fmt.Errorf("invalid key algorithm %q: must be RSA, ECDSA or ED25519", algorithm)
}

// encodeKey returns the PEM of a key in the form of its kind, and in PKCS 8.
func encodeKey(key crypto.Signer) (own, pkcs8 []byte, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	pkcs8 = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), pkcs8, nil
	case *ecdsa.PrivateKey:
		der, err = x509.MarshalECPrivateKey(key)
		return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), pkcs8, err
	}
	return pkcs8, pkcs8, nil
}

// parseKey reads a private key in any of these forms, and returns its algorithm.
func parseKey(text string) (key crypto.Signer, algorithm string, err error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, "", errors.New("the private key is no PEM")
	}
	var parsed any
	switch block.Type {
	case "RSA PRIVATE KEY":
		parsed, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		parsed, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, "", err
	}
	switch parsed := parsed.(type) {
	case *rsa.PrivateKey:
		return parsed, "RSA", nil
	case *ecdsa.PrivateKey:
		return parsed, "ECDSA", nil
	case ed25519.PrivateKey:
		return parsed, "ED25519", nil
	}
	return nil, "", fmt.Errorf("a private key of type %T is not supported", parsed)
}

// subject returns the subject that the configuration describes.
func (f *filler) subject() pkix.Name {
	made := pkix.Name{}
	for _, s := range items(f.top["subject"], "list") {
		list := func(name string) []string {
			if text := asText(s[name]); text != "" {
				return []string{text}
			}
			return nil
		}
		made = pkix.Name{CommonName: asText(s["common_name"]), SerialNumber: asText(s["serial_number"]),
			Country: list("country"), Organization: list("organization"), OrganizationalUnit: list("organizational_unit"),
			Locality: list("locality"), Province: list("province"), PostalCode: list("postal_code"),
			StreetAddress: asTexts(s["street_address"])}
	}
	return made
}

// addresses returns the IP addresses and URIs of a certificate.
func (f *filler) addresses() (ips []net.IP, uris []*url.URL, err error) {
	for _, text := range asTexts(f.top["ip_addresses"]) {
		ip := net.ParseIP(text)
		if ip == nil {
			return nil, nil, fmt.Errorf("invalid IP address %q", text)
		}
		ips = append(ips, ip)
	}
	for _, text := range asTexts(f.top["uris"]) {
		uri, err := url.Parse(text)
		if err != nil {
			return nil, nil, err
		}
		uris = append(uris, uri)
	}
	return ips, uris, nil
}

func createCertRequest(f *filler) error {
	key, algorithm, err := parseKey(asText(f.top["private_key_pem"]))
	if err != nil {
		return err
	}
	ips, uris, err := f.addresses()
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: f.subject(),
		DNSNames: asTexts(f.top["dns_names"]), IPAddresses: ips, URIs: uris}, key)
	if err != nil {
		return err
	}
	f.top["key_algorithm"] = algorithm
	f.top["cert_request_pem"] = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	return f.setID(digestOf(der))
}

var keyUsages = map[string]x509.KeyUsage{"digital_signature": x509.KeyUsageDigitalSignature,
	"content_commitment": x509.KeyUsageContentCommitment, "key_encipherment": x509.KeyUsageKeyEncipherment,
	"data_encipherment": x509.KeyUsageDataEncipherment, "key_agreement": x509.KeyUsageKeyAgreement,
	"cert_signing": x509.KeyUsageCertSign, "crl_signing": x509.KeyUsageCRLSign}

var extendedUsages = map[string]x509.ExtKeyUsage{"any_extended": x509.ExtKeyUsageAny,
	"server_auth": x509.ExtKeyUsageServerAuth, "client_auth": x509.ExtKeyUsageClientAuth,
	"code_signing": x509.ExtKeyUsageCodeSigning, "email_protection": x509.ExtKeyUsageEmailProtection,
	"timestamping": x509.ExtKeyUsageTimeStamping, "ocsp_signing": x509.ExtKeyUsageOCSPSigning}

// certificateTemplate returns a certificate with the validity and the uses of the configuration, and
// sets the computed times.
func (f *filler) certificateTemplate() *x509.Certificate {
	start := time.Now().UTC().Truncate(time.Second)
	end := start.Add(time.Duration(asInt(f.top["validity_period_hours"], 0)) * time.Hour)
	made := &x509.Certificate{SerialNumber: randomSerial(), NotBefore: start, NotAfter: end, BasicConstraintsValid: true,
		IsCA: f.top["is_ca_certificate"] == true}
	for _, use := range asTexts(f.top["allowed_uses"]) {
		made.KeyUsage |= keyUsages[use]
		if extended, is := extendedUsages[use]; is {
			made.ExtKeyUsage = append(made.ExtKeyUsage, extended)
		}
	}
	f.top["validity_start_time"], f.top["validity_end_time"] = start.Format(time.RFC3339), end.Format(time.RFC3339)
	f.top["ready_for_renewal"] = false
	return made
}

func createSelfSigned(f *filler) error {
	key, algorithm, err := parseKey(asText(f.top["private_key_pem"]))
	if err != nil {
		return err
	}
	template := f.certificateTemplate()
	template.Subject, template.DNSNames = f.subject(), asTexts(f.top["dns_names"])
	if template.IPAddresses, template.URIs, err = f.addresses(); err != nil {
		return err
	}
	f.top["key_algorithm"] = algorithm
	return f.setCertificate(template, template, key.Public(), key)
}

func createLocallySigned(f *filler) error {
	request, err := parseRequest(asText(f.top["cert_request_pem"]))
	if err != nil {
		return err
	}
	authority, err := parseCertificate(asText(f.top["ca_cert_pem"]))
	if err != nil {
		return err
	}
	key, algorithm, err := parseKey(asText(f.top["ca_private_key_pem"]))
	if err != nil {
		return err
	}
	template := f.certificateTemplate()
	template.Subject, template.DNSNames = request.Subject, request.DNSNames
	template.IPAddresses, template.URIs = request.IPAddresses, request.URIs
	f.top["ca_key_algorithm"] = algorithm
	return f.setCertificate(template, authority, request.PublicKey, key)
}

func (f *filler) setCertificate(template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) error {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return err
	}
	f.top["cert_pem"] = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return f.setID(template.SerialNumber.String())
}

func parseRequest(text string) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the certificate request is no PEM")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

func parseCertificate(text string) (*x509.Certificate, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the certificate is no PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

// readPublicKey answers the data source tls_public_key.
func readPublicKey(f *filler) error {
	text := asText(f.top["private_key_pem"])
	if text == "" {
		parsed, err := ssh.ParseRawPrivateKey([]byte(asText(f.top["private_key_openssh"])))
		if err != nil {
			return err
		}
		signer, ok := parsed.(crypto.Signer)
		if !ok {
			return fmt.Errorf("a private key of type %T is not supported", parsed)
		}
		_, pkcs8, err := encodeKey(signer)
		if err != nil {
			return err
		}
		text = string(pkcs8)
	}
	key, algorithm, err := parseKey(text)
	if err != nil {
		return err
	}
	f.top["algorithm"] = algorithm
	return setPublicKey(f, key.Public())
}

// readCertificates answers the data source tls_certificate: the certificates in the content, or for
// a URL that of the cloud, as no server is asked.
func readCertificates(f *filler) error {
	text := asText(f.top["content"])
	if text == "" {
		a, err := loadAuthority(f.server.store.directory)
		if err != nil {
			return err
		}
		text = string(a.certificatePEM)
	}
	made := []any{}
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return err
		}
		made = append(made, object{"cert_pem": string(pem.EncodeToMemory(block)), "is_ca": c.IsCA,
			"issuer": c.Issuer.String(), "subject": c.Subject.String(), "serial_number": c.SerialNumber.String(),
			"not_before": c.NotBefore.Format(time.RFC3339), "not_after": c.NotAfter.Format(time.RFC3339),
			"public_key_algorithm": strings.ToUpper(c.PublicKeyAlgorithm.String()), "sha1_fingerprint": digestOf(c.Raw),
			"signature_algorithm": c.SignatureAlgorithm.String(), "version": asNumber(c.Version)})
	}
	f.top["certificates"] = made
	return f.setID(hash(text)[:40])
}
