package diff

import (
	"bytes"
	"compress/gzip"
	"encoding/base32"
	"encoding/base64"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// This file finds the spellings of a text that are too many to list: any character may be escaped,
// and compressed data shares nothing with the text. It decodes them in the searched text instead.

// escapeKind is a kind of escapes, or a set of kinds.
type escapeKind int

const (
	backslashes escapeKind = 1 << iota // \u0041, \x41, \101, and shell escapes
	percents                           // %41
	entities                           // &#65; and &#x41;, &amp;
)

// maxPasses is how often nested escapes are decoded.
const maxPasses = 3

// unescaped calls found with the text after decoding its escapes, each kind
// separately and all together, until found returns true.
func unescaped(text string, found func(string) bool) bool {
	has := escapesOf(text)
	if has == 0 {
		return false
	}
	for _, kinds := range []escapeKind{backslashes | percents | entities, backslashes, percents, entities} {
		if kinds&has == 0 || kinds&has == has && kinds != backslashes|percents|entities {
			continue
		}
		next := text
		for range maxPasses {
			before := len(next)
			next = unescape(next, kinds)
			if len(next) == before {
				break
			}
			if found(next) {
				return true
			}
		}
	}
	return false
}

// escapesOf returns the kinds of escapes in a text. An escaped quote or line break does not
// count, because every document inside a string has them: the listed spellings cover those.
func escapesOf(text string) (has escapeKind) {
	for i := strings.IndexAny(text, `\%&`); i >= 0 && i < len(text)-1; {
		switch c, next := text[i], text[i+1]; {
		case c == '%' && isHex(next):
			has |= percents
		case c == '&' && (next == '#' || next >= 'a' && next <= 'z'):
			has |= entities
		case c == '\\' && strings.IndexByte(`uUx/ '01234567`, next) >= 0:
			has |= backslashes
		}
		step := strings.IndexAny(text[i+1:], `\%&`)
		if step < 0 {
			break
		}
		i += 1 + step
	}
	return has
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// unescape decodes the given kinds of escapes once.
func unescape(text string, kinds escapeKind) string {
	var b strings.Builder
	b.Grow(len(text))
	for {
		i := strings.IndexAny(text, `\%&`)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		plain, n := escapeAt(text[i:], kinds)
		if n == 0 {
			plain, n = text[i:i+1], 1
		}
		b.WriteString(plain)
		text = text[i+n:]
	}
}

// escapeAt decodes the escape at the start of a text. It returns the decoded
// text and the escape's length, which is 0 if there is none.
func escapeAt(text string, kinds escapeKind) (plain string, n int) {
	switch {
	case text[0] == '\\' && kinds&backslashes != 0:
		return backslash(text)
	case text[0] == '%' && kinds&percents != 0:
		return byteAt(text, 1, 2, 16)
	case text[0] == '&' && kinds&entities != 0:
		return entity(text)
	}
	return "", 0
}

func backslash(text string) (plain string, n int) {
	if len(text) < 2 {
		return "", 0
	}
	switch c := text[1]; {
	case c == 'u':
		return unicodeAt(text)
	case c == 'U':
		return runeAt(text, 2, 8, 16)
	case c == 'x':
		return byteAt(text, 2, 2, 16)
	case c >= '0' && c <= '3':
		return byteAt(text, 1, 3, 8)
	case c == 'n':
		return "\n", 2
	case c == 't':
		return "\t", 2
	case strings.IndexByte("\\/\"' $", c) >= 0:
		return text[1:2], 2
	}
	return "", 0
}

// unicodeAt decodes \uXXXX, or two of them that form a surrogate pair.
func unicodeAt(text string) (plain string, n int) {
	plain, n = runeAt(text, 2, 4, 16)
	if n == 0 {
		return "", 0
	}
	high, _ := strconv.ParseUint(text[2:6], 16, 32)
	if utf16.IsSurrogate(rune(high)) && len(text) >= 12 && text[6:8] == `\u` {
		if low, err := strconv.ParseUint(text[8:12], 16, 32); err == nil {
			return string(utf16.DecodeRune(rune(high), rune(low))), 12
		}
	}
	return plain, n
}

// runeAt decodes a character from its code, a number with this many digits at offset from.
func runeAt(text string, from, digits, base int) (plain string, n int) {
	if len(text) < from+digits {
		return "", 0
	}
	code, err := strconv.ParseUint(text[from:from+digits], base, 32)
	if err != nil || code > utf8.MaxRune {
		return "", 0
	}
	return string(rune(code)), from + digits
}

// byteAt decodes a byte from its code.
func byteAt(text string, from, digits, base int) (plain string, n int) {
	if len(text) < from+digits {
		return "", 0
	}
	code, err := strconv.ParseUint(text[from:from+digits], base, 8)
	if err != nil {
		return "", 0
	}
	return string([]byte{byte(code)}), from + digits
}

// namedEntities are the entities that every writer of XML and HTML uses.
var namedEntities = map[string]string{"amp": "&", "lt": "<", "gt": ">", "quot": `"`, "apos": "'"}

// maxEntity is the length in bytes of the longest entity: &#x10FFFF;
const maxEntity = 10

func entity(text string) (plain string, n int) {
	end := strings.IndexByte(text[:min(len(text), maxEntity)], ';')
	if end < 0 {
		return "", 0
	}
	name := text[1:end]
	if plain, ok := namedEntities[name]; ok {
		return plain, end + 1
	}
	digits, ok := strings.CutPrefix(name, "#")
	if !ok {
		return "", 0
	}
	base := 10
	if hex := strings.TrimLeft(digits, "xX"); hex != digits {
		digits, base = hex, 16
	}
	code, err := strconv.ParseUint(digits, base, 32)
	if err != nil || code > utf8.MaxRune {
		return "", 0
	}
	return string(rune(code)), end + 1
}

const (
	// gzipStart is the start of every gzip stream in base64.
	gzipStart = "H4sI"
	// maxInflation limits the decompressed size relative to the base64 text,
	// and maxInflated limits it in bytes.
	maxInflation = 32
	maxInflated  = 1 << 20
	// maxPacked is the largest number of compressed texts that are read from one text.
	maxPacked = 8
)

// unpacked calls found with each text that is compressed and in base64 inside text, until
// found returns true. It decodes data that exceeds the limits or is broken as far as possible.
func unpacked(text string, found func(string) bool) bool {
	for range maxPacked {
		i := strings.Index(text, gzipStart)
		if i < 0 {
			return false
		}
		text = text[i:]
		end := 0
		for end < len(text) && (isAlphanumeric(text[end]) || strings.IndexByte("+/-_", text[end]) >= 0) {
			end++
		}
		clean := strings.NewReplacer("-", "+", "_", "/").Replace(text[:end])
		text = text[end:]
		if len(clean)%4 == 1 {
			clean = clean[:len(clean)-1]
		}
		data, err := base64.RawStdEncoding.DecodeString(clean)
		if err != nil {
			continue
		}
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			continue
		}
		plain, _ := io.ReadAll(io.LimitReader(r, int64(min(maxInflated, maxInflation*end))))
		if found(string(plain)) {
			return true
		}
	}
	return false
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Secrets of these lengths, in bytes, are found in base32: a shorter one
// occurs by chance, and the spellings of a longer one take much memory.
const (
	minBase32 = 8
	maxBase32 = 1 << 10
)

// base32Cores returns the characters of v in base32 that do not depend on the bytes
// around it: one spelling for each offset modulo five, in upper and lower case.
func base32Cores(v string) []string {
	if len(v) < minBase32 || len(v) > maxBase32 {
		return nil
	}
	var out []string
	for offset, skip := range []int{0, 2, 4, 5, 7} {
		padded := append(make([]byte, offset), v...)
		core := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(padded)[skip:]
		if len(padded)%5 != 0 {
			core = core[:len(core)-1]
		}
		out = append(out, core, strings.ToLower(core))
	}
	return out
}
