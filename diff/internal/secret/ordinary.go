package secret

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Ordinary reports whether a value is a word, a host, an address or a number. Searching for copies
// of such a secret would mask half of the manifests: names, images and labels consist of them.
func Ordinary(value string) bool {
	value = strings.TrimSpace(value)
	switch {
	case value == "", isNumber(value), isHost(value):
		return true
	}
	if u, err := url.Parse(value); err == nil && u.Scheme != "" && u.Host != "" {
		return u.User == nil && u.RawQuery == "" && isHost(u.Host) && ofWords(u.Path, maxSegments)
	}
	return ofWords(value, maxWords)
}

// maxWords is the largest number of words in an ordinary value, because a few words
// may be a passphrase. maxSegments is the largest number of segments in a path.
const (
	maxWords    = 1
	maxSegments = 16
)

// isNumber reports whether a text consists of digits and separators: a number, a date, a version.
func isNumber(text string) bool {
	digits := false
	for i := range len(text) {
		c := text[i]
		digits = digits || c >= '0' && c <= '9'
		if (c < '0' || c > '9') && !strings.ContainsRune(".,:_+- ", rune(c)) {
			return false
		}
	}
	return digits
}

// isHost reports whether a text is the name or the address of a host, with or without a port.
func isHost(text string) bool {
	if _, err := netip.ParseAddrPort(text); err == nil {
		return true
	}
	name, port, found := strings.Cut(text, ":")
	if found && !isNumber(port) {
		_, err := netip.ParseAddr(text)
		return err == nil
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	labels := strings.Split(name, ".")
	last := labels[len(labels)-1]
	if len(labels) < 2 || len(last) < 2 || strings.ContainsAny(last, "0123456789-") {
		return len(labels) == 1 && found && ofWords(name, maxSegments)
	}
	for _, label := range labels {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-*") != "" {
			return false
		}
	}
	return true
}

// wordSplitters are the separators between words.
const wordSplitters = "-_./ :@,"

func splitsWords(r rune) bool { return strings.ContainsRune(wordSplitters, r) }

// ofWords reports whether a text consists of at most this many words.
func ofWords(text string, most int) bool {
	parts := strings.FieldsFunc(text, splitsWords)
	if len(parts) > most {
		return false
	}
	for _, p := range parts {
		if !isWord(p) {
			return false
		}
	}
	return true
}

// maxWord is the largest length of a word, and maxShort that of a word with digits.
const (
	maxWord  = 24
	maxShort = 4
)

// isWord reports whether a text consists of letters, with digits only if it is short (k8s).
func isWord(text string) bool {
	if len(text) > maxWord {
		return false
	}
	turns := 0
	for i := range len(text) {
		c := text[i]
		lower, upper := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z'
		if !lower && !upper {
			return len(text) <= maxShort && c >= '0' && c <= '9'
		}
		if upper && i > 0 && text[i-1] >= 'a' {
			turns++
		}
	}
	return turns*4 <= len(text)
}

// minRandom and maxRandom are the limits of the length of a text that is
// recognized as random by its characters.
const (
	minRandom = 8
	maxRandom = 512
)

// Random reports whether a text looks generated, or like a strong password.
// Names with a number in them do not.
func Random(text string) bool {
	if len(text) < minRandom || len(text) > maxRandom || strings.ContainsAny(text, " \t\r\n") || Ordinary(text) ||
		!Literal(text) {
		return false
	}
	for _, part := range []string{"${", "$(", "{{", "sha256:", "sha512:"} {
		if strings.Contains(text, part) {
			return false
		}
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return splitsWords(r) || strings.ContainsRune("=&?", r) })
	return isRandomWord(strings.Join(slices.DeleteFunc(parts, isWord), ""))
}

// isRandomWord applies the same check to the part that remains without words:
// letters and digits alternate in it, or it has upper case and lower case
// letters and digits, or characters that do not occur in names.
func isRandomWord(word string) bool {
	if len(word) < minRandom {
		return false
	}
	turns := 0
	var lower, upper, digit, other bool
	for i := range len(word) {
		c := word[i]
		isDigit := c >= '0' && c <= '9'
		lower, upper, digit = lower || isLower(c), upper || isUpper(c), digit || isDigit
		other = other || strings.IndexByte("!#$^*~<>{}|", c) >= 0
		if i > 0 && isDigit != (word[i-1] >= '0' && word[i-1] <= '9') {
			turns++
		}
	}
	return digit && (lower || upper) && (turns > 1 || lower && upper || other)
}

// plainWords are the last words of names whose values decide what runs or who may do what. Such
// values are shown even if they equal a secret, because a reviewer decides by them.
var plainWords = []string{
	"image", "images", "repository", "registry", "role", "roles", "rolename", "rolearn", "roleref", "arn", "arns",
	"subject", "subjects", "principal", "principals", "member", "members", "serviceaccount", "serviceaccountname",
	"path", "paths", "verbs", "resources", "apigroups", "cidr", "cidrs", "cidrblocks", "policy", "policies",
	"capabilities", "entrypoint", "mountoptions", "ami", "imageid", "imageuri", "ldpreload", "ldaudit", "bashenv",
	"promptcommand", "pythonstartup", "perl5opt", "rubyopt", "luainit", "gitsshcommand",
}

// Plain reports whether a name is that of an image, a subject, a role, a path, an ARN or the like.
func Plain(name string) bool {
	if len(name) > maxName {
		return false
	}
	plain := strings.Map(separator, strings.ToLower(name[strings.LastIndexByte(name, '/')+1:]))
	for _, end := range plainWords {
		if strings.HasSuffix(plain, end) {
			return true
		}
	}
	return false
}

// ARN reports whether a text is the name of an AWS resource, and nothing else.
func ARN(text string) bool {
	rest, ok := strings.CutPrefix(text, "arn:aws")
	return ok && strings.Count(rest, ":") >= 4 && !strings.ContainsAny(rest, " \t\r\n\"'`;&|$(){}<>=")
}
