package render

import (
	"crypto/sha1" //nolint:gosec // it names a text, as in existing configs, and protects nothing
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// stringFunc adapts a function of one string.
func stringFunc(f func(string) string) func(args []any) (any, error) {
	return func(args []any) (any, error) {
		return withStrings(args, func(s []string) (any, error) { return f(s[0]), nil })
	}
}

func anyList(texts []string) []any {
	list := make([]any, len(texts))
	for i, s := range texts {
		list[i] = s
	}
	return list
}

// displayAll returns every value as it would be printed.
func displayAll(args []any) ([]string, error) {
	texts := make([]string, len(args))
	for i, arg := range args {
		var err error
		if texts[i], err = display(arg); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// fnPrint concatenates values. Unlike Go's, it never adds spaces between them.
func fnPrint(args []any) (any, error) {
	texts, err := displayAll(args)
	return strings.Join(texts, ""), err
}

func fnPrintln(args []any) (any, error) {
	texts, err := displayAll(args)
	return strings.Join(texts, " ") + "\n", err
}

// fnCat joins the values that are not null with spaces.
func fnCat(args []any) (any, error) {
	var texts []string
	for _, arg := range args {
		if arg == nil {
			continue
		}
		s, err := display(arg)
		if err != nil {
			return nil, err
		}
		texts = append(texts, s)
	}
	return strings.Join(texts, " "), nil
}

func fnToStrings(args []any) (any, error) {
	texts, err := asTexts(args[0])
	return anyList(texts), err
}

// fnTitle starts a word after every ASCII character that is neither letter, digit nor underscore, and after
// every space: ab-cd is Ab-Cd. fnUntitle starts one only after a space. Both are like Sprig's.
func fnTitle(args []any) (any, error) {
	return stringFunc(mapInitials(unicode.ToTitle, endsTitleWord))(args)
}

func fnUntitle(args []any) (any, error) {
	return stringFunc(mapInitials(unicode.ToLower, unicode.IsSpace))(args)
}

func endsTitleWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	return unicode.IsSpace(r)
}

// mapInitials returns a function that changes the first letter of every word.
func mapInitials(change func(rune) rune, endsWord func(rune) bool) func(string) string {
	return func(s string) string {
		before := ' '
		return strings.Map(func(r rune) rune {
			first := endsWord(before)
			before = r
			if first {
				return change(r)
			}
			return r
		}, s)
	}
}

func fnTrimAll(args []any) (any, error) {
	return withStrings(args, func(s []string) (any, error) {
		trimmed := map[rune]bool{} // strings.Trim would search all of them for each character of the text
		for _, r := range s[0] {
			trimmed[r] = true
		}
		return strings.TrimFunc(s[1], func(r rune) bool { return trimmed[r] }), nil
	})
}

// fnTrunc returns n bytes from the start, or from the end if n is negative. It does not split a
// character.
func fnTrunc(args []any) (any, error) {
	n, err := toInt(args[0])
	if err != nil {
		return nil, err
	}
	return withStrings(args[1:], func(s []string) (any, error) {
		switch size := int64(len(s[0])); {
		case n >= size || n <= -size:
			return s[0], nil
		case n >= 0:
			return s[0][:boundary(s[0], n)], nil
		default:
			return s[0][boundary(s[0], size+n):], nil
		}
	})
}

// fnSubstr returns the bytes between two offsets: substr from to text. A negative end means the end
// of the text.
func fnSubstr(args []any) (any, error) {
	from, err := toInt(args[0])
	if err != nil {
		return nil, err
	}
	to, err := toInt(args[1])
	if err != nil {
		return nil, err
	}
	return withStrings(args[2:], func(s []string) (any, error) {
		size := int64(len(s[0]))
		if to < 0 || to > size {
			to = size
		}
		from = max(from, 0)
		if from >= to {
			return "", nil
		}
		return s[0][boundary(s[0], from):boundary(s[0], to)], nil
	})
}

// boundary moves an offset in a text back to the start of a character.
func boundary(s string, at int64) int64 {
	for at > 0 && at < int64(len(s)) && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

func fnNospace(args []any) (any, error) {
	return stringFunc(func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return r
		}, s)
	})(args)
}

func fnRepeat(args []any) (any, error) {
	n, err := toInt(args[0])
	if err != nil {
		return nil, err
	}
	return withStrings(args[1:], func(s []string) (any, error) {
		if n < 0 || n > MaxOutput || int(n)*len(s[0]) > MaxOutput {
			return nil, errTooMuchOutput
		}
		return strings.Repeat(s[0], int(n)), nil
	})
}

// fnSplitn returns an object with keys _0, _1, ... of at most n parts.
func fnSplitn(args []any) (any, error) {
	n, err := toInt(args[1])
	if err != nil || n < 0 || n > maxParts {
		return nil, errors.New("the second argument is the number of parts, up to " + strconv.Itoa(maxParts))
	}
	return withStrings([]any{args[0], args[2]}, func(s []string) (any, error) {
		object := map[string]any{}
		for i, part := range strings.SplitN(s[1], s[0], int(n)) {
			object["_"+strconv.Itoa(i)] = part
		}
		return object, nil
	})
}

// separatedWords returns a function that writes the words of a text in lower case with a separator between
// them. A word ends before a character that is neither letter nor digit, between a lower case and an
// upper case letter, and before the last letter of several in upper case: HTTPServer is http_server.
func separatedWords(separator string) func(args []any) (any, error) {
	return stringFunc(func(s string) string {
		var out strings.Builder
		runes := []rune(s)
		for i, r := range runes {
			if !isWordRune(r) {
				continue
			}
			if out.Len() > 0 && startsWord(runes, i) {
				out.WriteString(separator)
			}
			out.WriteRune(unicode.ToLower(r))
		}
		return out.String()
	})
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// startsWord reports whether the letter or digit at i is the first one of a word. It is not called for the
// first word.
func startsWord(runes []rune, i int) bool {
	before, r := runes[i-1], runes[i]
	switch {
	case !isWordRune(before):
		return true
	case !unicode.IsUpper(r):
		return false
	}
	return unicode.IsLower(before) ||
		unicode.IsUpper(before) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

func fnSHA1(args []any) (any, error) {
	return stringFunc(func(s string) string { sum := sha1.Sum([]byte(s)); return hex.EncodeToString(sum[:]) })(args) //nolint:gosec // see above
}

func fnSHA256(args []any) (any, error) {
	return stringFunc(func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) })(args)
}

func fnSHA512(args []any) (any, error) {
	return stringFunc(func(s string) string { sum := sha512.Sum512([]byte(s)); return hex.EncodeToString(sum[:]) })(args)
}
