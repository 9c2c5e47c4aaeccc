package action

import (
	"errors"
	"strings"
)

// splitWords splits a command line at blanks as people expect from a shell, but without one:
// 'single' and "double" quotes and backslashes escape blanks, and no other character
// is special. Text between {{ and }} is copied unchanged into one word.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun := false
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case strings.HasPrefix(line[i:], "{{"):
			end := strings.Index(line[i:], "}}")
			if end < 0 {
				return nil, errors.New("a template is not closed; end it with }}")
			}
			word.WriteString(line[i : i+end+2])
			begun, i = true, i+end+2
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
			i++
		case c == '\'' || c == '"':
			next, err := readQuoted(line, i, &word)
			if err != nil {
				return nil, err
			}
			begun, i = true, next
		case c == '\\':
			if i+1 == len(line) {
				return nil, errors.New("it ends with a backslash; write two for a real one")
			}
			word.WriteByte(line[i+1])
			begun, i = true, i+2
		default:
			word.WriteByte(c)
			begun, i = true, i+1
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// readQuoted reads the text from the quote at from to its closing quote, and
// returns the index after it.
func readQuoted(line string, from int, word *strings.Builder) (int, error) {
	quote := line[from]
	for i := from + 1; i < len(line); {
		c := line[i]
		switch {
		case strings.HasPrefix(line[i:], "{{") && strings.Contains(line[i:], "}}"):
			end := i + strings.Index(line[i:], "}}") + 2
			word.WriteString(line[i:end])
			i = end
		case c == quote:
			return i + 1, nil
		case c == '\\' && quote == '"' && i+1 < len(line) && strings.IndexByte(`"\`, line[i+1]) >= 0:
			word.WriteByte(line[i+1])
			i += 2
		default:
			word.WriteByte(c)
			i++
		}
	}
	return 0, errors.New("a quote is not closed")
}
