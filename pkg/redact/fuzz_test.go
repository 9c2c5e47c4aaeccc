package redact

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzWriter compares the automaton, with writes of any length, to a comparison of every form at
// every position of the text.
func FuzzWriter(f *testing.F) {
	f.Add([]byte("hunter2"), []byte("hunt"), []byte("say hunter2 and aHVudGVyMg== and hunthunter2"), uint8(3))
	f.Add([]byte("first line of a key\nshort\nlast"), []byte("aaaa"),
		[]byte("  first line of a key\r\n\tshort\n  last aaaaaaa"), uint8(1))
	f.Add([]byte(`it's "$x" \ `), []byte("\x00\xff\x00\xff"), []byte("it'\\''s \"$x\" \\ \\u0000\ufffd"), uint8(7))
	f.Add([]byte("abab"), []byte("baba"), []byte("abababababab"), uint8(2))
	f.Fuzz(func(t *testing.T, one, two, text []byte, piece uint8) {
		if len(one)+len(two) > 200 || len(text) > 2000 {
			return // the reference is slow
		}
		var set Set
		set.Add(one)
		set.Add(two)
		var out bytes.Buffer
		writer := set.Writer(&out)
		for rest := text; len(rest) > 0; {
			n := min(len(rest), int(piece)+1)
			if _, err := writer.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		if want := byComparison(set.known, text); out.String() != want {
			t.Fatalf("%q became %q, want %q", text, out.String(), want)
		}
	})
}

func byComparison(forms map[string]struct{}, text []byte) string {
	hidden := make([]bool, len(text))
	for form := range forms {
		for at := range text {
			if bytes.HasPrefix(text[at:], []byte(form)) {
				mask(hidden[:at+len(form)], int32(len(form)))
			}
		}
	}
	var out strings.Builder
	for i, b := range text {
		switch {
		case !hidden[i]:
			out.WriteByte(b)
		case i == 0 || !hidden[i-1]:
			out.WriteString(Mask)
		}
	}
	return out.String()
}
