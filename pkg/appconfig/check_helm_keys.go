package appconfig

import (
	"fmt"
	"strconv"
	"strings"
)

// maxListIndex bounds the index of a list in a key of values: a longer list would be mostly holes.
const maxListIndex = 1000

// valuesKeyProblem says what is wrong with a key of Helm values, in words that follow it, or nothing. A key is what helm --set has
// before the equals sign: names joined by dots, each with any number of [n] behind it; a dot, comma, bracket or equals sign that
// belongs to a name has a backslash before it, or the name stands in double quotes.
func valuesKeyProblem(key string) string {
	for rest := key; ; {
		name, problem := valuesName(rest)
		if problem != "" {
			return problem
		}
		rest = rest[name:]
		for strings.HasPrefix(rest, "[") {
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return "has a bracket that is not closed"
			}
			if n, err := strconv.Atoi(rest[1:end]); err != nil || n < 0 || n > maxListIndex {
				return fmt.Sprintf("has something else than a number up to %d in brackets", maxListIndex)
			}
			rest = rest[end+1:]
		}
		switch {
		case rest == "":
			return ""
		case rest[0] != '.':
			return fmt.Sprintf("has %q where a dot must stand", rest[:1])
		}
		rest = rest[1:]
	}
}

// valuesName gives how many bytes of a key its first name takes.
func valuesName(key string) (width int, problem string) {
	if strings.HasPrefix(key, `"`) {
		end := strings.IndexByte(key[1:], '"')
		switch {
		case end < 0:
			return 0, "has a quote that is not closed"
		case end == 0:
			return 0, "has an empty name between quotes"
		}
		return end + 2, ""
	}
	for width < len(key) {
		switch key[width] {
		case '\\':
			if width+1 == len(key) {
				return 0, "ends with a backslash"
			}
			width++
		case '.', '[':
			if width == 0 {
				return 0, "has an empty name"
			}
			return width, ""
		case '"':
			return 0, "has a quote inside a name"
		case ']', '=', ',', '{', '}', '\n', '\r':
			return 0, fmt.Sprintf("has %q in a name", key[width:width+1])
		}
		width++
	}
	if width == 0 {
		return 0, "has an empty name"
	}
	return width, ""
}
