package secret

import (
	"net/url"
	"strings"
)

// Form says that a text holds a secret by its own form: a private key, or a password inside an address.
func Form(text string) bool {
	return strings.Contains(text, "PRIVATE KEY-----") || !passwords(text, func(string) bool { return false })
}

// maxPasswords is how many passwords one text tells at most.
const maxPasswords = 64

// Passwords are those inside of the addresses in a text, as they are written and, where that is something else, as they are meant.
func Passwords(text string) []string {
	var out []string
	passwords(text, func(password string) bool {
		out = append(out, password)
		if plain, err := url.PathUnescape(password); err == nil && plain != password {
			out = append(out, plain)
		}
		return len(out) < maxPasswords
	})
	return out
}

// passwords calls found with each SCHEME://USER:PASSWORD@ whose password is no reference to a variable, until found returns false, and says
// whether it never did. It looks at each byte a few times at most.
func passwords(text string, found func(password string) bool) bool {
	for {
		_, rest, ok := strings.Cut(text, "://")
		if !ok {
			return true
		}
		text = rest
		end := strings.IndexAny(rest, "/ \t\r\n\"'")
		if end < 0 {
			end = len(rest)
		}
		at := strings.LastIndexByte(rest[:end], '@')
		if at < 0 {
			continue
		}
		_, password, ok := strings.Cut(rest[:at], ":")
		if ok && password != "" && !strings.ContainsRune("$({<", rune(password[0])) && !found(password) {
			return false
		}
	}
}
