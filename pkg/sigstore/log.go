package sigstore

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// maxProof bounds the hashes of a proof: a tree of 2^63 entries has no more. maxCheckpoint bounds the bytes of a
// checkpoint with its signatures, and maxCosigners these, each of which is tried.
const (
	maxProof      = 64
	maxCheckpoint = 16 << 10
	maxCosigners  = 50
)

// verifyEntry verifies that a log of the root has an entry about a signature, and returns the log and when it promised
// the entry. A proof without a promise has no time.
func (r *TrustRoot) verifyEntry(e Entry, s Signature, leaf *x509.Certificate) (at time.Time, log logKey, err error) {
	log, known := r.logs[string(e.Log.KeyID)]
	if !known {
		return at, log, errors.New("its entry is of a transparency log that the trust root does not name, or whose " +
			"key is of a kind that is not supported")
	}
	if !isAbout(e.Body, s, leaf) {
		return at, log, errors.New("its entry of the transparency log is of another signature")
	}
	if e.Promise != nil {
		if !log.key.Verify(e.promised(), e.Promise.Signature) {
			return at, log, errors.New("the transparency log did not sign the promise of its entry")
		}
		at = time.Unix(int64(e.IntegratedTime), 0)
	}
	proven := e.Proof != nil && e.Proof.Checkpoint != nil
	if proven {
		if err := e.Proof.verify(e.Body, log.key); err != nil {
			return at, log, err
		}
	}
	if e.Promise == nil && !proven {
		return at, log, errors.New("its entry has neither a promise nor a proof of the transparency log")
	}
	return at, log, nil
}

// promised returns what the log signs to promise an entry: JSON with sorted keys.
func (e Entry) promised() []byte {
	encoded, _ := json.Marshal(struct {
		Body           []byte `json:"body"`
		IntegratedTime int64  `json:"integratedTime"`
		LogID          string `json:"logID"`
		Index          int64  `json:"logIndex"`
	}{e.Body, int64(e.IntegratedTime), hex.EncodeToString(e.Log.KeyID), int64(e.Index)})
	return encoded
}

// verify verifies that a tree whose root a log signed has an entry.
func (p *inclusionProof) verify(body []byte, log PublicKey) error {
	size, root, err := readCheckpoint(p.Checkpoint.Envelope, log)
	if err != nil {
		return err
	}
	refused := errors.New("the proof does not show that the transparency log has its entry")
	if size != int64(p.TreeSize) || !bytes.Equal(root, p.RootHash) || len(root) != tlog.HashSize ||
		len(p.Hashes) > maxProof || p.Index < 0 || int64(p.Index) >= size {
		return refused
	}
	var path tlog.RecordProof
	for _, hash := range p.Hashes {
		if len(hash) != tlog.HashSize {
			return refused
		}
		path = append(path, tlog.Hash(hash))
	}
	if tlog.CheckRecord(path, size, tlog.Hash(root), int64(p.Index), tlog.RecordHash(body)) != nil {
		return refused
	}
	return nil
}

// readCheckpoint returns the size and the root of a tree from a note that a log signed.
func readCheckpoint(note string, log PublicKey) (size int64, root []byte, err error) {
	refused := errors.New("the transparency log did not sign the checkpoint of its entry")
	text, signatures, found := strings.Cut(note, "\n\n")
	text += "\n"
	lines := strings.Split(text, "\n")
	const fewest = 4 // the name of the log, the size, the root, and nothing after the last newline
	if !found || len(lines) < fewest || len(note) > maxCheckpoint || strings.Count(signatures, "\n") > maxCosigners {
		return 0, nil, refused
	}
	for line := range strings.Lines(signatures) {
		// A dash, the name of the signer, and the signature after four bytes that identify its key.
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[0] != "—" {
			continue
		}
		const hint = 4
		signature, err := base64.StdEncoding.DecodeString(fields[2])
		if err != nil || len(signature) <= hint || !log.Verify([]byte(text), signature[hint:]) {
			continue
		}
		size, err := strconv.ParseInt(lines[1], 10, 64)
		if err != nil {
			return 0, nil, refused
		}
		root, err := base64.StdEncoding.DecodeString(lines[2])
		return size, root, err
	}
	return 0, nil, refused
}

// verifier is whose signature an entry states.
type verifier struct {
	Certificate struct {
		RawBytes []byte `json:"rawBytes"`
	} `json:"x509Certificate"`
}

// isAbout reports whether the body of an entry states a signature: its value, the digest of what is signed, and the
// certificate of the signer.
func isAbout(body []byte, s Signature, leaf *x509.Certificate) bool {
	var entry struct {
		Kind    string          `json:"kind"`
		Version string          `json:"apiVersion"`
		Spec    json.RawMessage `json:"spec"`
	}
	if json.Unmarshal(body, &entry) != nil {
		return false
	}
	switch entry.Kind + "/" + entry.Version {
	case "hashedrekord/0.0.1":
		var spec struct {
			Data      struct{ Hash hexDigest }
			Signature struct {
				Content   []byte
				PublicKey struct{ Content []byte }
			}
		}
		return json.Unmarshal(entry.Spec, &spec) == nil && spec.Data.Hash.is(s.Message) &&
			bytes.Equal(spec.Signature.Content, s.Value) && isPEM(spec.Signature.PublicKey.Content, leaf)
	case "hashedrekord/0.0.2":
		var spec struct {
			HashedRekordV002 struct {
				Data      rawDigest
				Signature struct {
					Content  []byte
					Verifier verifier
				}
			}
		}
		of := &spec.HashedRekordV002
		return json.Unmarshal(entry.Spec, &spec) == nil && of.Data.is(s.Message) &&
			bytes.Equal(of.Signature.Content, s.Value) && bytes.Equal(of.Signature.Verifier.Certificate.RawBytes, leaf.Raw)
	case "dsse/0.0.1":
		var spec struct {
			PayloadHash hexDigest
			Signatures  []struct{ Signature, Verifier []byte }
		}
		if json.Unmarshal(entry.Spec, &spec) != nil || s.Payload == nil || !spec.PayloadHash.is(s.Payload) {
			return false
		}
		for _, of := range spec.Signatures {
			if bytes.Equal(of.Signature, s.Value) && isPEM(of.Verifier, leaf) {
				return true
			}
		}
	case "dsse/0.0.2":
		var spec struct {
			DSSEV002 struct {
				PayloadHash rawDigest
				Signatures  []struct {
					Content  []byte
					Verifier verifier
				}
			}
		}
		if json.Unmarshal(entry.Spec, &spec) != nil || s.Payload == nil || !spec.DSSEV002.PayloadHash.is(s.Payload) {
			return false
		}
		for _, of := range spec.DSSEV002.Signatures {
			if bytes.Equal(of.Content, s.Value) && bytes.Equal(of.Verifier.Certificate.RawBytes, leaf.Raw) {
				return true
			}
		}
	}
	return false
}

// hexDigest and rawDigest are the digests of what an entry is about, in the two forms in which logs write them.
type (
	hexDigest struct{ Algorithm, Value string }
	rawDigest struct {
		Algorithm string
		Digest    []byte
	}
)

func (d hexDigest) is(message []byte) bool {
	sum, err := hex.DecodeString(d.Value)
	return err == nil && isDigest(d.Algorithm, sum, message)
}

func (d rawDigest) is(message []byte) bool {
	return isDigest(strings.ToLower(strings.Replace(d.Algorithm, "SHA2_", "sha", 1)), d.Digest, message)
}

func isDigest(algorithm string, sum, message []byte) bool {
	switch algorithm {
	case "sha256":
		made := sha256.Sum256(message)
		return bytes.Equal(sum, made[:])
	case "sha384":
		made := sha512.Sum384(message)
		return bytes.Equal(sum, made[:])
	case "sha512":
		made := sha512.Sum512(message)
		return bytes.Equal(sum, made[:])
	}
	return false
}

// isPEM reports whether a text in PEM is a certificate.
func isPEM(text []byte, certificate *x509.Certificate) bool {
	block, _ := pem.Decode(text)
	return block != nil && bytes.Equal(block.Bytes, certificate.Raw)
}
