package redact

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Mask replaces a secret in the output.
const Mask = seal.Redacted

// MinLength is the minimum length in bytes of a secret that is searched. A shorter value would mask
// matches all over ordinary text, and is too short to be secret.
const MinLength = 4

// minLine is the minimum length in bytes of a line of a multi-line secret (for example a PEM key)
// that is searched separately. Lines are searched separately because tools indent them.
const minLine = 16

// Set is the set of known secrets. The zero Set is empty and ready to use. It is safe for
// concurrent use, and may grow while Writers use it.
type Set struct {
	mutex   sync.Mutex // guards known and changes of current
	known   map[string]struct{}
	current atomic.Pointer[automaton] // finds all of known; nil until the next search
}

// Add adds a secret to the set. It is found as it is, in base64 (both alphabets, with and without
// padding) and base32, also as part of a longer encoded text, in hexadecimal, and escaped as in a
// URL, in HTML, in JSON (once and twice), in Go, in Terraform's language and in a shell. Of a multi-line
// secret, each line is also found separately: a line of 16 bytes or more anywhere, a shorter one
// next to its neighbor. A secret of 8 to 512 bytes is also found reversed, in upper case, in lower
// case, spelled out with a separator between the letters (UTF-16 is one such form), and as a list
// of bytes; a random one of 32 bytes or more also in pieces. A secret that is compressed,
// encrypted, or written by a program that intends to leak it is not found. Add reports whether the
// secret is searched from now on, which is false for secrets shorter than MinLength and for blanks.
func (s *Set) Add(secret []byte) bool {
	if len(secret) < MinLength || len(bytes.TrimSpace(secret)) == 0 {
		return false
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.known == nil {
		s.known = map[string]struct{}{}
	}
	before := len(s.known)
	s.addForms(secret)
	if trimmed := bytes.TrimSpace(secret); len(trimmed) >= MinLength {
		// The last line end of a file is rarely printed with its content.
		s.addForms(trimmed)
	}
	for _, form := range lineForms(secret) {
		s.known[form] = struct{}{}
	}
	if len(s.known) != before {
		s.current.Store(nil)
	}
	return true
}

// search returns the automaton for all known secrets, or nil if there are none. Secrets are added
// in groups and each has hundreds of forms, so the automaton is built when a text is searched, not
// with each secret.
func (s *Set) search() *automaton {
	if machine := s.current.Load(); machine != nil {
		return machine
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	machine := s.current.Load()
	if machine == nil && len(s.known) > 0 {
		machine = compile(s.known)
		s.current.Store(machine)
	}
	return machine
}

// AddSecret is Add for a seal.Secret.
func (s *Set) AddSecret(secret seal.Secret) bool { return s.Add(secret.Reveal()) }

func (s *Set) addForms(value []byte) {
	for _, form := range formsOf(value) {
		s.known[form] = struct{}{}
	}
}

// String returns text without secrets: it removes every byte that is within any form of any secret,
// and replaces each run of such bytes by one Mask.
func (s *Set) String(text string) string {
	if s.search() == nil {
		return text
	}
	var out bytes.Buffer
	writer := s.Writer(&out)
	// Neither call can fail, because a bytes.Buffer accepts all writes.
	_, _ = writer.Write([]byte(text))
	_ = writer.Close()
	return out.String()
}

// Bytes is String for bytes. It returns a new slice.
func (s *Set) Bytes(text []byte) []byte { return []byte(s.String(string(text))) }

// Contains reports whether text contains any form of any secret.
func (s *Set) Contains(text []byte) bool {
	machine := s.search()
	if machine == nil {
		return false
	}
	state := root
	for _, b := range text {
		state = machine.step(state, b)
		if machine.nodes[state].match > 0 {
			return true
		}
	}
	return false
}
