package sigstore_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/sigstore"
	"github.com/nuon-toolkit/nuon/pkg/sigstore/sigstoretest"
)

const (
	issuer   = "https://token.actions.githubusercontent.com"
	workflow = "https://github.com/acme/api/.github/workflows/release.yml@refs/heads/main"
)

var (
	message = []byte(`{"critical":{}}`)
	payload = []byte(`{"_type":"https://in-toto.io/Statement/v1"}`)
	release = sigstore.Identity{Issuer: issuer, Subject: workflow}
)

// verify verifies a signature of the message with the proof in the form of a bundle.
func verify(t *testing.T, root string, s sigstoretest.Signed, identities ...sigstore.Identity) (int, error) {
	t.Helper()
	text, err := json.Marshal(s.Material())
	if err != nil {
		t.Fatal(err)
	}
	var material sigstore.Material
	if err := json.Unmarshal(text, &material); err != nil {
		t.Fatal(err)
	}
	return mustRoot(t, root).Verify(sigstore.Signature{Message: message, Value: s.Value, Payload: payload,
		Material: &material}, identities)
}

func mustRoot(t *testing.T, text string) *sigstore.TrustRoot {
	t.Helper()
	root, err := sigstore.ParseTrustRoot(text)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func claim() sigstoretest.Claim {
	return sigstoretest.Claim{Message: message, Payload: payload, Issuer: issuer, Subject: workflow}
}

// TestKeyless: every form in which the log and the timestamp authority prove a signature is accepted.
func TestKeyless(t *testing.T) {
	i := sigstoretest.New(t)
	unpromised := func(s sigstoretest.Signed) sigstoretest.Signed {
		delete(s.Entry, "inclusionPromise")
		delete(s.Entry, "integratedTime")
		s.Timestamp = i.Timestamp(s.Value, sigstoretest.Start.Add(61*time.Minute))
		return s
	}
	kind := func(kind string) sigstoretest.Signed {
		c := claim()
		c.Kind = kind
		return i.Sign(c)
	}
	for name, test := range map[string]struct {
		signed  sigstoretest.Signed
		without []string
	}{
		"promise and proof": {signed: i.Sign(claim())},
		"promise": {signed: func() sigstoretest.Signed {
			s := i.Sign(claim())
			delete(s.Entry, "inclusionProof")
			return s
		}()},
		"proof and timestamp": {signed: unpromised(i.Sign(claim()))},
		"hashedrekord/0.0.2":  {signed: unpromised(kind("hashedrekord/0.0.2"))},
		"dsse/0.0.1":          {signed: kind("dsse/0.0.1")},
		"dsse/0.0.2":          {signed: unpromised(kind("dsse/0.0.2"))},
		"only a timestamp": {signed: func() sigstoretest.Signed {
			s := unpromised(i.Sign(claim()))
			s.Entry = nil
			return s
		}(), without: []string{"tlogs"}},
		"no log of certificates": {signed: func() sigstoretest.Signed {
			c := claim()
			c.WithoutCertificateLog = true
			return i.Sign(c)
		}(), without: []string{"ctlogs"}},
	} {
		t.Run(name, func(t *testing.T) {
			other := sigstore.Identity{Issuer: issuer, Subject: "other"}
			if by, err := verify(t, i.TrustRoot(test.without...), test.signed, other, release); by != 1 || err != nil {
				t.Errorf("got %d, %v", by, err)
			}
			if test.signed.Entry == nil || test.signed.Entry["inclusionPromise"] == nil {
				return
			}
			// cosign's annotations have the promise.
			root := mustRoot(t, i.TrustRoot(test.without...))
			by, err := root.Verify(sigstore.Signature{Message: message, Value: test.signed.Value, Payload: payload,
				Material: sigstore.MaterialOf(test.signed.Annotations())}, []sigstore.Identity{release})
			if by != 0 || err != nil {
				t.Errorf("annotations: got %d, %v", by, err)
			}
		})
	}
}

// TestIdentities: an identity has the issuer and the name of the certificate.
func TestIdentities(t *testing.T) {
	i := sigstoretest.New(t)
	mail := claim()
	mail.Issuer, mail.Subject = "https://accounts.google.com", "ada@acme.test"
	line, longer := mail, mail
	line.Subject += "\n"
	longer.Subject += ".evil.test"
	for _, test := range []struct {
		signed sigstoretest.Signed
		by     sigstore.Identity
		want   bool
	}{
		{i.Sign(claim()), release, true},
		{i.Sign(mail), sigstore.Identity{Issuer: mail.Issuer, Subject: mail.Subject}, true},
		{i.Sign(mail), sigstore.Identity{Issuer: mail.Issuer, SubjectRegexp: `^ada@acme\.test$`}, true},
		{i.Sign(line), sigstore.Identity{Issuer: mail.Issuer, SubjectRegexp: `^ada@acme\.test$`}, false},
		{i.Sign(longer), sigstore.Identity{Issuer: mail.Issuer, SubjectRegexp: `^ada@acme\.test$`}, false},
		{i.Sign(longer), sigstore.Identity{Issuer: mail.Issuer, SubjectRegexp: `^ada@acme\.test`}, true},
		{i.Sign(claim()), sigstore.Identity{Issuer: issuer, SubjectRegexp: `^https://github\.com/acme/`}, true},
		{i.Sign(claim()), sigstore.Identity{Issuer: issuer, SubjectRegexp: `/release\.yml@`}, true},
		{i.Sign(claim()), sigstore.Identity{Issuer: issuer, SubjectRegexp: `^https://github\.com/other/`}, false},
		{i.Sign(claim()), sigstore.Identity{Issuer: issuer, Subject: "https://github.com/acme/"}, false},
		{i.Sign(claim()), sigstore.Identity{Issuer: mail.Issuer, Subject: workflow}, false},
		{i.Sign(claim()), sigstore.Identity{Subject: workflow}, false},
		{i.Sign(claim()), sigstore.Identity{Issuer: issuer}, false},
		{i.Sign(claim()), sigstore.Identity{Issuer: issuer, SubjectRegexp: "("}, false},
	} {
		by, err := verify(t, i.TrustRoot(), test.signed, test.by)
		if test.want != (by == 0 && err == nil) {
			t.Errorf("%+v: got %d, %v", test.by, by, err)
		}
	}
	_, err := verify(t, i.TrustRoot(), i.Sign(mail), release)
	if want := `"ada@acme.test" of issuer "https://accounts.google.com" made it`; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestHostileSignatures: a signature with one fault in its proof is none.
func TestHostileSignatures(t *testing.T) {
	i, stranger := sigstoretest.New(t), sigstoretest.New(t)
	at := sigstoretest.Start.Add(time.Hour)
	signed := func(change func(c *sigstoretest.Claim)) sigstoretest.Signed {
		c := claim()
		change(&c)
		return i.Sign(c)
	}
	of := func(change func(s *sigstoretest.Signed)) sigstoretest.Signed {
		s := i.Sign(claim())
		change(&s)
		return s
	}
	entry := func(change func(entry map[string]any)) sigstoretest.Signed {
		return of(func(s *sigstoretest.Signed) { change(s.Entry) })
	}
	inside := func(entry map[string]any, key string) map[string]any {
		found, _ := entry[key].(map[string]any)
		return found
	}
	timestamped := func(at time.Time, by *sigstoretest.Instance, about []byte) sigstoretest.Signed {
		return of(func(s *sigstoretest.Signed) {
			delete(s.Entry, "inclusionPromise")
			if about == nil {
				about = s.Value
			}
			s.Timestamp = by.Timestamp(about, at)
		})
	}
	for name, test := range map[string]struct {
		signed sigstoretest.Signed
		want   string
	}{
		"of another instance": {stranger.Sign(claim()), "log that the trust root does not name"},
		"a chain that is not of the root": {of(func(s *sigstoretest.Signed) {
			foreign := stranger.Sign(claim())
			s.Value, s.Certificate = foreign.Value, foreign.Certificate
			s.Entry = i.Entry(sigstoretest.Claim{Message: message, Logged: at}, foreign)
		}), "no authority of the trust root issued its certificate"},
		"an expired certificate": {signed(func(c *sigstoretest.Claim) { c.Logged = at.Add(time.Hour) }),
			"its certificate was valid from"},
		"before the certificate": {signed(func(c *sigstoretest.Claim) { c.Issued, c.Logged = at, at.Add(-time.Hour) }),
			"its certificate was valid from"},
		"before the instance": {signed(func(c *sigstoretest.Claim) {
			c.Issued = sigstoretest.Start.Add(-time.Hour)
		}), "did not name the transparency log at the time"},
		"not in the log of certificates": {signed(func(c *sigstoretest.Claim) { c.WithoutCertificateLog = true }),
			"no promise of a log of certificates"},
		"of another message": {signed(func(c *sigstoretest.Claim) { c.Message = []byte("other") }),
			"the key of its certificate did not make it"},
		"another value": {of(func(s *sigstoretest.Signed) { s.Value = i.Sign(claim()).Value }),
			"the key of its certificate did not make it"},
		"no certificate": {of(func(s *sigstoretest.Signed) { s.Certificate = nil }), "it has no certificate"},
		"no entry":       {of(func(s *sigstoretest.Signed) { s.Entry = nil }), "no entry of a transparency log"},
		"the entry of another message": {signed(func(c *sigstoretest.Claim) { c.About = []byte("other") }),
			"is of another signature"},
		"the entry of another signature": {of(func(s *sigstoretest.Signed) { s.Entry = i.Sign(claim()).Entry }),
			"is of another signature"},
		"the entry of another payload": {signed(func(c *sigstoretest.Claim) { c.Kind, c.About = "dsse/0.0.1", message }),
			"is of another signature"},
		"an entry of another kind": {signed(func(c *sigstoretest.Claim) { c.Kind = "rekord/0.0.1" }),
			"is of another signature"},
		"a forged promise": {entry(func(e map[string]any) {
			inside(e, "inclusionPromise")["signedEntryTimestamp"] = []byte("forged")
		}), "did not sign the promise"},
		"a promise of another log": {of(func(s *sigstoretest.Signed) {
			foreign := stranger.Entry(claim(), *s)
			s.Entry["inclusionPromise"] = foreign["inclusionPromise"]
		}), "did not sign the promise"},
		"another time": {entry(func(e map[string]any) { e["integratedTime"] = fmt.Sprint(at.Add(time.Second).Unix()) }),
			"did not sign the promise"},
		"another index": {entry(func(e map[string]any) { e["logIndex"] = "7" }), "did not sign the promise"},
		"neither promise nor proof": {entry(func(e map[string]any) {
			delete(e, "inclusionPromise")
			delete(e, "inclusionProof")
		}), "neither a promise nor a proof"},
		"a proof without a time": {entry(func(e map[string]any) { delete(e, "inclusionPromise") }),
			"nothing proves when it was made"},
		"a proof of another entry": {entry(func(e map[string]any) { inside(e, "inclusionProof")["logIndex"] = "0" }),
			"does not show that the transparency log has its entry"},
		"a proof with other hashes": {entry(func(e map[string]any) {
			inside(e, "inclusionProof")["hashes"] = [][]byte{make([]byte, 32), make([]byte, 32)}
		}), "does not show that the transparency log has its entry"},
		"a proof with endless hashes": {entry(func(e map[string]any) {
			inside(e, "inclusionProof")["hashes"] = make([][]byte, 1000)
		}), "does not show that the transparency log has its entry"},
		"a proof of another tree": {entry(func(e map[string]any) {
			inside(e, "inclusionProof")["rootHash"] = make([]byte, 32)
		}), "does not show that the transparency log has its entry"},
		"a checkpoint of another log": {of(func(s *sigstoretest.Signed) {
			foreign := stranger.Entry(claim(), *s)
			inside(s.Entry, "inclusionProof")["checkpoint"] = inside(foreign, "inclusionProof")["checkpoint"]
		}), "did not sign the checkpoint"},
		"a checkpoint without a signature": {entry(func(e map[string]any) {
			inside(inside(e, "inclusionProof"), "checkpoint")["envelope"] = "log\n3\nAAAA\n"
		}), "did not sign the checkpoint"},
		"a timestamp after the certificate": {timestamped(at.Add(time.Hour), i, nil), "its certificate was valid from"},
		"a timestamp of another authority": {timestamped(at.Add(time.Minute), stranger, nil),
			"no timestamp authority of the trust root"},
		"a timestamp of another signature": {timestamped(at.Add(time.Minute), i, []byte("other")),
			"its timestamp is of another signature"},
		"a timestamp that is none": {of(func(s *sigstoretest.Signed) { s.Timestamp = []byte("0") }),
			"its timestamp cannot be read"},
		"a changed timestamp": {of(func(s *sigstoretest.Signed) {
			made := string(i.Timestamp(s.Value, at))
			s.Timestamp = []byte(strings.Replace(made, "20260101010000Z", "20260101010100Z", 1))
		}), "of other content"},
		"a hundred entries": {signed(func(*sigstoretest.Claim) {}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			root, by, err := i.TrustRoot(), 0, error(nil)
			if test.want == "" {
				by, err = manyEntries(t, root, test.signed)
				test.want = "more than 10 entries"
			} else {
				by, err = verify(t, root, test.signed, release)
			}
			if err == nil || by >= 0 || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %d, %v, want %q", by, err, test.want)
			}
		})
	}
}

func manyEntries(t *testing.T, root string, s sigstoretest.Signed) (int, error) {
	t.Helper()
	m := sigstore.MaterialOf(s.Annotations())
	for range 100 {
		m.Entries = append(m.Entries, m.Entries[0])
	}
	return mustRoot(t, root).Verify(sigstore.Signature{Message: message, Value: s.Value, Payload: payload, Material: m},
		[]sigstore.Identity{release})
}

// TestTrustRoots: a trust root that could accept nothing, or is none, is an error.
func TestTrustRoots(t *testing.T) {
	i := sigstoretest.New(t)
	for text, want := range map[string]string{
		"":                                    "it is no trust root",
		"{}":                                  "mediaType is",
		i.TrustRoot("certificateAuthorities"): "no certificateAuthorities",
		i.TrustRoot("tlogs", "timestampAuthorities"):                          "nobody proves when",
		strings.Replace(i.TrustRoot(), `"rawBytes":"`, `"rawBytes":"AAAA`, 1): "certificateAuthorities[0]",
	} {
		if _, err := sigstore.ParseTrustRoot(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got %v, want %q", text, err, want)
		}
	}
	// A log with a key that cannot be used does not make its entries optional.
	log := strings.Replace(i.TrustRoot(), `"keyDetails":"PKIX_ECDSA_P256_SHA_256","rawBytes":"`,
		`"keyDetails":"PKIX_NEW","rawBytes":"AAAA`, -1)
	s := i.Sign(claim())
	s.Timestamp = i.Timestamp(s.Value, sigstoretest.Start.Add(61*time.Minute))
	for _, entry := range []map[string]any{s.Entry, nil} {
		s.Entry = entry
		if by, err := verify(t, log, s, release); err == nil || by >= 0 {
			t.Errorf("got %d, %v", by, err)
		}
	}
}

// FuzzMaterial: no proof makes the verifier panic.
func FuzzMaterial(f *testing.F) {
	i := sigstoretest.New(f)
	s := i.Sign(claim())
	s.Timestamp = i.Timestamp(s.Value, sigstoretest.Start.Add(61*time.Minute))
	text, _ := json.Marshal(s.Material())
	f.Add(text, s.Value)
	root, err := sigstore.ParseTrustRoot(i.TrustRoot())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, value []byte) {
		var material sigstore.Material
		if json.Unmarshal(text, &material) != nil {
			return
		}
		_, _ = root.Verify(sigstore.Signature{Message: message, Value: value, Material: &material},
			[]sigstore.Identity{release})
	})
}
