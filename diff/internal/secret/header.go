package secret

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// minBearer is the smallest length of a bearer token; words that follow
// "bearer" in prose are shorter, or have no digit.
const minBearer = 16

// headers finds the credentials after "Basic" and "Bearer" in the value of an
// Authorization header. Lower is the text in lower case.
// https://www.rfc-editor.org/rfc/rfc7617, https://www.rfc-editor.org/rfc/rfc6750
func headers(text, lower string) []setting {
	var out []setting
	for _, scheme := range []string{"basic ", "bearer "} {
		for from := 0; ; {
			i := strings.Index(lower[from:], scheme)
			if i < 0 {
				break
			}
			start := from + i + len(scheme)
			end := start
			for end < len(text) && inToken(text[end]) {
				end++
			}
			said := end-start >= minValue && authorization(lower[max(0, from+i-maxAround):from+i])
			if token := text[start:end]; said || scheme == "basic " && Basic(token) || scheme == "bearer " && isBearer(token) {
				out = append(out, setting{name: scheme, start: start, end: end})
			}
			from = end
		}
	}
	return out
}

func inToken(c byte) bool { return inName(c) || c == '+' || c == '/' || c == '=' || c == '~' }

// authorization reports whether a text, in lower case, ends in the name of
// the header, so that its value follows.
func authorization(before string) bool {
	name := strings.TrimRight(before, ` \"':=`)
	return name != before && strings.HasSuffix(name, "authorization")
}

// Basic reports whether a text is USER:PASSWORD in base64, as in an
// Authorization header and the "auth" of a registry.
func Basic(token string) bool {
	_, ok := BasicPassword(token)
	return ok
}

// BasicPassword returns the password in a text for which Basic returns true. Without padding,
// the decoded text must be printable, because words are valid base64 without padding too.
func BasicPassword(token string) (password string, ok bool) {
	decoded, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		if decoded, err = base64.RawStdEncoding.DecodeString(token); err != nil || !prints(decoded) {
			return "", false
		}
	}
	_, password, ok = strings.Cut(string(decoded), ":")
	return password, ok
}

func prints(text []byte) bool {
	return utf8.Valid(text) && strings.IndexFunc(string(text), func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// schemes are the schemes of an Authorization header that occur in manifests, in lower case.
// https://www.iana.org/assignments/http-authschemes
var schemes = []string{"basic", "bearer", "token", "apikey", "digest", "negotiate"}

// Header reports whether a field is an Authorization header with a value, and
// returns what follows the scheme.
func Header(name, value string) (credentials string, ok bool) {
	if name = strings.ToLower(name); name != "authorization" && name != "proxy-authorization" {
		return "", false
	}
	scheme, rest, found := strings.Cut(strings.TrimSpace(value), " ")
	if !found {
		return scheme, isBearer(scheme) && Literal(scheme)
	}
	rest = strings.TrimSpace(rest)
	return rest, slices.Contains(schemes, strings.ToLower(scheme)) && len(rest) >= minValue && Literal(rest)
}

func isBearer(token string) bool {
	return len(token) >= minBearer && strings.ContainsAny(token, "0123456789")
}
