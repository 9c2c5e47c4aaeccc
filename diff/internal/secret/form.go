package secret

import (
	"net/url"
	"slices"
	"strings"
)

// maxPasswords is the largest number of passwords that are returned for one text.
const maxPasswords = 64

// Passwords returns the passwords inside the addresses in a text, both as
// written and, if that differs, unescaped.
func Passwords(text string) []string {
	var out []string
	passwords(text, func(start, end int) bool {
		password := text[start:end]
		out = append(out, password)
		if plain, err := url.PathUnescape(password); err == nil && plain != password {
			out = append(out, plain)
		}
		return len(out) < maxPasswords
	})
	return out
}

// noPassword is what GitHub documents as the password next to a token that is the user.
// https://github.blog/2012-09-21-easier-builds-and-deployments-using-git-over-https-and-oauth/
const noPassword = "x-oauth-basic"

// passwords calls found with the position of each password in SCHEME://USER:PASSWORD@ that is no
// reference to a variable, until found returns false. It reads each byte a few times at most.
func passwords(text string, found func(start, end int) bool) {
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return
		}
		at += i + len("://")
		rest := text[at:]
		if end := strings.IndexAny(rest, "/ \t\r\n\"'"); end >= 0 {
			rest = rest[:end]
		}
		host := strings.LastIndexByte(rest, '@')
		if host < 0 {
			continue
		}
		user, password, ok := strings.Cut(rest[:host], ":")
		start := at + len(user) + 1
		if ok && password != "" && password != noPassword && !strings.ContainsRune("$({<", rune(password[0])) &&
			!found(start, start+len(password)) {
			return
		}
	}
}

// addressWithPassword reports whether a text is one address in which only the
// password is a secret, so that the rest can be shown.
func addressWithPassword(text string) bool {
	if len(text) > maxRefused || !strings.Contains(text, "://") || len(Passwords(text)) != 1 {
		return false
	}
	u, err := url.Parse(text)
	if err != nil || u.User == nil || u.Fragment != "" {
		return false
	}
	for name, values := range u.Query() {
		if Name(name) || slices.ContainsFunc(values, func(v string) bool {
			return !ofWords(v, maxSegments) && !isNumber(v)
		}) {
			return false
		}
	}
	user := u.User.Username()
	u.User, u.RawQuery = nil, ""
	return !Random(user) && Ordinary(u.String())
}

// passwordSettings returns the passwords in addresses.
func passwordSettings(text string) []setting {
	var out []setting
	passwords(text, func(start, end int) bool {
		out = append(out, setting{name: "://", start: start, end: end})
		return true
	})
	return out
}

// minKeyLine is the smallest length of a line of a private key, except the last one.
const minKeyLine = 16

// privateKeys finds the bodies of private keys in PEM or a similar form, also
// with escaped line breaks. It leaves out text between the lines of a key
// that is no part of it, so that nothing can be hidden there.
// https://www.rfc-editor.org/rfc/rfc7468
func privateKeys(text string) []setting {
	var out []setting
	places(text, "PRIVATE KEY", func(start, end int) int {
		if !opensKey(text[:start]) {
			return end
		}
		p := strings.Index(text[end:min(len(text), end+maxAround)], "----")
		if p < 0 {
			return end
		}
		for p += end; p < len(text) && text[p] == '-'; p++ {
		}
		lines, next := keyLines(text, p)
		out = append(out, lines...)
		return next
	})
	return out
}

// opensKey reports whether a text ends in the start of the line before a key.
func opensKey(before string) bool {
	before = before[max(0, len(before)-maxAround):]
	i := strings.LastIndex(before, "---- BEGIN ")
	if j := strings.LastIndex(before, "-----BEGIN "); j > i {
		i = j
	}
	if i < 0 {
		return false
	}
	kind := strings.TrimLeft(before[i:], "-")
	return strings.Trim(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ") == ""
}

// keyLines returns the lines of the key that starts at byte p, and where it
// ends. Other lines stay visible.
func keyLines(text string, p int) (out []setting, end int) {
	end = len(text)
	if i := strings.Index(text[p:], "----"); i >= 0 {
		end = p + i
	}
	closed := strings.HasPrefix(strings.TrimLeft(text[end:min(len(text), end+maxAround)], "- "), "END ")
	foreign := false
	for p = keyBreak(text, p); p < end; p = keyBreak(text, p) {
		start := p
		p = min(end, span(text, p, "+/=_-"))
		switch n := len(out); {
		case p == start || p < end && keyBreak(text, p) == p || p-start < minKeyLine && p < end && text[p] == ' ':
			header, line := keyHeader(text, start, end)
			if foreign = foreign || !header; foreign && !closed {
				return out, end
			}
			p = line
		case p-start >= minKeyLine || closed && !foreign || n > 0 && keyBreak(text, out[n-1].end) == start:
			out = append(out, setting{name: "PRIVATE KEY", start: start, end: p})
		}
	}
	if !foreign && len(out) > 1 { // one setting, so that the size of the key is not shown
		out[0].end = out[len(out)-1].end
		out = out[:1]
	}
	return out, end
}

// keyHeader reports whether the line at byte p is a header of a key
// (DEK-Info: …), and returns where it ends.
func keyHeader(text string, p, end int) (header bool, line int) {
	line = p
	for line < end && text[line] != '\n' && text[line] != '\\' {
		line++
	}
	name, _, found := strings.Cut(text[p:line], ": ")
	return found && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-") == "", max(line, p+1)
}

// keyBreak returns where the line after byte p starts. Line breaks may be
// escaped, once or twice, and lines indented.
func keyBreak(text string, p int) int {
	for p < len(text) {
		q := skip(text, p, "\\", 2)
		switch {
		case strings.IndexByte(" \t\r\n", text[p]) >= 0:
			p++
		case q > p && q < len(text) && (text[q] == 'n' || text[q] == 'r'):
			p = q + 1
		default:
			return p
		}
	}
	return p
}
