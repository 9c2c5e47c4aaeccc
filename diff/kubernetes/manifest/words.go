package manifest

import (
	"bytes"
	"fmt"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// oldWordLine says that a line may end in a word that YAML 1.1 reads as a boolean and YAML 1.2 as text, or begin with one as a key. The
// YAML library then says whether it is one. It looks at each line of each document, so it looks at a few bytes only.
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

// endsInOldWord looks for such a word after a colon or a dash, with a space between.
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

// beginsWithOldWord looks for such a word before a colon.
func beginsWithOldWord(key []byte) bool {
	i := bytes.IndexByte(key[:min(len(key), 4)], ':')
	if i < 0 {
		return false
	}
	_, ok := oldBoolean(string(key[:i]))
	return ok
}

// parseNoting parses a text and says where plain words stand that are booleans in YAML 1.1 only.
func (t text) parseNoting() (raw.Value, []place, error) {
	var found []place
	v, err := t.parseWith(func(c *converter) { c.oldWord = func(at place) { found = append(found, at) } })
	return v, found, err
}

// oldWordsNote says so in words.
func (t text) oldWordsNote(at []place) string {
	first := t.errorAt(at[0], "an unquoted yes, no, on, off, y or n is a boolean to Kubernetes (YAML 1.1); put it into quotes if text is meant").Error()
	if len(at) == 1 {
		return first
	}
	return fmt.Sprintf("%s (%d in this document)", first, len(at))
}
