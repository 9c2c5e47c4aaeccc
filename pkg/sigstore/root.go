package sigstore

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// rootMediaType starts the type of a trust root.
const rootMediaType = "application/vnd.dev.sigstore.trustedroot"

// maxServices bounds each list of a trust root.
const maxServices = 50

// TrustRoot is whom a verifier trusts: authorities of certificates and of timestamps, and logs of certificates and of
// signatures.
type TrustRoot struct {
	authorities []authority
	// certificateLogs and logs by the id of their key.
	certificateLogs, logs map[string]logKey
	timestamps            []authority
	// loggedCertificates and logged report whether the root names a log of certificates and a transparency log, also if
	// no key of them can be used.
	loggedCertificates, logged bool
}

// authority is a certificate authority: its certificates, those closest to what it issues first, the root last.
type authority struct {
	chain []*x509.Certificate
	valid period
}

// logKey is the key of a log.
type logKey struct {
	key   PublicKey
	valid period
}

// period is a time from Start to End; no End is forever. Start can be the first time of all, which some programs write,
// but not left out.
type period struct {
	Start *time.Time `json:"start"`
	End   *time.Time `json:"end"`
}

func (p period) has(at time.Time) bool {
	return p.Start != nil && !at.Before(*p.Start) && (p.End == nil || !at.After(*p.End))
}

// The JSON form of a trust root.
type (
	rootFile struct {
		MediaType              string          `json:"mediaType"`
		Logs                   []logFile       `json:"tlogs"`
		CertificateAuthorities []authorityFile `json:"certificateAuthorities"`
		CertificateLogs        []logFile       `json:"ctlogs"`
		TimestampAuthorities   []authorityFile `json:"timestampAuthorities"`
	}
	logFile struct {
		PublicKey struct {
			RawBytes []byte `json:"rawBytes"`
			ValidFor period `json:"validFor"`
		} `json:"publicKey"`
		ID struct {
			KeyID []byte `json:"keyId"`
		} `json:"logId"`
	}
	authorityFile struct {
		Chain    certificateChain `json:"certChain"`
		ValidFor period           `json:"validFor"`
	}
	certificateChain struct {
		Certificates []rawCertificate `json:"certificates"`
	}
	rawCertificate struct {
		RawBytes []byte `json:"rawBytes"`
	}
)

// ParseTrustRoot parses a trusted_root.json.
func ParseTrustRoot(text string) (*TrustRoot, error) {
	var file rootFile
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		return nil, fmt.Errorf("it is no trust root of Sigstore: %w", err)
	}
	if !strings.HasPrefix(file.MediaType, rootMediaType) {
		return nil, fmt.Errorf("it is no trust root of Sigstore: mediaType is %.100q, not %s+json;version=0.1",
			file.MediaType, rootMediaType)
	}
	r := &TrustRoot{loggedCertificates: len(file.CertificateLogs) > 0, logged: len(file.Logs) > 0}
	var err error
	if r.authorities, err = authorities("certificateAuthorities", file.CertificateAuthorities); err != nil {
		return nil, err
	}
	if r.timestamps, err = authorities("timestampAuthorities", file.TimestampAuthorities); err != nil {
		return nil, err
	}
	if r.certificateLogs, err = logKeys("ctlogs", file.CertificateLogs); err != nil {
		return nil, err
	}
	if r.logs, err = logKeys("tlogs", file.Logs); err != nil {
		return nil, err
	}
	switch {
	case len(r.authorities) == 0:
		return nil, errors.New("the trust root has no certificateAuthorities, so it trusts no certificate")
	case len(r.logs)+len(r.timestamps) == 0:
		return nil, errors.New("the trust root has neither tlogs nor timestampAuthorities, so nobody proves when an " +
			"image was signed")
	}
	return r, nil
}

func authorities(of string, files []authorityFile) ([]authority, error) {
	if len(files) > maxServices {
		return nil, fmt.Errorf("the trust root has more than %d %s", maxServices, of)
	}
	var made []authority
	for i, file := range files {
		if file.ValidFor.Start == nil {
			return nil, fmt.Errorf("%s[%d] of the trust root has no validFor.start", of, i)
		}
		a := authority{valid: file.ValidFor}
		for _, raw := range file.Chain.Certificates[:min(len(file.Chain.Certificates), maxServices)] {
			certificate, err := x509.ParseCertificate(raw.RawBytes)
			if err != nil {
				return nil, fmt.Errorf("%s[%d] of the trust root: %w", of, i, err)
			}
			a.chain = append(a.chain, certificate)
		}
		if len(a.chain) == 0 {
			return nil, fmt.Errorf("%s[%d] of the trust root has no certificate", of, i)
		}
		made = append(made, a)
	}
	return made, nil
}

// logKeys returns the keys of logs by their ids. A key of a kind that is not supported is left out, so that signatures
// that need it are refused.
func logKeys(of string, files []logFile) (map[string]logKey, error) {
	if len(files) > maxServices {
		return nil, fmt.Errorf("the trust root has more than %d %s", maxServices, of)
	}
	made := map[string]logKey{}
	for i, file := range files {
		if len(file.ID.KeyID) == 0 || len(file.PublicKey.RawBytes) == 0 {
			return nil, fmt.Errorf("%s[%d] of the trust root has no key or no id", of, i)
		}
		if file.PublicKey.ValidFor.Start == nil {
			return nil, fmt.Errorf("%s[%d] of the trust root has no validFor.start", of, i)
		}
		if _, twice := made[string(file.ID.KeyID)]; twice {
			return nil, fmt.Errorf("%s[%d] of the trust root has the id of another log", of, i)
		}
		key, err := parsePublicKey(file.PublicKey.RawBytes)
		if err != nil {
			continue
		}
		made[string(file.ID.KeyID)] = logKey{key, file.PublicKey.ValidFor}
	}
	return made, nil
}

// verifyChain verifies that an authority issued a certificate for a use that was valid at a time. It returns the
// chain.
func (a authority) verifyChain(
	leaf *x509.Certificate, at time.Time, use x509.ExtKeyUsage,
) ([]*x509.Certificate, error) {
	options := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: at,
		KeyUsages: []x509.ExtKeyUsage{use}}
	last := len(a.chain) - 1
	options.Roots.AddCert(a.chain[last])
	for _, c := range a.chain[:last] {
		options.Intermediates.AddCert(c)
	}
	chains, err := leaf.Verify(options)
	if err != nil {
		return nil, err
	}
	return chains[0], nil
}
