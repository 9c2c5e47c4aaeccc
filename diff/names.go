package diff

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// ownNames replaces an install's own names with placeholders, so that the
// reports of two installs can be compared.
//
// Given the names, a text with placeholders can be converted back: a placeholder starts
// with one ‹, and a ‹ of the text itself is doubled. So a text that looks like a
// placeholder is not taken for one, and two different texts of one install stay different.
type ownNames struct {
	// names are the names to replace, the longest first.
	names []ownName
	// begins marks the bytes with which a name or a non-ASCII character can start.
	begins [256]bool
}

type ownName struct {
	text, placeholder string
	// whole: replaced only as a whole token, not as a part of one ("web" in "web-frontend").
	whole bool
}

const (
	// openPlaceholder starts a placeholder.
	openPlaceholder = "‹"
	// maxOwnNames bounds the work, because others choose the names. Names
	// beyond it are not replaced: then fewer reports are alike.
	maxOwnNames = 32
	// minInsideName is the shortest name, in bytes, that is replaced inside longer tokens.
	minInsideName = 3
	// minDigitName is the shortest name that may start with a digit or look
	// like a version: shorter ones are numbers and sizes.
	minDigitName = 8
)

func newOwnNames(names []string) *ownNames {
	o := &ownNames{}
	seen := map[string]bool{}
	for i, n := range names[:min(len(names), maxOwnNames)] {
		if seen[n] || hasGeneralMeaning(n) {
			continue
		}
		seen[n] = true
		placeholder := openPlaceholder + "own name›"
		if i > 0 {
			placeholder = fmt.Sprintf("%sown name %d›", openPlaceholder, i+1)
		}
		o.names = append(o.names, ownName{text: n, placeholder: placeholder, whole: len(n) < minInsideName ||
			commonWords()[strings.ToLower(n)]})
	}
	for i := range o.begins {
		o.begins[i] = i >= utf8.RuneSelf
	}
	for _, n := range o.names {
		o.begins[n.text[0]] = true
	}
	slices.SortStableFunc(o.names, func(a, b ownName) int { return cmp.Compare(len(b.text), len(a.text)) })
	return o
}

// commonWords are words that are part of so many objects' names that an install
// with such a name must not claim them all.
var commonWords = wordSet(
	`api app apps auth backend cache client cluster config console core data database db dashboard events frontend
	gateway http https ingress job jobs main manager metrics monitoring node nodes platform postgres proxy queue redis release
	runner scheduler server service services shop site storage store stream svc test tests tls tools ui user users web worker`)

// reservedWords are words with a fixed meaning. If "admin" were replaced in the
// report of an install with that name, it would look like the report of an
// install that grants a role with the install's own name.
var reservedWords = wordSet(
	`access admin administrator administrators all allow allusers allow-all always anonymous any anyone auto
	authenticated authenticated-users contributor control create default delete deny disable disabled edit editor elevated enable
	enabled enforce everyone everything external false force full guest host ignore internal internet kube latest local localhost
	manage master masters member never nil no none null off on only open optional owner permissive policy poweruser preferred
	privileged protected public pull private read reader readonly readwrite replace required restricted root secret security
	spot stable standard strict sudo super superuser system token trust trusted true unrestricted update verify view viewer
	world write writer yes`)

// decisive are the keys whose values decide what runs or what is allowed: the report of an
// install whose name is also an image's must not be alike to one that runs a different image.
var decisive = wordSet(
	`action actions ami apiGroups capabilities chart command digest effect entrypoint handler image image_id image_uri
	module nonResourceURLs policy policy_arn provisioner registry repository resources role_definition_name rules runtime
	runtimeClassName source tag verbs version`)

// hasDecisiveValue reports whether a field has a decisive value, or is a whole object that has one.
func hasDecisiveValue(f *FieldChange) bool {
	key := f.Path
	for strings.HasSuffix(key, "]") {
		open := strings.LastIndexByte(key, '[')
		if open < 0 {
			break
		}
		key = key[:open]
	}
	if decisive()[key[strings.LastIndexAny(key, ". ")+1:]] {
		return true
	}
	return documentDecides(&f.Before) || documentDecides(&f.After)
}

// documentDecides checks the keys of a document: an object or a list in JSON,
// or a multi-line text with keys as in YAML.
func documentDecides(s *ShownValue) bool {
	switch {
	case s.Type == TypeString && strings.Contains(s.Text, "\n"):
		for line := range strings.Lines(s.Text) {
			key, _, found := strings.Cut(line, ":")
			if found && decisive()[strings.Trim(key, " \t-\"'")] {
				return true
			}
		}
	case s.Type == TypeObject || s.Type == TypeList:
		for head, rest, found := strings.Cut(s.Text, `":`); found; head, rest, found = strings.Cut(rest, `":`) {
			if decisive()[head[strings.LastIndexByte(head, '"')+1:]] {
				return true
			}
		}
	}
	return false
}

// wordSet returns a function that builds the set on its first call.
func wordSet(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, w := range strings.Fields(list) {
			set[w] = true
		}
		return set
	})
}

// hasGeneralMeaning reports whether a name cannot be replaced because it could have a meaning as
// a value: numbers, versions and addresses, anything with characters other than letters,
// digits, dots, dashes and underscores, and powerful words, alone or joined ("cluster-admin").
func hasGeneralMeaning(name string) bool {
	letter := false
	for _, r := range name {
		letter = letter || unicode.IsLetter(r)
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' && r != '-' && r != '_' || r == utf8.RuneError {
			return true
		}
	}
	if _, err := netip.ParseAddr(name); err == nil || name == "" {
		return true
	}
	digits := strings.TrimLeft(strings.TrimPrefix(name, "v"), "0123456789.")
	if len(name) < minDigitName && (!letter || len(digits) < len(strings.TrimPrefix(name, "v"))) {
		return true
	}
	power := false
	for _, part := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return r == '.' || r == '-' || r == '_'
	}) {
		if !reservedWords()[part] && !commonWords()[part] {
			return false
		}
		power = power || reservedWords()[part]
	}
	return power
}

// text returns s with placeholders.
func (o *ownNames) text(s string) string {
	if !o.appliesTo(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 32)
	for at := 0; at < len(s); {
		from := at
		for at < len(s) && !o.begins[s[at]] {
			at++
		}
		b.WriteString(s[from:at])
		if at == len(s) {
			break
		}
		if n, ok := o.nameAt(s, at); ok {
			b.WriteString(n.placeholder)
			at += len(n.text)
			continue
		}
		r, size := utf8.DecodeRuneInString(s[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			// JSON would encode every invalid byte the same way.
			fmt.Fprintf(&b, "%sx%02x›", openPlaceholder, s[at])
		case s[at:at+size] == openPlaceholder:
			b.WriteString(openPlaceholder + openPlaceholder)
		default:
			b.WriteString(s[at : at+size])
		}
		at += size
	}
	return b.String()
}

// appliesTo reports whether text would change s.
func (o *ownNames) appliesTo(s string) bool {
	for _, n := range o.names {
		if strings.Contains(s, n.text) {
			return true
		}
	}
	return strings.Contains(s, openPlaceholder) || !utf8.ValidString(s)
}

// nameAt finds the longest name at a position of s, between word boundaries.
func (o *ownNames) nameAt(s string, at int) (ownName, bool) {
	for _, n := range o.names {
		if !strings.HasPrefix(s[at:], n.text) {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(s[:at])
		after, _ := utf8.DecodeRuneInString(s[at+len(n.text):])
		if !n.extendsWord(before) && !n.extendsWord(after) {
			return n, true
		}
	}
	return ownName{}, false
}

// extendsWord reports whether a character next to the name makes it a part of a
// longer word, or, if whole is set, of a longer token.
func (n ownName) extendsWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || n.whole && (r == '-' || r == '_' || r == '.')
}
