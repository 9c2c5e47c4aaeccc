package diff

// StringDelta holds two similar texts, split into their common start (Head), the parts that differ, and
// their common end (Tail).
type StringDelta struct{ Head, Before, After, Tail string }

// A Head and a Tail that are longer than maxSame bytes together are cut to sharedContext bytes each,
// next to what differs.
const (
	maxSame       = 60
	sharedContext = 20
)

// StringDelta splits the two texts of a field (see Sides) if both are strings and share most of the
// shorter one. Unless whole is set, a long head or tail is cut and marked with "…".
func (f *FieldChange) StringDelta(before, after string, whole bool) (StringDelta, bool) {
	if !f.Before.plainString() || !f.After.plainString() {
		return StringDelta{}, false
	}
	head := sameHead(before, after)
	tail := sameTail(before, after, head)
	if 2*(head+tail) < min(len(before), len(after)) || head+tail < 4 {
		return StringDelta{}, false
	}
	out := StringDelta{before[:head], before[head : len(before)-tail], after[head : len(after)-tail],
		before[len(before)-tail:]}
	if !whole && head+tail > maxSame {
		out.Head, out.Tail = lastOf(out.Head), firstOf(out.Tail)
	}
	return out, true
}

func (s *ShownValue) plainString() bool {
	return s.Type == TypeString && !s.Masked && !s.Unknown && !s.Absent
}

// sameHead returns the length in bytes of the common prefix, cut back to the start of a word.
func sameHead(a, b string) int {
	n := commonPrefix(a, b)
	for n > 0 && (!isCutPoint(a, n) || !isCutPoint(b, n)) {
		n--
	}
	return n
}

// sameTail returns the length in bytes of the common suffix that does not overlap the heads, cut
// back to the end of a word.
func sameTail(a, b string, head int) int {
	n := 0
	for n < min(len(a), len(b))-head && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && (!isCutPoint(a, len(a)-n) || !isCutPoint(b, len(b)-n)) {
		n--
	}
	return n
}

// isCutPoint reports whether a text may be cut at a byte: not inside a word, not behind a backslash,
// and only next to ASCII, so that a letter is not separated from its combining mark.
func isCutPoint(s string, at int) bool {
	if at == 0 || at == len(s) {
		return true
	}
	before, after := s[at-1], s[at]
	return before < 0x80 && after < 0x80 && before != '\\' && (!inWord(before) || !inWord(after))
}

// inWord counts the dot as part of a word, so that a version is one word.
func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.'
}

// ascii reports whether the bytes on both sides of a position are ASCII.
func ascii(s string, at int) bool {
	return (at == 0 || s[at-1] < 0x80) && (at == len(s) || s[at] < 0x80)
}

// lastOf returns the end of a text and firstOf its start. Both cut only next to ASCII, so that a
// letter is not separated from its combining mark.
func lastOf(s string) string {
	if len(s) <= sharedContext {
		return s
	}
	at := len(s) - sharedContext
	for at > 0 && !ascii(s, at) {
		at--
	}
	if at == 0 {
		return s
	}
	return "…" + s[at:]
}

func firstOf(s string) string {
	if len(s) <= sharedContext {
		return s
	}
	at := sharedContext
	for at < len(s) && !ascii(s, at) {
		at++
	}
	if at == len(s) {
		return s
	}
	return s[:at] + "…"
}
