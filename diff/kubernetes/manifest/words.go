package manifest

import (
	"bytes"
	"fmt"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// oldWordLine reports whether a line may end in a word, or start with one as a key,
// that YAML 1.1 reads as a boolean and YAML 1.2 as text. The YAML library then
// decides. Every line of every document is checked, so it reads only a few bytes.
func oldWordLine(line []byte) bool {
	if n := len(line); n > 0 {
		switch line[n-1] {
		case 'y', 'Y', 'n', 'N', 's', 'S', 'o', 'O', 'f', 'F':
			if endsInOldWord(line) {
				return true
			}
		}
	}
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '-') {
		i++
	}
	if i == len(line) {
		return false
	}
	switch line[i] {
	case 'y', 'Y', 'n', 'N', 'o', 'O':
		return beginsWithOldWord(line[i:])
	}
	return false
}

// endsInOldWord checks for such a word after a colon or a dash and a space.
func endsInOldWord(line []byte) bool {
	n := len(line)
	for length := 1; length <= 3 && length+2 <= n; length++ {
		if line[n-length-1] != ' ' {
			continue
		}
		if _, ok := oldBoolean(string(line[n-length:])); !ok {
			return false
		}
		before := bytes.TrimRight(line[:n-length], " ")
		return len(before) > 0 && (before[len(before)-1] == ':' || before[len(before)-1] == '-')
	}
	return false
}

// beginsWithOldWord checks for such a word before a colon.
func beginsWithOldWord(key []byte) bool {
	i := bytes.IndexByte(key[:min(len(key), 4)], ':')
	if i < 0 {
		return false
	}
	_, ok := oldBoolean(string(key[:i]))
	return ok
}

// parseNoting parses a text and returns the places of plain words that are
// booleans only in YAML 1.1.
func (t text) parseNoting() (raw.Value, []place, error) {
	var found []place
	v, err := t.parseWith(func(c *converter) { c.oldWord = func(at place) { found = append(found, at) } })
	return v, found, err
}

// oldWordsNote returns a note about these places.
func (t text) oldWordsNote(at []place) string {
	first := t.errorAt(at[0],
		"an unquoted yes, no, on, off, y or n is a boolean to Kubernetes (YAML 1.1); put it into quotes if "+
			"text is meant").Error()
	if len(at) == 1 {
		return first
	}
	return fmt.Sprintf("%s (%d in this document)", first, len(at))
}
