package sigstore_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/sigstore"
	"github.com/nuon-toolkit/nuon/pkg/sigstore/sigstoretest"
)

// certified returns a signature with a certificate that a test changed before it was issued.
func certified(i *sigstoretest.Instance, change func(template *x509.Certificate)) sigstoretest.Signed {
	c := claim()
	c.Change = change
	return i.Sign(c)
}

// named replaces the names of a certificate with encoded ones.
func named(names ...asn1.RawValue) func(template *x509.Certificate) {
	return func(template *x509.Certificate) {
		template.URIs = nil
		encoded, _ := asn1.Marshal(names)
		template.ExtraExtensions = append(template.ExtraExtensions,
			pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: encoded})
	}
}

// TestHostileCertificates: a certificate that its authority did issue, but not for one identity that signs code, signs
// nothing.
func TestHostileCertificates(t *testing.T) {
	const email, dns, uri = 1, 2, 6
	name := func(tag int, text string) asn1.RawValue {
		return asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: tag, Bytes: []byte(text)}
	}
	other := asn1.RawValue{Class: asn1.ClassContextSpecific, IsCompound: true,
		Bytes: []byte{6, 1, 42, 0xa0, 3, 12, 1, 'a'}}
	i := sigstoretest.New(t)
	const names, use = "does not name exactly one identity", "is not for signing code"
	const stranger = "made it, which is no authority"
	for title, test := range map[string]struct {
		change func(template *x509.Certificate)
		want   string
	}{
		"for any use":       {func(c *x509.Certificate) { c.ExtKeyUsage = nil }, use},
		"of an authority":   {func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = true, true }, use},
		"a host as well":    {func(c *x509.Certificate) { c.DNSNames = []string{"acme.test"} }, names},
		"an e-mail as well": {func(c *x509.Certificate) { c.EmailAddresses = []string{"eve@evil.test"} }, names},
		"two URIs": {func(c *x509.Certificate) {
			c.URIs = append(c.URIs, &url.URL{Scheme: "https", Host: "evil.test"})
		}, names},
		"a name of another kind as well": {named(other, name(uri, workflow)), names},
		"only a host":                    {named(name(dns, workflow)), names},
		"no name":                        {named(), names},
		"another branch, main#":          {named(name(uri, workflow+"#")), stranger},
		"another scheme":                 {named(name(uri, "HTTPS"+workflow[len("https"):])), stranger},
		"an e-mail and a line":           {named(name(email, workflow+"\n")), stranger},
		"two issuers": {func(c *x509.Certificate) {
			c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{
				Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}, Value: []byte("https://evil.test")})
		}, "names two issuers"},
		"no issuer": {func(c *x509.Certificate) { c.ExtraExtensions = nil }, stranger},
	} {
		t.Run(title, func(t *testing.T) {
			by, err := verify(t, i.TrustRoot(), certified(i, test.change), release)
			if err == nil || by >= 0 || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %d, %v, want %q", by, err, test.want)
			}
		})
	}
	same := func(c *x509.Certificate) {
		c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{
			Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}, Value: []byte(issuer)})
	}
	if _, err := verify(t, i.TrustRoot(), certified(i, same), release); err != nil {
		t.Errorf("the same issuer in both forms: %v", err)
	}
	old := func(c *x509.Certificate) {
		c.ExtraExtensions = nil
		same(c)
	}
	if _, err := verify(t, i.TrustRoot(), certified(i, old), release); err != nil {
		t.Errorf("the issuer in the old form: %v", err)
	}
}

// changed returns a trust root in which a test changed the first service of a list.
func changed(t *testing.T, root, list string, change func(service map[string]any)) string {
	t.Helper()
	var file map[string]any
	if err := json.Unmarshal([]byte(root), &file); err != nil {
		t.Fatal(err)
	}
	services, _ := file[list].([]any)
	service, _ := services[0].(map[string]any)
	if key, is := service["publicKey"].(map[string]any); is {
		service = key
	}
	change(service)
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPeriodsOfServices: a service of the trust root counts only in its period, and each has one.
func TestPeriodsOfServices(t *testing.T) {
	i := sigstoretest.New(t)
	s := i.Sign(claim())
	s.Timestamp = i.Timestamp(s.Value, sigstoretest.Start.Add(61*time.Minute))
	for _, list := range []string{"tlogs", "ctlogs", "certificateAuthorities", "timestampAuthorities"} {
		for _, promised := range []bool{true, false} {
			if !promised {
				delete(s.Entry, "inclusionPromise")
			}
			if _, err := verify(t, i.TrustRoot(), s, release); err != nil {
				t.Fatal(err)
			}
			ended := changed(t, i.TrustRoot(), list, func(service map[string]any) {
				service["validFor"] = map[string]any{"start": sigstoretest.Start, "end": sigstoretest.Start.Add(time.Minute)}
			})
			if by, err := verify(t, ended, s, release); err == nil || by >= 0 {
				t.Errorf("%s ended, promised %t: got %d, %v", list, promised, by, err)
			}
		}
		always := changed(t, i.TrustRoot(), list, func(service map[string]any) {
			service["validFor"] = map[string]any{"start": time.Time{}}
		})
		if _, err := verify(t, always, s, release); err != nil {
			t.Errorf("%s, from the first time of all: %v", list, err)
		}
		endless := changed(t, i.TrustRoot(), list, func(service map[string]any) { service["validFor"] = map[string]any{} })
		if _, err := sigstore.ParseTrustRoot(endless); err == nil ||
			!strings.Contains(err.Error(), list+"[0] of the trust root has no validFor.start") {
			t.Errorf("%s: got %v", list, err)
		}
		s = i.Sign(claim())
		s.Timestamp = i.Timestamp(s.Value, sigstoretest.Start.Add(61*time.Minute))
	}
}

// TestEveryTimeCounts: a certificate that was valid at only one of the proven times signs nothing.
func TestEveryTimeCounts(t *testing.T) {
	i := sigstoretest.New(t)
	s := i.Sign(claim())
	for at, want := range map[time.Duration]bool{61 * time.Minute: true, 3 * time.Hour: false, time.Minute: false} {
		s.Timestamp = i.Timestamp(s.Value, sigstoretest.Start.Add(at))
		by, err := verify(t, i.TrustRoot(), s, release)
		if want != (by == 0 && err == nil) {
			t.Errorf("%s: got %d, %v", at, by, err)
		}
	}
}

// TestLongCheckpoints: the signatures of a checkpoint that are tried are few.
func TestLongCheckpoints(t *testing.T) {
	i := sigstoretest.New(t)
	for lines, want := range map[int]bool{0: true, 10: true, 10_000: false} {
		s := i.Sign(claim())
		proof, _ := s.Entry["inclusionProof"].(map[string]any)
		checkpoint, _ := proof["checkpoint"].(map[string]any)
		envelope, _ := checkpoint["envelope"].(string)
		checkpoint["envelope"] = strings.Replace(envelope, "\n\n", "\n\n"+strings.Repeat("— witness AAAAAAA=\n", lines), 1)
		by, err := verify(t, i.TrustRoot(), s, release)
		if want != (by == 0 && err == nil) {
			t.Errorf("%d lines: got %d, %v", lines, by, err)
		}
	}
}

// TestKeysThatAreNotUsed: a key that is too weak, or so large that using it takes long, is an error.
func TestKeysThatAreNotUsed(t *testing.T) {
	weak, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	large := func(bits uint) *rsa.PublicKey {
		n := new(big.Int).Lsh(big.NewInt(1), bits-1)
		return &rsa.PublicKey{N: n.Add(n, big.NewInt(1)), E: 65537}
	}
	for _, test := range []struct {
		key  any
		want string
	}{
		{weak.Public(), "it has 224 bits, and needs at least 256"},
		{large(1024), "it has 1024 bits, and needs at least 2048"},
		{large(1 << 20), "it has 1048576 bits, and at most 16384 are supported"},
	} {
		der, err := x509.MarshalPKIXPublicKey(test.key)
		if err != nil {
			t.Fatal(err)
		}
		text := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
		if _, err := sigstore.ParsePublicKey(text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}
