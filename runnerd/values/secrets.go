package values

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/redact"
)

// Secrets are the texts that must not be shown: in logs through the redactor, in a report or an output through Contains. Unlike
// what the redactor knows, they are those of the values alone, so the same values give the same Secrets.
type Secrets struct {
	redact *redact.Set
	texts  []string
}

// NewSecrets knows none. Each that is added becomes known to the redactor too.
func NewSecrets(known *redact.Set, texts ...string) *Secrets {
	made := &Secrets{redact: known}
	for _, text := range texts {
		made.Add(text)
	}
	return made
}

// Texts gives what was added, in that order. It is for a sealed place only.
func (s *Secrets) Texts() []string { return slices.Clone(s.texts) }

// Add makes a text secret. The words of a boolean are not: a template like "{{ if .nuon.inputs.inputs.token }}true{{ end }}"
// would hide every "true".
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

// literal is a quoted text in JSON or HCL.
var literal = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)

// addDifference adds what of a rendered text is not in the one that was rendered with other secrets. A text of one line is one
// value, and counts whole. Of a file the lines that differ count: their quoted texts that differ, or all of a line when none
// does.
func (s *Secrets) addDifference(rendered, other string) {
	sameLine, same := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(other) {
		sameLine[strings.TrimSpace(line)] = true
	}
	for _, quoted := range literal.FindAllString(other, -1) {
		same[quoted] = true
	}
	oneLine := !strings.Contains(strings.TrimSpace(rendered), "\n")
	for line := range strings.Lines(rendered) {
		if line = strings.TrimSpace(line); sameLine[line] {
			continue
		}
		differs := false
		for _, quoted := range literal.FindAllString(line, -1) {
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

// unquote gives what stands between the quotes, with the escapes that JSON and HCL share resolved.
func unquote(quoted string) string {
	var text string
	if err := json.Unmarshal([]byte(quoted), &text); err != nil {
		return quoted[1 : len(quoted)-1]
	}
	return text
}

// Contains gives a test for texts: does this one hold a secret that is known by now, in any of its spellings?
func (s *Secrets) Contains() func(string) bool {
	raw := make([][]byte, len(s.texts))
	for i, text := range s.texts {
		raw[i] = []byte(text)
	}
	return diff.NewSecrets(raw...).Contains
}
