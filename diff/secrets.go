package diff

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// Secrets knows the bytes of secrets and finds them in text: as they are, in base64 (at any offset, also wrapped over lines), in
// hex, escaped for JSON once or twice, escaped for a URL, and line by line for secrets of several lines. The zero Secrets knows
// none. It cannot be printed or marshalled. It may be read by several goroutines once nobody adds to it.
type Secrets struct {
	// whole holds the secrets that are too short to be looked for inside others.
	whole map[string]struct{}
	// forms holds all spellings by their first four bytes, so that a text is scanned once however many secrets there are.
	forms map[[formKey]byte][]string
}

const (
	formKey = 4
	// minInside is the shortest known secret that is looked for inside longer text; a shorter one must be the whole text, or
	// nothing could be read any more.
	minInside = 4
	// minSecretLine is the shortest line of a secret that counts by itself.
	minSecretLine = 12
)

// NewSecrets knows the given values; empty ones are ignored. A value under four bytes is found only where it is the whole text.
func NewSecrets(values ...[]byte) *Secrets {
	s := &Secrets{}
	for _, v := range values {
		s.add(string(v), minInside)
	}
	return s
}

// add learns one value, which is looked for inside text if it has inside bytes.
func (s *Secrets) add(value string, inside int) {
	trimmed := strings.TrimSpace(value)
	if trimmed == "" {
		return
	}
	if s.whole == nil {
		s.whole = map[string]struct{}{}
		s.forms = map[[formKey]byte][]string{}
	}
	s.whole[value] = struct{}{}
	s.whole[trimmed] = struct{}{}
	if len(trimmed) < inside {
		return
	}
	s.addForms(trimmed)
	if !strings.Contains(trimmed, "\n") {
		return
	}
	for line := range strings.Lines(trimmed) {
		line = strings.TrimSpace(line)
		// The armour of a PEM block is the same in all of them.
		if len(line) >= minSecretLine && !strings.HasPrefix(line, "-----") {
			s.addForms(line)
		}
	}
}

func (s *Secrets) addForms(v string) {
	for _, f := range forms(v) {
		if len(f) < formKey {
			continue
		}
		key := [formKey]byte([]byte(f[:formKey]))
		if !contains(s.forms[key], f) {
			s.forms[key] = append(s.forms[key], f)
		}
	}
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// forms are the spellings under which a value can be found.
func forms(v string) []string {
	once, onceHTML := jsonEscaped(v, false), jsonEscaped(v, true)
	plain := []string{v, once, onceHTML, jsonEscaped(once, false), jsonEscaped(onceHTML, true)}
	out := slices.Concat(plain, []string{url.QueryEscape(v), url.PathEscape(v),
		hex.EncodeToString([]byte(v)), strings.ToUpper(hex.EncodeToString([]byte(v)))})
	for _, p := range []string{v, once} {
		out = append(out, base64Cores(p)...)
	}
	return out
}

func jsonEscaped(s string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(s) != nil {
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}

// base64Cores are the characters that v has in base64 whatever bytes lie before and after it: one spelling for each offset modulo
// three, in both alphabets.
func base64Cores(v string) []string {
	var out []string
	for offset, skip := range []int{0, 2, 3} {
		padded := append(make([]byte, offset), v...)
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			core := enc.EncodeToString(padded)[skip:]
			if len(padded)%3 != 0 {
				core = core[:len(core)-1]
			}
			out = append(out, core)
		}
	}
	return out
}

// Contains says that a known secret is in the text.
func (s *Secrets) Contains(text string) bool {
	if s == nil || len(s.whole) == 0 {
		return false
	}
	if _, ok := s.whole[text]; ok {
		return true
	}
	if _, ok := s.whole[strings.TrimSpace(text)]; ok {
		return true
	}
	if s.inside(text) {
		return true
	}
	// Base64 is often wrapped at 64 or 76 columns, and indented.
	return strings.ContainsAny(text, "\r\n") && s.inside(strings.Map(dropSpace, text))
}

func dropSpace(r rune) rune {
	if r == ' ' || r == '\t' || r == '\r' || r == '\n' {
		return -1
	}
	return r
}

func (s *Secrets) inside(text string) bool {
	if len(s.forms) == 0 {
		return false
	}
	for i := 0; i+formKey <= len(text); i++ {
		key := [formKey]byte{text[i], text[i+1], text[i+2], text[i+3]}
		for _, f := range s.forms[key] {
			if strings.HasPrefix(text[i:], f) {
				return true
			}
		}
	}
	return false
}

// String is a placeholder.
func (*Secrets) String() string { return "(secrets)" }

// GoString is a placeholder.
func (*Secrets) GoString() string { return "(secrets)" }

// Format writes a placeholder for every verb.
func (*Secrets) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "(secrets)") }

// LogValue is a placeholder.
func (*Secrets) LogValue() slog.Value { return slog.StringValue("(secrets)") }

// MarshalJSON always fails.
func (*Secrets) MarshalJSON() ([]byte, error) { return nil, raw.ErrSecret }
