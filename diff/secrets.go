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

// Secrets holds secrets and finds them in text: as they are, in base64 and base32 (at
// any offset, base64 also wrapped over lines), in hex, with any of their characters
// escaped as in JSON, C, a shell, a URL, XML or HTML, compressed by gzip in base64,
// and line by line for multi-line secrets. The zero Secrets holds none. It cannot be
// printed or marshaled. Several goroutines may read it once nothing more is added.
type Secrets struct {
	// held returns the spellings. It is a function because package fmt cannot print what a function
	// captures, see raw.Value.held.
	held func() *spellings
}

// spellings are the texts that Secrets searches for.
type spellings struct {
	// whole holds the secrets that are too short to be found inside other texts.
	whole map[string]struct{}
	// forms holds all spellings by their first four bytes, so that a text is scanned
	// once, however many secrets there are. Each list is sorted, and no spelling is
	// a prefix of another: so at most one of them can match at a position of a text.
	forms map[[formKey]byte][]string
}

func (s *Secrets) spellings() *spellings {
	if s == nil || s.held == nil {
		return nil
	}
	return s.held()
}

// isEmpty reports whether it holds no secret.
func (s *Secrets) isEmpty() bool { return s.spellings() == nil }

const (
	formKey = 4
	// minInside is the shortest known secret that is found inside longer text.
	// A shorter one must be the whole text, or it would mask almost everything.
	minInside = 4
	// minSecretLine is the shortest line of a secret that is also found separately.
	minSecretLine = 12
)

// NewSecrets returns a Secrets with the given values; it ignores empty ones.
// A value under four bytes is found only where it is the whole text.
func NewSecrets(values ...[]byte) *Secrets {
	s := &Secrets{}
	for _, v := range values {
		s.add(string(v), minInside)
	}
	return s
}

// add adds one value, which is found inside text if it has at least inside bytes.
func (s *Secrets) add(value string, inside int) {
	trimmed := strings.TrimSpace(value)
	if trimmed == "" {
		return
	}
	k := s.spellings()
	if k == nil {
		k = &spellings{whole: map[string]struct{}{}, forms: map[[formKey]byte][]string{}}
		s.held = func() *spellings { return k }
	}
	k.whole[value] = struct{}{}
	k.whole[trimmed] = struct{}{}
	if len(trimmed) < inside {
		return
	}
	k.addForms(trimmed)
	if !strings.Contains(trimmed, "\n") {
		return
	}
	for line := range strings.Lines(trimmed) {
		line = strings.TrimSpace(line)
		// The armor of a PEM block is the same in all of them.
		if len(line) >= minSecretLine && !strings.HasPrefix(line, "-----") {
			k.addForms(line)
		}
	}
}

func (s *spellings) addForms(v string) {
	for _, f := range forms(v) {
		if len(f) < formKey {
			continue
		}
		key := [formKey]byte([]byte(f[:formKey]))
		s.forms[key] = withForm(s.forms[key], f)
	}
}

// withForm inserts a spelling into a list of spellings.forms.
func withForm(list []string, f string) []string {
	at, found := slices.BinarySearch(list, f)
	if found || at > 0 && strings.HasPrefix(f, list[at-1]) {
		return list
	}
	end := at
	for end < len(list) && strings.HasPrefix(list[end], f) {
		end++
	}
	return slices.Replace(list, at, end, f)
}

// forms returns the spellings under which a value can be found.
func forms(v string) []string {
	once, onceHTML := jsonEscaped(v, false), jsonEscaped(v, true)
	plain := []string{v, once, onceHTML, jsonEscaped(once, false), jsonEscaped(onceHTML, true)}
	out := slices.Concat(plain, []string{url.QueryEscape(v), url.PathEscape(v),
		hex.EncodeToString([]byte(v)), strings.ToUpper(hex.EncodeToString([]byte(v)))})
	for _, p := range []string{v, once} {
		out = append(out, base64Cores(p)...)
	}
	if strings.Contains(v, " ") {
		out = append(out, strings.ReplaceAll(v, " ", "+")) // the value of a form with its escapes removed
	}
	return append(out, base32Cores(v)...)
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

// base64Cores returns the characters of v in base64 that do not depend on the
// bytes around it: one spelling for each offset modulo three, in both alphabets.
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

// Contains reports whether the text holds one of the secrets.
func (s *Secrets) Contains(text string) bool {
	k := s.spellings()
	if k == nil {
		return false
	}
	if _, ok := k.whole[text]; ok {
		return true
	}
	if _, ok := k.whole[strings.TrimSpace(text)]; ok {
		return true
	}
	if k.inside(text) || len(k.forms) > 0 && unescaped(text, k.inside) {
		return true
	}
	if strings.ContainsAny(text, "\r\n") {
		// Base64 is often wrapped at 64 or 76 columns, and indented.
		text = strings.Map(dropSpace, text)
		if k.inside(text) {
			return true
		}
	}
	return len(k.forms) > 0 && unpacked(text, k.inside)
}

func dropSpace(r rune) rune {
	if r == ' ' || r == '\t' || r == '\r' || r == '\n' {
		return -1
	}
	return r
}

func (s *spellings) inside(text string) bool {
	if len(s.forms) == 0 {
		return false
	}
	for i := 0; i+formKey <= len(text); i++ {
		key := [formKey]byte{text[i], text[i+1], text[i+2], text[i+3]}
		list := s.forms[key]
		if len(list) == 0 {
			continue
		}
		at, found := slices.BinarySearch(list, text[i:])
		if found || at > 0 && strings.HasPrefix(text[i:], list[at-1]) {
			return true
		}
	}
	return false
}

// String returns a placeholder.
func (*Secrets) String() string { return "(secrets)" }

// GoString returns a placeholder.
func (*Secrets) GoString() string { return "(secrets)" }

// Format writes a placeholder for every verb.
func (*Secrets) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "(secrets)") }

// LogValue returns a placeholder.
func (*Secrets) LogValue() slog.Value { return slog.StringValue("(secrets)") }

// MarshalJSON always returns an error.
func (*Secrets) MarshalJSON() ([]byte, error) { return nil, raw.ErrSecret }
