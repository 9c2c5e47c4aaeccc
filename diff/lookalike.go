package diff

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// RuleLookAlike is the rule of a finding about a text that looks like a different one.
const RuleLookAlike = "look-alike"

// LookAlikeFinding returns a finding about a field whose text looks like a different one, and whether
// it found one: after has letters of another alphabet that look like ASCII, or combining marks
// separate from their letters, and before has not; or the two look the same and differ.
func LookAlikeFinding(path string, before, after Raw) (Finding, bool) {
	known := map[string]bool{}
	raw.Leaves(before, func(text string, _ bool) bool {
		if !isASCII(text) {
			known[text] = true
		}
		return true
	})
	was, _ := raw.String(before)
	is, _ := raw.String(after)
	clean := raw.Leaves(after, func(text string, _ bool) bool {
		return isASCII(text) || known[text] || len(lookAlikePositions([]rune(text))) == 0
	})
	if clean && (was == is || isASCII(was) && isASCII(is) || skeleton(was) != skeleton(is)) {
		return Finding{}, false
	}
	return Finding{
		Rule: RuleLookAlike, Source: "https://www.unicode.org/reports/tr39/#Confusable_Detection", Risk: RiskNone,
		Security: true, Path: path,
		Message: "a text looks like a different one: it has letters of another alphabet that look like ASCII, or marks " +
			"separate from their letters",
	}, true
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// confusable are letters that look like ASCII letters in common fonts.
// https://www.unicode.org/Public/security/latest/confusables.txt
var confusable = func() map[rune]rune {
	out := map[rune]rune{}
	for _, pair := range []struct{ other, ascii string }{
		{"аеорсухіјѕһԁԛԝѵԍӏАВЕНІЈКМОРЅСТУХԌ", "aeopcyxijshdqwvglABEHIJKMOPSCTYXG"}, // Cyrillic
		{"οανιρκυχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳ", "oavipkuxyABEZHIKMNOPTYXcj"},                 // Greek
		{"օսհցոԛյ", "ouhgnqj"},           // Armenian
		{"ıɡɑɩʟɪɴʀʏʙɢʜ", "igailinrybgh"}, // Latin
	} {
		ascii := []rune(pair.ascii)
		for i, r := range []rune(pair.other) {
			out[r] = ascii[i]
		}
	}
	return out
}()

// lookAlikePositions returns the positions of characters that look like something else: letters
// of another alphabet in a word with ASCII letters or with nothing else, letters that
// only look like ASCII, and combining marks for which a precomposed character exists.
func lookAlikePositions(text []rune) map[int]bool {
	var out map[int]bool
	add := func(i int) {
		if out == nil {
			out = map[int]bool{}
		}
		out[i] = true
	}
	for i := 0; i < len(text); {
		end := i
		ascii, other, like := 0, 0, 0
		for ; end < len(text) && isWord(text[end]); end++ {
			switch r := text[end]; {
			case r <= unicode.MaxASCII && unicode.IsLetter(r):
				ascii++
			case confusable[r] != 0:
				like++
			case isUnmixedScript(r):
				other++
			case r > unicode.MaxASCII && unicode.IsLetter(r):
				other++
			}
		}
		for ; i < end; i++ {
			r := text[i]
			switch {
			case r <= unicode.MaxASCII:
			case confusable[r] != 0 && (ascii > 0 || other == 0 && like > 1), isVariantForm(r), ascii > 0 && isUnmixedScript(r),
				isRare(r):
				add(i)
			case i > 0 && unicode.Is(unicode.Mn, r) && composes(text[i-1], r):
				add(i)
			}
		}
		i = max(end, i+1)
	}
	return out
}

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.Is(unicode.N, r) || unicode.Is(unicode.M, r) || r == '-' || r == '_' ||
		r == '.' || r == '/'
}

// isVariantForm reports whether a letter or digit is another form of an ASCII
// one, or of another letter, such as full width, bold, or the Kelvin sign.
func isVariantForm(r rune) bool {
	if r < 0x2000 || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Nl, r) {
		return false
	}
	plain := norm.NFKC.String(string(r))
	return len(plain) == 1 || norm.NFC.String(string(r)) != string(r)
}

// commonScripts are the scripts in everyday use today, except Latin. A letter
// of any other script in a name is there only to look like something else.
// https://www.unicode.org/reports/tr31/#Table_Recommended_Scripts
var commonScripts = []*unicode.RangeTable{
	unicode.Arabic, unicode.Armenian, unicode.Bengali, unicode.Bopomofo, unicode.Cyrillic, unicode.Devanagari,
	unicode.Ethiopic, unicode.Georgian,
	unicode.Greek, unicode.Gujarati, unicode.Gurmukhi, unicode.Han, unicode.Hangul, unicode.Hebrew, unicode.Hiragana,
	unicode.Kannada,
	unicode.Katakana, unicode.Khmer, unicode.Lao, unicode.Malayalam, unicode.Myanmar, unicode.Oriya, unicode.Sinhala,
	unicode.Tamil,
	unicode.Telugu, unicode.Thaana, unicode.Thai, unicode.Tibetan,
}

// scriptsBesideASCII are scripts that people mix with ASCII in one word: those of East Asia,
// and Greek for units. The Greek letters that look like ASCII are in confusable.
var scriptsBesideASCII = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Greek, unicode.Latin,
	unicode.Common,
	unicode.Inherited,
}

// phoneticLetters are small capitals and other Latin letters that no language uses.
var phoneticLetters = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x1D00, Hi: 0x1DBF, Stride: 1}}}

// isUnmixedScript reports whether a letter belongs to a script that people do not mix with ASCII in one word.
func isUnmixedScript(r rune) bool {
	return r > unicode.MaxASCII && unicode.IsLetter(r) && (!unicode.In(r, scriptsBesideASCII...) ||
		unicode.Is(phoneticLetters, r))
}

// isRare reports whether a letter belongs to a script that nearly nobody writes.
func isRare(r rune) bool {
	return isUnmixedScript(r) && !unicode.Is(unicode.Latin, r) && !unicode.In(r, commonScripts...)
}

func composes(letter, mark rune) bool {
	pair := string([]rune{letter, mark})
	return norm.NFC.String(pair) != pair
}

// skeleton returns a form of a text that is equal for two texts that look the same.
func skeleton(text string) string {
	return strings.Map(func(r rune) rune {
		if ascii := confusable[r]; ascii != 0 {
			return ascii
		}
		if r > unicode.MaxASCII && !isVisible(r, 'x') {
			return -1
		}
		return r
	}, norm.NFKC.String(text))
}
