package sigstore

import (
	"cmp"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cryptobyteasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// maxEntries bounds the entries and the timestamps of a signature.
const maxEntries = 10

// Signature is a signature of a message, with its proof if it is keyless.
type Signature struct {
	Message, Value []byte
	// Payload is what an envelope (DSSE) has, of which Message is the encoding with its type; nil without an envelope.
	Payload  []byte
	Material *Material
}

// Identity is who may sign: somebody or something that an issuer knows by Subject, or by a name that SubjectRegexp
// matches, anywhere in it.
type Identity struct {
	Issuer        string
	Subject       string
	SubjectRegexp string
}

// matches reports whether the identity is that of a certificate.
func (i Identity) matches(issuer, subject string) (bool, error) {
	if i.Issuer == "" || i.Issuer != issuer || subject == "" {
		return false, nil
	}
	if i.SubjectRegexp == "" {
		return i.Subject == subject, nil
	}
	expression, err := regexp.Compile(i.SubjectRegexp)
	if err != nil {
		return false, fmt.Errorf("subject_regexp: %w", err)
	}
	return expression.MatchString(subject), nil
}

// Verify returns which of the identities made a keyless signature, or an error that states why none of them did.
func (r *TrustRoot) Verify(s Signature, identities []Identity) (int, error) {
	leaf, err := x509.ParseCertificate(s.Material.leaf())
	if err != nil {
		return -1, errors.New("it has no certificate, so it is not keyless")
	}
	key, err := newPublicKey(leaf.PublicKey)
	if err != nil {
		return -1, fmt.Errorf("the key of its certificate: %w", err)
	}
	if !key.Verify(s.Message, s.Value) {
		return -1, errors.New("the key of its certificate did not make it")
	}
	times, err := r.times(s, leaf)
	if err != nil {
		return -1, err
	}
	chain, err := r.chain(leaf, times)
	if err != nil {
		return -1, err
	}
	if leaf.IsCA || !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageCodeSigning) {
		return -1, errors.New("its certificate is not for signing code")
	}
	if r.loggedCertificates {
		if err := r.verifyCertificateLog(leaf, chain); err != nil {
			return -1, err
		}
	}
	issuer, subject, err := identityOf(leaf)
	if err != nil {
		return -1, err
	}
	for n, i := range identities {
		if is, err := i.matches(issuer, subject); is || err != nil {
			return n, err
		}
	}
	return -1, fmt.Errorf("%.300q of issuer %.300q made it, which is no authority of verification", subject, issuer)
}

// times returns the proven times at which a signature existed. It requires an entry of the log if the root names one,
// and that each log was trusted at each of the times.
func (r *TrustRoot) times(s Signature, leaf *x509.Certificate) ([]time.Time, error) {
	if len(s.Material.Entries) > maxEntries || len(s.Material.Timestamps.RFC3161) > maxEntries {
		return nil, fmt.Errorf("it has more than %d entries of logs or timestamps", maxEntries)
	}
	var times []time.Time
	var trusted []period
	for _, e := range s.Material.Entries {
		at, log, err := r.verifyEntry(e, s, leaf)
		if err != nil {
			return nil, err
		}
		trusted = append(trusted, log.valid)
		if !at.IsZero() {
			times = append(times, at)
		}
	}
	if r.logged && len(s.Material.Entries) == 0 {
		return nil, errors.New("it has no entry of a transparency log, and the trust root requires one")
	}
	for _, timestamp := range s.Material.Timestamps.RFC3161 {
		at, err := r.verifyTimestamp(timestamp.Content, s.Value)
		if err != nil {
			return nil, err
		}
		times = append(times, at)
	}
	if len(times) == 0 {
		return nil, errors.New("nothing proves when it was made: it has neither a promise of the log nor a timestamp")
	}
	for _, at := range times {
		if slices.ContainsFunc(trusted, func(p period) bool { return !p.has(at) }) {
			return nil, errors.New("the trust root did not name the transparency log at the time of its entry")
		}
	}
	return times, nil
}

// chain returns the chain of a certificate that was valid at all of the proven times.
func (r *TrustRoot) chain(leaf *x509.Certificate, times []time.Time) (chain []*x509.Certificate, err error) {
	for _, at := range times {
		if at.Before(leaf.NotBefore) || at.After(leaf.NotAfter) {
			return nil, fmt.Errorf("it was made %s, and its certificate was valid from %s to %s",
				at.UTC().Format(time.RFC3339), leaf.NotBefore.UTC().Format(time.RFC3339),
				leaf.NotAfter.UTC().Format(time.RFC3339))
		}
		if chain, err = r.chainAt(leaf, at); err != nil {
			return nil, err
		}
	}
	return chain, nil
}

// chainAt returns the chain of a certificate that an authority of the root issued, at a time at which both counted.
func (r *TrustRoot) chainAt(leaf *x509.Certificate, at time.Time) ([]*x509.Certificate, error) {
	for _, a := range r.authorities {
		if !a.valid.has(at) {
			continue
		}
		if chain, err := a.verifyChain(leaf, at, x509.ExtKeyUsageCodeSigning); err == nil {
			return chain, nil
		}
	}
	return nil, errors.New("no authority of the trust root issued its certificate")
}

// The extensions in which Fulcio states the issuer of the identity: as a DER text, and before that as bare bytes. The
// identity is among the alternative names of the subject.
var (
	extensionIssuer    = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}
	extensionOldIssuer = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}
	extensionNames     = asn1.ObjectIdentifier{2, 5, 29, 17}
)

// The tags of alternative names.
const (
	nameEmail = 1
	nameURI   = 6
)

// identityOf returns the issuer and the subject that a certificate is for.
func identityOf(leaf *x509.Certificate) (issuer, subject string, err error) {
	old := ""
	for _, e := range leaf.Extensions {
		switch {
		case e.Id.Equal(extensionNames):
			subject = onlyName(e.Value)
		case e.Id.Equal(extensionOldIssuer):
			old = string(e.Value)
		case e.Id.Equal(extensionIssuer):
			if rest, err := asn1.UnmarshalWithParams(e.Value, &issuer, "utf8"); err != nil || len(rest) > 0 {
				return "", "", errors.New("the issuer in its certificate cannot be read")
			}
		}
	}
	switch {
	case subject == "":
		return "", "", errors.New("its certificate does not name exactly one identity, an e-mail address or a URI")
	case issuer != "" && old != "" && issuer != old:
		return "", "", errors.New("its certificate names two issuers")
	}
	return cmp.Or(issuer, old), subject, nil
}

// onlyName returns the name in the extension with the names of a certificate if it is an e-mail address or a URI, and
// the only one. It returns the text of the certificate: a parsed URI can differ from it, and be that of another branch.
func onlyName(extension []byte) string {
	input, names, name := cryptobyte.String(extension), cryptobyte.String(nil), cryptobyte.String(nil)
	var tag cryptobyteasn1.Tag
	if !input.ReadASN1(&names, cryptobyteasn1.SEQUENCE) || !input.Empty() || !names.ReadAnyASN1(&name, &tag) ||
		!names.Empty() || tag != cryptobyteasn1.Tag(nameEmail).ContextSpecific() &&
		tag != cryptobyteasn1.Tag(nameURI).ContextSpecific() {
		return ""
	}
	return string(name)
}
