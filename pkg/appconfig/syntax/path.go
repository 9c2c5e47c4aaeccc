package syntax

import (
	"strconv"
	"strings"
)

// Join returns the path of a key below another path, such as steps[0].env_vars and REGION. A key
// that is not bare is quoted, as in TOML.
func Join(path, key string) string {
	if !IsBareKey(key) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// JoinIndex returns the path of an element, counted from 0.
func JoinIndex(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// IsBareKey reports whether TOML allows a key without quotes.
func IsBareKey(key string) bool {
	for i := range len(key) {
		c := key[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return key != ""
}

// Find returns the value at a path such as steps[0].env_vars.REGION or values."image.tag", or nil.
func (t *Table) Find(path string) *Node {
	n, rest := t.walk(path)
	if rest != "" {
		return nil
	}
	return n
}

// Position returns the position of the value at a path, or of its nearest existing parent.
func (t *Table) Position(path string) Position {
	if n, _ := t.walk(path); n != nil {
		return n.At
	}
	return t.At
}

// KeyPosition returns the position of the key at a path, or of its nearest existing parent.
func (t *Table) KeyPosition(path string) Position {
	if n, _ := t.walk(path); n != nil {
		return n.Key
	}
	return t.At
}

// walk follows a path as far as it exists. It returns the last value and the rest of the path.
func (t *Table) walk(path string) (last *Node, rest string) {
	for rest = path; rest != ""; {
		var next *Node
		key, i, after := step(rest)
		switch items, ok := last.Items(); {
		case i >= 0 && ok && i < len(items):
			next = items[i]
		case i >= 0:
		case last == nil:
			next = t.Get(key)
		default:
			next = last.Table().Get(key)
		}
		if next == nil {
			return last, rest
		}
		last, rest = next, after
	}
	return last, ""
}

// step splits the first step off a path: a key, or the index of an element, which is -1 for a key.
func step(path string) (key string, item int, rest string) {
	path = strings.TrimPrefix(path, ".")
	switch {
	case strings.HasPrefix(path, "["):
		number, rest, _ := strings.Cut(path[1:], "]")
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 {
			return path, -1, ""
		}
		return "", i, rest
	case strings.HasPrefix(path, `"`):
		quoted, err := strconv.QuotedPrefix(path)
		if err != nil {
			return path, -1, ""
		}
		key, _ := strconv.Unquote(quoted) // never fails after QuotedPrefix
		return key, -1, path[len(quoted):]
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return path, -1, ""
	}
	return path[:end], -1, path[end:]
}
