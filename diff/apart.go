package diff

// Apart is two texts that differ by a little: what is the same at both ends, and what is not.
type Apart struct{ Head, Before, After, Tail string }

// Ends of an Apart that are longer together than maxSame bytes are cut to keepSame each, up to what differs.
const (
	maxSame  = 60
	keepSame = 20
)

// Apart takes apart the two texts of a field (see Sides) if both are strings and most of the shorter one is the same. Unless whole, long
// ends are cut and begin or end with "…".
func (f *FieldChange) Apart(before, after string, whole bool) (Apart, bool) {
	if !f.Before.plainString() || !f.After.plainString() {
		return Apart{}, false
	}
	head := sameHead(before, after)
	tail := sameTail(before, after, head)
	if 2*(head+tail) < min(len(before), len(after)) || head+tail < 4 {
		return Apart{}, false
	}
	out := Apart{before[:head], before[head : len(before)-tail], after[head : len(after)-tail], before[len(before)-tail:]}
	if !whole && head+tail > maxSame {
		out.Head, out.Tail = lastOf(out.Head), firstOf(out.Tail)
	}
	return out, true
}

func (s *Shown) plainString() bool {
	return s.Type == TypeString && !s.Masked && !s.Unknown && !s.Absent
}

// sameHead is how many bytes both texts begin with, up to the beginning of a word.
func sameHead(a, b string) int {
	n := commonPrefix(a, b)
	for n > 0 && (!divides(a, n) || !divides(b, n)) {
		n--
	}
	return n
}

// sameTail is how many bytes both texts end with behind their heads, from the end of a word on.
func sameTail(a, b string, head int) int {
	n := 0
	for n < min(len(a), len(b))-head && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && (!divides(a, len(a)-n) || !divides(b, len(b)-n)) {
		n--
	}
	return n
}

// divides says that a text may be cut at a byte: in no word, behind no backslash, and between ASCII, so that no character is torn from
// its accent.
func divides(s string, at int) bool {
	if at == 0 || at == len(s) {
		return true
	}
	before, after := s[at-1], s[at]
	return before < 0x80 && after < 0x80 && before != '\\' && (!inWord(before) || !inWord(after))
}

// inWord counts the dot, so that a version is one word.
func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.'
}

// ascii says that no character is on both sides of a byte.
func ascii(s string, at int) bool {
	return (at == 0 || s[at-1] < 0x80) && (at == len(s) || s[at] < 0x80)
}

// lastOf is the end of a text, and firstOf its beginning, cut where a character that is in no larger one begins.
func lastOf(s string) string {
	if len(s) <= keepSame {
		return s
	}
	at := len(s) - keepSame
	for at > 0 && !ascii(s, at) {
		at--
	}
	if at == 0 {
		return s
	}
	return "…" + s[at:]
}

func firstOf(s string) string {
	if len(s) <= keepSame {
		return s
	}
	at := keepSame
	for at < len(s) && !ascii(s, at) {
		at++
	}
	if at == len(s) {
		return s
	}
	return s[:at] + "…"
}
