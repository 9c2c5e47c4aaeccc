package values

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/redact"
)

// Secrets are the texts that must not be shown: the redactor masks them in logs, and Contains
// finds them in a report or an output. Unlike the redactor they contain only secrets of the
// values, so equal values have equal Secrets.
type Secrets struct {
	redact *redact.Set
	texts  []string
}

// NewSecrets returns Secrets with the given texts. Each text is also added to the redactor.
func NewSecrets(known *redact.Set, texts ...string) *Secrets {
	made := &Secrets{redact: known}
	for _, text := range texts {
		made.Add(text)
	}
	return made
}

// Texts returns the texts in the order in which they were added. They may be stored
// only in a sealed place.
func (s *Secrets) Texts() []string { return slices.Clone(s.texts) }

// Add makes a text secret. It ignores booleans and null: a template like "{{ if
// .nuon.inputs.inputs.token }}true{{ end }}" would mask every "true".
func (s *Secrets) Add(text string) {
	if text == "" || text == "true" || text == "false" || text == "null" {
		return
	}
	s.redact.Add([]byte(text))
	s.texts = append(s.texts, text)
}

// addLeaves makes every string and number of a value secret.
func (s *Secrets) addLeaves(value any) {
	switch value := value.(type) {
	case string:
		s.Add(value)
	case json.Number:
		s.Add(value.String())
	case []any:
		for _, each := range value {
			s.addLeaves(each)
		}
	case map[string]any:
		for _, each := range value {
			s.addLeaves(each)
		}
	}
}

// quotedText matches a quoted text in JSON or HCL.
var quotedText = lazyregexp.New(`"(?:[^"\\\n]|\\.)*"`)

// addDifference adds the parts of a rendered text that differ from the same template rendered
// with other secrets. A text of one line is one value and counts as a whole. In a longer text
// the differing lines count: their differing quoted texts, or the whole line when it has none.
func (s *Secrets) addDifference(rendered, other string) {
	sameLine, same := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(other) {
		sameLine[strings.TrimSpace(line)] = true
	}
	for _, quoted := range quotedText.Compiled().FindAllString(other, -1) {
		same[quoted] = true
	}
	oneLine := !strings.Contains(strings.TrimSpace(rendered), "\n")
	for line := range strings.Lines(rendered) {
		if line = strings.TrimSpace(line); sameLine[line] {
			continue
		}
		differs := false
		for _, quoted := range quotedText.Compiled().FindAllString(line, -1) {
			if !same[quoted] {
				differs = true
				s.Add(unquote(quoted))
			}
		}
		if oneLine || !differs {
			s.Add(line)
		}
	}
}

// unquote returns the text between the quotes, with the escapes that JSON
// and HCL share resolved.
func unquote(quoted string) string {
	var text string
	if err := json.Unmarshal([]byte(quoted), &text); err != nil {
		return quoted[1 : len(quoted)-1]
	}
	return text
}

// Contains returns a function that reports whether a text contains one of the current
// secrets, in any spelling.
func (s *Secrets) Contains() func(string) bool {
	raw := make([][]byte, len(s.texts))
	for i, text := range s.texts {
		raw[i] = []byte(text)
	}
	return diff.NewSecrets(raw...).Contains
}
