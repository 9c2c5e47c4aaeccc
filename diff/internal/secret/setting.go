package secret

import (
	"cmp"
	"slices"
	"strings"
)

// setting is NAME=VALUE or NAME: VALUE in a text, with the name of a secret:
// in a script, a properties file, a connection string.
type setting struct {
	name       string
	start, end int // of the value
}

// maxAround is how many bytes of a name are searched before and after its
// stem, and minValue the smallest length of a value.
const (
	maxAround = 128
	minValue  = 4
	// maxRefused is the largest length of a value that is checked and may
	// then be shown: a longer one is hidden. Without it, many values that all
	// extend to the end of the text would take quadratic time.
	maxRefused = 1024
)

// stems are the starts of the words that indicate a secret.
var stems = []string{"pass", "pwd", "secret", "token", "credential", "key", "connectionstring", "auth",
	"psk", "jwt", "bearer", "salt", "pepper", "pw", "creds"}

// Mentions reports whether a text has a word that could indicate a secret: a
// cheap check before an expensive one.
func Mentions(text string) bool {
	lower := lowered(text)
	return slices.ContainsFunc(stems, func(stem string) bool { return strings.Contains(lower, stem) }) ||
		strings.Contains(text, "://") || strings.Contains(lower, "basic ") || strings.Contains(lower, "bearer ") ||
		mentionsToken(text, lower)
}

// settings finds all settings, in order. It reads each byte a few times at most.
func settings(text string) []setting {
	lower := lowered(text)
	var at []int
	for _, stem := range stems {
		for from := 0; ; {
			i := strings.Index(lower[from:], stem)
			if i < 0 {
				break
			}
			at = append(at, from+i)
			from += i + len(stem)
		}
	}
	out := slices.Concat(headers(text, lower), tokens(text, lower), passwordSettings(text), privateKeys(text))
	slices.Sort(at)
	end := 0
	for _, i := range at {
		if i < end {
			continue
		}
		if s, ok := settingAt(text, i, end); ok {
			out, end = append(out, s), s.end
		}
	}
	return apart(out)
}

// apart sorts settings by position and merges those that overlap.
func apart(all []setting) []setting {
	slices.SortStableFunc(all, func(a, b setting) int { return cmp.Compare(a.start, b.start) })
	out := all[:0]
	end := 0
	for _, s := range all {
		if s.start >= end {
			out, end = append(out, s), s.end
		} else if s.end > end {
			out[len(out)-1].end, end = s.end, s.end
		}
	}
	return out
}

// settingAt reads the setting with a name around byte i that starts at byte from or later. A
// value in quotes ends at the closing quote, any other at the next blank, comma or the like.
func settingAt(text string, i, from int) (setting, bool) {
	start, end := i, i
	for start > max(from, i-maxAround) && inName(text[start-1]) {
		start--
	}
	for end < len(text) && end < i+maxAround && inName(text[end]) {
		end++
	}
	s := setting{name: text[start:end]}
	if element, ok := elementAt(text, s.name, start, end); ok {
		return element, true
	}
	quoted := skip(text, end, `\"']`, 3)
	p := skip(text, quoted, " \t", len(text))
	value := skip(text, p, ":=", 2)
	how := assigned
	if value == p {
		how, value = associationAfter(text, end, quoted, p)
	} else if value < len(text) && text[value] == '>' && text[value-1] == '=' { // 'password' => 'x'
		how, value = quotedOnly, value+1
	}
	if paired, ok := pairedValue(text, start, quoted); ok {
		how, value = assigned, paired
	}
	if how == none {
		return s, false
	}
	registry := strings.EqualFold(s.name, "auth") // the key in a .dockerconfigjson
	weak := weakName(s.name)
	if !registry && !weak && !Name(s.name) || inARN(text[max(0, start-maxAround):start]) {
		return s, false
	}
	value = skip(text, value, " \t", len(text))
	if how == assigned {
		value = skipTag(text, value)
	}
	s.start, s.end = valueAt(text, value)
	found := text[s.start:s.end]
	if how == assigned && len(found) > maxRefused {
		return s, true
	}
	if registry {
		return s, how == assigned && Basic(found)
	}
	isCall := s.end < len(text) && text[s.end] == '(' && ofWords(found, maxSegments) // password = read_password(file)
	ok := len(found) >= minValue && !isCall && isSecretText(s.name, found) && !strings.HasPrefix(found, "//")
	return s, ok && (!weak || Random(found)) && how.allows(text, start, s.start > value, found)
}

// association is how a text associates a value with a name.
type association int

const (
	none       association = iota
	assigned               // NAME=VALUE, NAME: VALUE
	quotedOnly             // NAME => "VALUE", key="NAME" value="VALUE"
	listed                 // "NAME", "VALUE"
	bare                   // NAME VALUE: also occurs in prose
)

// associationAfter returns how a value is associated with the name that ends at a byte,
// if there is no separator such as = or :, and where the value may start.
func associationAfter(text string, end, quoted, p int) (how association, value int) {
	rest := text[p:min(len(text), p+maxAround)]
	for _, between := range [][2]string{{"", "value="}, {"</name>", "<value>"}, {"{", "default"}} {
		after, ok := strings.CutPrefix(rest, between[0])
		after = strings.TrimLeft(after, " \t\r\n")
		after, also := strings.CutPrefix(after, between[1])
		switch {
		case !ok || !also:
		case between[0] == "</name>" && strings.Contains(after, "</value>"):
			return assigned, p + len(rest) - len(after)
		case between[0] == "{":
			if after, ok = strings.CutPrefix(strings.TrimLeft(after, " \t"), "="); ok {
				return quotedOnly, p + len(rest) - len(after)
			}
		case between[0] == "":
			return quotedOnly, p + len(rest) - len(after)
		}
	}
	switch {
	case quoted > end && strings.HasPrefix(rest, ","):
		return listed, p + 1
	case p > quoted:
		return bare, p
	}
	return none, p
}

// pairedValue returns where the value of a pair starts whose name starts at byte start and ends, with its
// quotes, at byte end: name: NAME and value: VALUE on two lines, as in the env of a container, or in an object of
// JSON.
func pairedValue(text string, start, end int) (p int, ok bool) {
	before := strings.TrimRight(text[max(0, start-maxAround):start], " \t\"'\\")
	if !strings.HasSuffix(before, ":") && !strings.HasSuffix(before, "=") {
		return 0, false
	}
	before = lowered(strings.TrimRight(before[:len(before)-1], " \t\"'\\"))
	if word := before[1+strings.LastIndexFunc(before, func(r rune) bool { return r > 127 || !inName(byte(r)) }):]; word !=
		"name" && word != "key" {
		return 0, false
	}
	rest := strings.TrimLeft(text[end:min(len(text), end+maxAround)], " \t\r\n,;")
	at := end + len(text[end:min(len(text), end+maxAround)]) - len(rest)
	at = skip(text, at, `\"'`, 2)
	if len(text) < at+len("value") || lowered(text[at:at+len("value")]) != "value" {
		return 0, false
	}
	at = skip(text, skip(text, at+len("value"), `\"'`, 2), " \t", maxAround)
	p = skip(text, at, ":=", 1)
	return p, p > at
}

// allows reports whether a value that is associated in this way with the name at
// byte start is a secret, and not a word of a sentence or the next element of a list.
func (a association) allows(text string, start int, quoted bool, value string) bool {
	switch a {
	case assigned:
		return true
	case quotedOnly:
		return quoted
	case listed:
		return quoted && !ofWords(value, maxSegments)
	}
	if value[0] == '-' { // an option
		return false
	}
	if strings.HasPrefix(text[start:], "-") { // --password VALUE
		return !ofWords(value, maxSegments)
	}
	return Random(value) || setsVariable(text[max(0, start-maxAround):start])
}

// setsVariable reports whether a text ends in a fish command that sets a variable: set -gx.
func setsVariable(before string) bool {
	words := strings.Fields(before[strings.LastIndexByte(before, '\n')+1:])
	n := len(words)
	for n > 0 && strings.HasPrefix(words[n-1], "-") {
		n--
	}
	return n > 0 && n < len(words) && words[n-1] == "set"
}

// skipTag returns the position after the tag or the anchor of a YAML value
// (!!str, &name), or after a line break that a backslash escapes.
func skipTag(text string, p int) int {
	if strings.HasPrefix(text[p:], "\\\n") {
		return skip(text, p+2, " \t", len(text))
	}
	var end int
	switch rest := text[p:]; {
	case strings.HasPrefix(rest, "!!"), strings.HasPrefix(rest, "&"):
		end = span(text, skip(text, p, "!&", 2), "_-.")
	case strings.HasPrefix(rest, "! "):
		end = p + 1
	default: // !GetAtt and other tags of one program
		return p
	}
	if next := skip(text, end, " ", maxAround); next > end {
		return next
	}
	return p
}

// inARN reports whether what follows a text is a part of the ARN at its end
// (arn:aws:secretsmanager:eu-west-1:123456789012:secret:db).
func inARN(before string) bool {
	i := strings.LastIndex(before, "arn:aws")
	return i >= 0 && strings.HasSuffix(before, ":") && !strings.ContainsAny(before[i:], "\"'\\\r\n,;")
}

// elementAt reads <NAME>VALUE</NAME>, with the name at these bytes.
func elementAt(text, name string, start, end int) (setting, bool) {
	s := setting{name: name, start: end + 1, end: end + 1}
	if start == 0 || text[start-1] != '<' || end == len(text) || text[end] != '>' || !Name(name) {
		return s, false
	}
	n := strings.IndexByte(text[s.start:min(len(text), s.start+maxRefused)], '<')
	if n < minValue {
		return s, false
	}
	s.end += n
	return s, strings.HasPrefix(text[s.end:], "</") && Literal(text[s.start:s.end])
}

// valueAt returns where the value at byte p, which may be in quotes, starts and ends.
func valueAt(text string, p int) (start, end int) {
	open := skip(text, p, `\`, 1) // a document inside a string has its quotes escaped
	if open == len(text) || text[open] != '"' && text[open] != '\'' {
		for end = p; end < len(text); end++ {
			n := strings.IndexAny(text[end:], " \t\r\n\"',;&(){}$<>")
			if n < 0 {
				return p, len(text)
			}
			if end += n; text[end] != ' ' || end == p || text[end-1] != '\\' { // a\ b is one word
				break
			}
		}
		return p, min(end, len(text))
	}
	if three := text[open:min(len(text), open+3)]; three == `"""` || three == "'''" {
		start = skip(text, open+3, "\r\n", 2)
		if n := strings.Index(text[start:min(len(text), start+maxRefused)], three); n > 0 {
			return start, start + len(strings.TrimRight(text[start:start+n], "\r\n"))
		}
	}
	start = open + 1
	for end = start; end < len(text) && text[end] != '\n'; end++ {
		switch {
		case text[end] == '\\' && open > p, text[end] == text[open]:
			return start, end
		case text[end] == '\\':
			end++
		}
	}
	return start, min(end, len(text))
}

func inName(c byte) bool {
	return c == '_' || c == '.' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// skip returns the position after at most most bytes that are in some.
func skip(text string, p int, some string, most int) int {
	for n := 0; n < most && p < len(text) && strings.IndexByte(some, text[p]) >= 0; n++ {
		p++
	}
	return p
}

// lowered returns a text with ASCII letters in lower case; every byte stays in its position.
func lowered(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r >= 'A' && r <= 'Z' }) < 0 {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	for i := range len(text) {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		out.WriteByte(c)
	}
	return out.String()
}

// The placeholders for a value that a text sets under the name of a secret.
// Changed marks one that the other side of a comparison does not set.
const (
	Hidden  = "(sensitive)"
	Changed = "(sensitive, changed)"
)

// Redact hides only what a text sets under the names of secrets, so that its other lines
// stay readable. It returns the settings that it found as own, or nil if there are none;
// others are those of the other side of a comparison, or nil if there is no other side.
func Redact(text string, others map[string]bool) (shown string, own map[string]bool) {
	found := settings(text)
	if len(found) == 0 {
		return text, nil
	}
	own = make(map[string]bool, len(found))
	var b strings.Builder
	end := 0
	for _, s := range found {
		at := s.name + "=" + text[s.start:s.end]
		own[at] = true
		b.WriteString(text[end:s.start])
		if others == nil || others[at] {
			b.WriteString(Hidden)
		} else {
			b.WriteString(Changed)
		}
		end = s.end
	}
	return b.String() + text[end:], own
}

// Lines calls found with what each line of a text sets: NAME=VALUE or NAME:
// VALUE, as in a file of environment variables, an INI file or properties.
func Lines(text string, found func(name, value string)) {
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		i := strings.IndexAny(line, "=:")
		if i <= 0 || i > maxAround || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value := strings.Trim(strings.TrimSpace(line[:i]), `"'`), strings.TrimSpace(line[i+1:])
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r > 127 || !inName(byte(r)) }) {
			continue
		}
		start, end := valueAt(value, 0)
		if start == 0 { // not in quotes
			end = len(value)
		}
		found(name, value[start:end])
	}
}
