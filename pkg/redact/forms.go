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

// formsOf gives the texts in which a value of MinLength bytes or more may show.
func formsOf(value []byte) []string {
	forms := []string{string(value)}
	for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		forms = append(forms, base64Forms(alphabet, value)...)
	}
	// A password in an address, such as that of a database.
	forms = append(forms, url.QueryEscape(string(value)), url.PathEscape(string(value)))
	forms = append(forms, hex.EncodeToString(value), strings.ToUpper(hex.EncodeToString(value)), html.EscapeString(string(value)))
	forms = append(forms, jsonForms(value)...)
	forms = append(forms, base32Forms(value)...)
	forms = append(forms, shellForms(string(value))...)
	return append(forms, disguisedForms(value)...)
}

// minDisguised is the least length in bytes of a value whose disguises are looked for: reversed or in another case, a shorter one is
// likely to be an ordinary word. mostDisguised is the largest, for each disguise costs several nodes a byte.
const (
	minDisguised  = 8
	mostDisguised = 512
)

// separators are what is put between the letters of a value to spell it out. The NUL makes UTF-16 of it.
var separators = []string{" ", "  ", "-", "_", ".", ",", ", ", ":", "|", "\n", "\r\n", "\t", "\x00"}

// disguisedForms gives the value as people and simple programs write it to get it past a filter, and as dumps of bytes show it: backwards,
// in capitals and in small letters, letter by letter, byte by byte as numbers and as escapes, and in pieces.
func disguisedForms(value []byte) []string {
	if len(value) < minDisguised || len(value) > mostDisguised {
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
	return append(forms, pieces(text)...)
}

// minPiece is the least length in bytes of a piece of a secret that is looked for by itself.
const minPiece = 16

// pieces gives the parts of 16 bytes and more of a key or token that has as many bytes twice: printed in two halves, or broken into
// lines, it is found all the same. A part of anything else (an address, a sentence) may be ordinary text.
func pieces(text string) []string {
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

// isRandom reports whether text looks as a generator made it: small letters, capitals and digits, or hexadecimal digits of both kinds,
// without a character that words and addresses are divided by, and nearly all different.
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

// base32Forms gives what of the value's base32 is sure to appear when it is encoded alone or within something longer, in capitals and in
// small letters. Base32 writes five bytes as eight characters; characters that the value shares with its neighbours are left out.
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

// shellForms gives the value as a shell shows it when it traces what it runs, and as people write it into a command: within single
// quotes (a quote ends them, stands for itself, and begins them anew), within double quotes, and with a backslash before each
// letter that means something.
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

// lineForms gives what hides the lines of a value of several lines where they are indented, or end otherwise than there. Lines of
// minLine bytes and more count wherever they are. A shorter one (the last of a PEM key, say) may be ordinary text, so it counts only
// right after the end of the line before it, or right before the beginning of the line after it.
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
	for i, line := range lines {
		if len(line) >= minLine {
			forms = append(forms, formsOf([]byte(line))...)
			continue
		}
		if short++; short > mostShort {
			continue
		}
		if i > 0 {
			before := lines[i-1]
			forms = append(forms, indented(before[max(0, len(before)-beside):], line)...)
		} else {
			after := lines[i+1]
			forms = append(forms, indented(line, after[:min(beside, len(after))])...)
		}
	}
	return forms
}

// mostShort is how many short lines of a secret are looked for by themselves. A key has one; a whole file that is secret has many,
// and each costs some ten kilobytes.
const mostShort = 16

// beside is how many bytes of the neighbour tell that a short line is the secret's.
const beside = 8

// indented gives two lines that follow each other, the second at any indentation that tools and people use.
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

// base64Forms gives what of the value's base64 is sure to appear when it is encoded alone or within something longer. Base64
// writes three bytes as four characters, so the value can begin at three places of such a group; a character that it shares with
// an unknown neighbour is left out: that leaves at most four bits of its first and of its last byte.
func base64Forms(alphabet *base64.Encoding, value []byte) []string {
	forms := []string{alphabet.EncodeToString(value), alphabet.WithPadding(base64.NoPadding).EncodeToString(value)}
	for before := range 3 {
		padded := append(make([]byte, before), value...)
		encoded := alphabet.EncodeToString(padded)
		first := (before*8 + 5) / 6
		forms = append(forms,
			encoded[first:len(padded)*8/6], // something follows
			encoded[first:],                // it ends what was encoded
			alphabet.WithPadding(base64.NoPadding).EncodeToString(padded)[first:],
		)
	}
	return forms
}

// jsonForms gives the value as it stands between the quotes of a JSON string, with and without the escapes that are only for
// HTML, and the same once more for JSON within JSON.
func jsonForms(value []byte) []string {
	var forms []string
	for _, html := range []bool{true, false} {
		once := jsonEscape(value, html)
		forms = append(forms, once, jsonEscape([]byte(once), html))
		// What begins a template is doubled in Terraform's own strings.
		forms = append(forms, strings.NewReplacer("${", "$${", "%{", "%%{").Replace(once))
	}
	return forms
}

func jsonEscape(value []byte, html bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(html)
	if err := encoder.Encode(string(value)); err != nil {
		return string(value) // a string always encodes; the plain form is looked for anyway
	}
	quoted := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	return string(quoted[1 : len(quoted)-1])
}
