package appconfig

import (
	"fmt"
	"strconv"
	"strings"
)

// maxListIndex bounds a list index in a values key: a longer list would be mostly empty.
const maxListIndex = 1000

// valuesKeyProblem returns what is wrong with a key of Helm values, as a phrase that follows the
// key, or "". The syntax is that of the key in helm --set: names joined by dots, each followed by
// any number of [n]. Inside a name, a backslash escapes a dot, comma, bracket or equals sign, or
// the whole name is in double quotes.
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

// valuesName returns the number of bytes of the key's first name.
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
