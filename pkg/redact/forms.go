package redact

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// formsOf returns the texts in which a value of MinLength bytes or more may appear.
func formsOf(value []byte) []string {
	forms := []string{string(value)}
	for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		forms = append(forms, base64Forms(alphabet, value)...)
	}
	forms = append(forms, hex.EncodeToString(value), strings.ToUpper(hex.EncodeToString(value)))
	forms = append(forms, urlForms(string(value))...)
	forms = append(forms, htmlForms(string(value))...)
	forms = append(forms, quotedForms(string(value))...)
	forms = append(forms, jsonForms(value)...)
	forms = append(forms, base32Forms(value)...)
	forms = append(forms, shellForms(string(value))...)
	return append(forms, disguisedForms(value)...)
}

// urlForms returns the value as it appears in a URL, such as that of a database. Languages differ in which
// characters they escape, in the case of the digits, and in how they write a blank.
func urlForms(value string) []string {
	password := strings.TrimPrefix(url.UserPassword("", value).String(), ":")
	forms := []string{url.QueryEscape(value), url.PathEscape(value), password}
	for _, unescaped := range []string{"-_.~", "-_.~/", "-_.!~*'()"} { // RFC 3986, Python, JavaScript
		forms = append(forms, percentEncode(value, unescaped, "0123456789ABCDEF"),
			percentEncode(value, unescaped, "0123456789abcdef"))
	}
	return append(forms, strings.ReplaceAll(percentEncode(value, "-_.~", "0123456789abcdef"), "%20", "+"))
}

// percentEncode escapes all bytes of the value but letters, digits and those that are unescaped.
func percentEncode(value, unescaped, digits string) string {
	var out strings.Builder
	for i := range len(value) {
		b := value[i]
		if b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || strings.IndexByte(unescaped, b) >= 0 {
			out.WriteByte(b)
			continue
		}
		out.Write([]byte{'%', digits[b>>4], digits[b&15]})
	}
	return out.String()
}

// htmlForms returns the value as it appears in HTML and XML, where quotes have several names.
func htmlForms(value string) []string {
	forms := []string{html.EscapeString(value)}
	for _, single := range []string{"&#39;", "&#x27;", "&apos;"} {
		forms = append(forms,
			strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", single).Replace(value))
	}
	return forms
}

// quotedForms returns the value as Go programs quote it in messages.
func quotedForms(value string) []string {
	var forms []string
	for _, quoted := range []string{strconv.Quote(value), strconv.QuoteToASCII(value)} {
		forms = append(forms, quoted[1:len(quoted)-1])
	}
	return forms
}

// Disguised forms are searched only for values with minDisguisedBytes to maxDisguisedBytes bytes. Reversed
// or in another case, a shorter value is likely to be an ordinary word; for a longer one they take
// too much memory, because each form costs several nodes per byte.
const (
	minDisguisedBytes = 8
	maxDisguisedBytes = 512
)

// separators are the texts that people put between the letters of a value to spell it out. With NUL
// the value becomes UTF-16.
var separators = []string{" ", "  ", "-", "_", ".", ",", ", ", ":", "|", "\n", "\r\n", "\t", "\x00"}

// disguisedForms returns the forms in which people and simple programs write the value to get it
// past a filter, and in which dumps show it: reversed, in upper and lower case, letter by letter,
// byte by byte as numbers and as escapes, and in pieces.
func disguisedForms(value []byte) []string {
	if len(value) < minDisguisedBytes || len(value) > maxDisguisedBytes {
		return nil
	}
	text := string(value)
	backwards := []rune(text)
	slices.Reverse(backwards)
	forms := []string{strings.ToUpper(text), strings.ToLower(text), string(backwards)}
	letters := strings.Split(text, "")
	for _, between := range separators {
		forms = append(forms, strings.Join(letters, between))
	}
	for _, digits := range []string{hex.EncodeToString(value), strings.ToUpper(hex.EncodeToString(value))} {
		pairs := make([]string, 0, len(value))
		for i := 0; i < len(digits); i += 2 {
			pairs = append(pairs, digits[i:i+2])
		}
		for _, between := range []string{" ", ":", "-", `\x`, "%", ", 0x", ",0x", " 0x"} {
			forms = append(forms, strings.Join(pairs, between))
		}
		forms = append(forms, "&#x"+strings.Join(pairs, ";&#x")+";")
	}
	decimals := make([]string, 0, len(value))
	for _, b := range value {
		decimals = append(decimals, strconv.Itoa(int(b)))
	}
	for _, between := range []string{" ", ",", ", "} {
		forms = append(forms, strings.Join(decimals, between))
	}
	forms = append(forms, "&#"+strings.Join(decimals, ";&#")+";")
	return append(forms, splitRandom(text)...)
}

// minPiece is the minimum length in bytes of a piece of a secret that is searched separately.
const minPiece = 16

// splitRandom splits a random key or token of 32 bytes or more into parts of at least 16 bytes, so that
// it is also found when it is printed in two halves or broken into lines. Other values (an address,
// a sentence) have no pieces, because a part of them may be ordinary text.
func splitRandom(text string) []string {
	many := len(text) / minPiece
	if many < 2 || !isRandom(text) {
		return nil
	}
	var parts []string
	for i := range many {
		part := text[i*len(text)/many : (i+1)*len(text)/many]
		if isRandom(part) {
			parts = append(parts, part)
		}
	}
	return parts
}

// isRandom reports whether text seems to be generated: it consists of upper case, lower case and
// digits, or of hexadecimal digits with both letters and numbers, contains no character that
// separates words or parts of addresses, and has few repeated characters.
func isRandom(text string) bool {
	var upper, lower, digit bool
	seen := map[byte]bool{}
	hexadecimal := true
	for i := range len(text) {
		b := text[i]
		switch {
		case b >= '0' && b <= '9':
			digit = true
		case b >= 'a' && b <= 'z':
			lower, hexadecimal = true, hexadecimal && b <= 'f'
		case b >= 'A' && b <= 'Z':
			upper, hexadecimal = true, hexadecimal && b <= 'F'
		case strings.IndexByte("+/=_-", b) < 0:
			return false
		default:
			hexadecimal = false
		}
		seen[b] = true
	}
	return digit && (hexadecimal && (lower || upper) && len(seen) >= 6 || upper && lower && len(seen) >= 8)
}

// base32Forms returns the parts of the value's base32 that appear whether the value is encoded
// alone or within a longer text, in upper and lower case. Base32 writes five bytes as eight
// characters; characters that the value shares with its neighbors are left out.
func base32Forms(value []byte) []string {
	var forms []string
	for before := range 5 {
		padded := append(make([]byte, before), value...)
		encoded := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(padded)
		first, last := (before*8+4)/5, len(padded)*8/5
		forms = append(forms, encoded[first:last], encoded[first:])
	}
	for _, form := range slices.Clone(forms) {
		forms = append(forms, strings.ToLower(form))
	}
	return forms
}

// shellForms returns the value as a shell prints it in a trace, and as people write it in a
// command: in single quotes (where a single quote is written by ending the quotes, quoting it, and
// opening them again), in double quotes, and with a backslash before each special character.
func shellForms(value string) []string {
	return []string{
		strings.ReplaceAll(value, "'", `'\''`),
		strings.ReplaceAll(value, "'", `'"'"'`),
		withBackslashes(value, "\"\\$`"),
		withBackslashes(value, "\"\\$`!"),
		withBackslashes(value, " \t!\"#$&'()*,;<=>?[\\]^`{|}~"),
		withBackslashes(value, " \t!\"#$&'()*,;<>?[\\]^`{|}"),
	}
}

// withBackslashes puts a backslash before each of the letters.
func withBackslashes(value, letters string) string {
	var out strings.Builder
	for i := range len(value) {
		if strings.IndexByte(letters, value[i]) >= 0 {
			out.WriteByte('\\')
		}
		out.WriteByte(value[i])
	}
	return out.String()
}

// lineForms returns the forms that find the lines of a multi-line value when they are indented or
// have other line ends. Lines of minLine bytes or more are found anywhere. A shorter line (for
// example the last of a PEM key) may be ordinary text, so it is found only right after the end of
// the line before it or, for the first line, right before the start of the next line. Two lines of fewer
// than neighborBytes together, such as two closing braces, are ordinary text.
func lineForms(value []byte) []string {
	var lines, forms []string
	for line := range bytes.Lines(value) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			lines = append(lines, string(line))
		}
	}
	if len(lines) < 2 {
		return nil
	}
	short := 0
	pair := func(first, second string) {
		if len(first)+len(second) >= neighborBytes {
			forms = append(forms, indented(first, second)...)
		}
	}
	for i, line := range lines {
		if len(line) >= minLine {
			forms = append(forms, formsOf([]byte(line))...)
			continue
		}
		if short++; short > maxShortLines {
			continue
		}
		if i > 0 {
			before := lines[i-1]
			pair(before[max(0, len(before)-neighborBytes):], line)
		} else {
			after := lines[i+1]
			pair(line, after[:min(neighborBytes, len(after))])
		}
	}
	return forms
}

// maxShortLines is the maximum number of short lines of a secret that are searched separately. A key
// has one; a secret file has many, and each takes about ten kilobytes.
const maxShortLines = 16

// neighborBytes is how many bytes of the neighboring line must match to identify a short line.
const neighborBytes = 8

// indented returns two consecutive lines, the second with each indentation that tools and people
// use.
func indented(first, second string) []string {
	var forms []string
	for _, end := range []string{"\n", "\r\n"} {
		for width := range 33 {
			forms = append(forms, first+end+strings.Repeat(" ", width)+second)
		}
		for width := 1; width <= 6; width++ {
			forms = append(forms, first+end+strings.Repeat("\t", width)+second)
		}
	}
	return forms
}

// base64Forms returns the parts of the value's base64 that appear whether the value is encoded
// alone or within a longer text. Base64 writes three bytes as four characters, so the value can
// start at three offsets of a group. A character that the value shares with an unknown neighbor is
// left out, which reveals at most four bits of its first and of its last byte.
func base64Forms(alphabet *base64.Encoding, value []byte) []string {
	forms := []string{alphabet.EncodeToString(value), alphabet.WithPadding(base64.NoPadding).EncodeToString(value)}
	for before := range 3 {
		padded := append(make([]byte, before), value...)
		encoded := alphabet.EncodeToString(padded)
		first := (before*8 + 5) / 6
		forms = append(forms,
			encoded[first:len(padded)*8/6], // more text follows
			encoded[first:],                // the value ends the encoded text
			alphabet.WithPadding(base64.NoPadding).EncodeToString(padded)[first:],
		)
	}
	return forms
}

// jsonForms returns the value as it appears between the quotes of a JSON string, with and without
// the escapes for HTML, and again for JSON within JSON.
func jsonForms(value []byte) []string {
	var forms []string
	for _, html := range []bool{true, false} {
		escaped := jsonEscape(value, html)
		forms = append(forms, escaped, jsonEscape([]byte(escaped), html))
		// Terraform's strings double the first character of a template.
		forms = append(forms, strings.NewReplacer("${", "$${", "%{", "%%{").Replace(escaped))
	}
	return forms
}

func jsonEscape(value []byte, html bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(html)
	if err := encoder.Encode(string(value)); err != nil {
		return string(value) // a string always encodes; the plain form is searched anyway
	}
	quoted := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	return string(quoted[1 : len(quoted)-1])
}
