package redact

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Mark stands where a secret was.
const Mark = seal.Redacted

// MinLength is the least length in bytes of a secret that is looked for. A shorter one would match all over ordinary text and
// hide it; nothing so short keeps a secret.
const MinLength = 4

// minLine is the least length in bytes of one line of a secret of several lines (a PEM key, say) that is looked for on its own,
// because tools indent them.
const minLine = 16

// Set holds the secrets that are known. The zero Set is empty and ready. It is for any number of goroutines, and may grow while
// Writers use it.
type Set struct {
	mutex   sync.Mutex // guards known and the change of current
	known   map[string]struct{}
	current atomic.Pointer[automaton] // of all that is known; nil until a text is searched for it
}

// Add makes secret known, as it is, in base64 (both alphabets, with and without padding) and base32, wherever it lies in what was
// encoded, in hexadecimal, and escaped as in a URL, in HTML, in JSON (once and twice), in Terraform's language and in a shell. Of a
// secret with several lines, each counts by itself too: one of 16 bytes and more anywhere, a shorter one beside its neighbour. Of 8 to
// 512 bytes it is also found backwards, in capitals, in small letters, spelled out with a separator between the letters (UTF-16 is
// one), and as a list of bytes; a random one of 32 bytes and more also in halves. Compressed, encrypted, or written by a program that
// means to get it out, it is not found. Add reports whether the secret is looked for from now on: false for one shorter than MinLength.
func (s *Set) Add(secret []byte) bool {
	if len(secret) < MinLength {
		return false
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.known == nil {
		s.known = map[string]struct{}{}
	}
	before := len(s.known)
	s.learn(secret)
	if trimmed := bytes.TrimSpace(secret); len(trimmed) >= MinLength {
		// A file's last line end is rarely printed with it.
		s.learn(trimmed)
	}
	for _, form := range lineForms(secret) {
		s.known[form] = struct{}{}
	}
	if len(s.known) != before {
		s.current.Store(nil)
	}
	return true
}

// search returns what finds all that is known, or nil where nothing is. Secrets come many at a time and each has hundreds of forms, so
// it is made when a text is searched, not with each secret.
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

// AddSecret is Add for a value that is kept as a seal.Secret.
func (s *Set) AddSecret(secret seal.Secret) bool { return s.Add(secret.Reveal()) }

func (s *Set) learn(value []byte) {
	for _, form := range formsOf(value) {
		s.known[form] = struct{}{}
	}
}

// String gives text without what is secret: every byte that lies in any form of any secret is gone, and each run of such bytes is
// one Mark.
func (s *Set) String(text string) string {
	if s.search() == nil {
		return text
	}
	var out bytes.Buffer
	writer := s.Writer(&out)
	// A bytes.Buffer refuses nothing, so neither call has an error.
	_, _ = writer.Write([]byte(text))
	_ = writer.Close()
	return out.String()
}

// Bytes is String for bytes; it gives a new slice.
func (s *Set) Bytes(text []byte) []byte { return []byte(s.String(string(text))) }

// Contains tells whether text holds any form of any secret.
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
