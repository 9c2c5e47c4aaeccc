package appconfig

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// CommandFile returns the file that a command runs from a directory of a repository, as a path in the
// repository. It returns "" for a program that is found on the runner's PATH, whose name has no slash,
// and for one that a template names. A path that is not inside of the directory is an error.
func CommandFile(directory, command string) (string, error) {
	words, err := SplitCommand(command)
	if err != nil {
		return "", fmt.Errorf("command: %w", err)
	}
	if len(words) == 0 {
		return "", nil
	}
	program := words[0]
	if strings.Contains(program, "{{") || !strings.Contains(program, "/") {
		return "", nil
	}
	if !IsInside(program) {
		return "", fmt.Errorf("the program %s is outside of the directory; name a file in it, such as ./run.sh, or a "+
			"program on the runner's PATH", diagnostic.Quote(program))
	}
	return path.Join(directory, program), nil
}

// IsInside reports whether the path of a program stays inside of the directory of its step.
func IsInside(program string) bool {
	clean := path.Clean(program)
	return !path.IsAbs(clean) && clean != "." && clean != ".." && !strings.HasPrefix(clean, "../")
}

// SplitCommand splits a command line at blanks as people expect from a shell, but without one:
// 'single' and "double" quotes and backslashes escape blanks, and no other character
// is special. Text between {{ and }} is copied unchanged into one word.
func SplitCommand(line string) ([]string, error) {
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
