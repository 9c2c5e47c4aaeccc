package sigstore

import (
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"strconv"
	"strings"
)

// Material is the proof of a keyless signature, in the form that bundles of Sigstore have (verificationMaterial).
type Material struct {
	Certificate *rawCertificate   `json:"certificate"`
	Chain       *certificateChain `json:"x509CertificateChain"`
	Entries     []Entry           `json:"tlogEntries"`
	Timestamps  struct {
		RFC3161 []signedTimestamp `json:"rfc3161Timestamps"`
	} `json:"timestampVerificationData"`
}

type signedTimestamp struct {
	Content []byte `json:"signedTimestamp"`
}

// Entry is an entry of a transparency log. It has the log's promise, a proof that the log has the entry, or both.
type Entry struct {
	Index integer `json:"logIndex"`
	Log   struct {
		KeyID []byte `json:"keyId"`
	} `json:"logId"`
	IntegratedTime integer         `json:"integratedTime"`
	Promise        *promise        `json:"inclusionPromise"`
	Proof          *inclusionProof `json:"inclusionProof"`
	Body           []byte          `json:"canonicalizedBody"`
}

type promise struct {
	Signature []byte `json:"signedEntryTimestamp"`
}

type inclusionProof struct {
	Index      integer  `json:"logIndex"`
	RootHash   []byte   `json:"rootHash"`
	TreeSize   integer  `json:"treeSize"`
	Hashes     [][]byte `json:"hashes"`
	Checkpoint *struct {
		Envelope string `json:"envelope"`
	} `json:"checkpoint"`
}

// integer is a number that JSON has as text or as a number.
type integer int64

// UnmarshalJSON reads the number.
func (i *integer) UnmarshalJSON(content []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(content), `"`), 10, 64)
	*i = integer(n)
	return err
}

// leaf returns the certificate of the signer in DER, nil if there is none.
func (m *Material) leaf() []byte {
	switch {
	case m == nil:
		return nil
	case m.Certificate != nil:
		return m.Certificate.RawBytes
	case m.Chain != nil && len(m.Chain.Certificates) > 0:
		return m.Chain.Certificates[0].RawBytes
	}
	return nil
}

// The annotations in which cosign stores the proof of a signature that is no bundle.
const (
	annotationCertificate = "dev.sigstore.cosign/certificate"
	annotationBundle      = "dev.sigstore.cosign/bundle"
	annotationTimestamp   = "dev.sigstore.cosign/rfc3161timestamp"
)

// MaterialOf returns the proof of a signature that cosign stored under a tag, from the annotations of its layer. It
// leaves out what cannot be read.
func MaterialOf(annotations map[string]string) *Material {
	block, _ := pem.Decode([]byte(annotations[annotationCertificate]))
	if block == nil {
		return nil
	}
	m := &Material{Certificate: &rawCertificate{block.Bytes}}
	var entry struct {
		SignedEntryTimestamp []byte
		Payload              struct {
			Body           []byte  `json:"body"`
			IntegratedTime integer `json:"integratedTime"`
			Index          integer `json:"logIndex"`
			LogID          string  `json:"logID"`
		}
	}
	if json.Unmarshal([]byte(annotations[annotationBundle]), &entry) == nil {
		e := Entry{Index: entry.Payload.Index, IntegratedTime: entry.Payload.IntegratedTime, Body: entry.Payload.Body,
			Promise: &promise{entry.SignedEntryTimestamp}}
		e.Log.KeyID, _ = hex.DecodeString(entry.Payload.LogID)
		m.Entries = []Entry{e}
	}
	var timestamp struct {
		Content []byte `json:"SignedRFC3161Timestamp"`
	}
	if json.Unmarshal([]byte(annotations[annotationTimestamp]), &timestamp) == nil && len(timestamp.Content) > 0 {
		m.Timestamps.RFC3161 = []signedTimestamp{{timestamp.Content}}
	}
	return m
}
