package kubernetes

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// This file distinguishes values that a chart generates on each rendering
// from changes that hide behind one.

// renderings compares two renderings of each side.
type renderings struct {
	// after are the paths at which two renderings of the desired side differ, and
	// before those of the old side; hasBefore means that there are two of the old side.
	after, before tree.PathSet
	hasBefore     bool
	again         raw.Value
	beforeAgain   raw.Value
	typ           *schema.Type
	// selected and selectedBefore are the elements of lists of again and beforeAgain.
	selected, selectedBefore selections
}

// regenerated reports whether a difference is only a regenerated value: it is in a place
// for generated values, each side that was rendered twice varies there, all the
// values look random, and the parts that do not vary are the same on both sides.
func (r *renderings) regenerated(d *difference) bool {
	if !r.after.Overlaps(d.path) || r.hasBefore && !r.before.Overlaps(d.path) {
		return false
	}
	again, _, ok := r.selected.find(r.typ, r.again, d.path)
	if !ok || !d.hasBefore || !d.hasAfter || !mayBeGenerated(d.path) {
		return false
	}
	texts := []raw.Value{d.before, d.after, again}
	if r.hasBefore {
		earlier, _, ok := r.selectedBefore.find(r.typ, r.beforeAgain, d.path)
		if !ok {
			return false
		}
		texts = append(texts, earlier)
	}
	samples := make([]string, len(texts))
	for i, v := range texts {
		text, kind := raw.Text(v)
		if kind != "string" {
			return false
		}
		samples[i] = text
	}
	return sameExceptTokens(samples) || sameExceptTokens(decodedSamples(samples))
}

// decodedSamples returns what samples encode in base64 if all of them encode a text, and otherwise the
// samples. Base64 of random characters has far less variety than its own characters: two values share a
// part by chance more often.
func decodedSamples(samples []string) []string {
	texts := make([]string, len(samples))
	for i, s := range samples {
		text, ok := decode(s)
		if !ok || len(text) < minRandom || !utf8.Valid(text) ||
			bytes.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return samples
		}
		texts[i] = string(text)
	}
	return texts
}

// mayBeGenerated reports whether a path leads to a place in which charts put generated
// values: data, an annotation, a label, a certificate, an environment variable.
func mayBeGenerated(p tree.Path) bool {
	n := len(p)
	switch last := p[n-1].Key; {
	case p[0].Key == "data" || p[0].Key == "stringData" || p[0].Key == "binaryData", last == "caBundle":
		return true
	case n > 2 && p[n-3].Key == "metadata":
		return p[n-2].Key == "annotations" || p[n-2].Key == "labels"
	case n > 2 && p[n-3].Key == "env":
		return last == "value"
	}
	return false
}

const (
	// minRandom is the smallest length of a random token, and longToken the
	// length above which it cannot be a setting.
	minRandom, longToken = 5, 64
	// minFixed is the length of a part that two random tokens do not share by chance.
	minFixed = 5
)

// sameExceptTokens reports whether texts differ only in tokens that look random. The
// samples are before, after, and the second rendering of after.
func sameExceptTokens(samples []string) bool {
	var all [][]string
	for _, s := range samples {
		found := tokens().FindAllString(s, -1)
		if len(all) > 0 && len(found) != len(all[0]) {
			return false
		}
		all = append(all, found)
	}
	for i, first := range all[0] {
		token := []string{first}
		for _, t := range all[1:] {
			token = append(token, t[i])
		}
		if len(slices.Compact(slices.Clone(token))) > 1 && !randomTokens(token) {
			return false
		}
	}
	return true
}

// tokens splits a text into runs of the characters of random values, and single other characters.
var tokens = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9A-Za-z+/=_-]+|[^0-9A-Za-z+/=_-]`) })

// randomTokens reports whether the tokens at one position look random, and
// the first also has every part that the second and the third share.
func randomTokens(token []string) bool {
	for _, t := range token {
		if len(t) < minRandom || !strings.ContainsAny(t, "0123456789") && strings.ToLower(t) == t ||
			isSetting(t) {
			return false
		}
	}
	before, after, again := token[0], token[1], token[2]
	if after == again {
		return false
	}
	if len(after) > longToken {
		return true
	}
	for i := 0; i+minFixed <= len(after); i++ {
		if part := after[i : i+minFixed]; strings.Contains(again, part) && !strings.Contains(before, part) {
			return false
		}
	}
	return true
}

// mostWords is the number of words in the longest settings, such as
// requiredDuringSchedulingIgnoredDuringExecution.
const mostWords = 6

// isSetting reports whether a text consists of words in the spellings of settings. Letters of a long
// random token do so by chance, too, in more words.
func isSetting(text string) bool {
	return isWords().MatchString(text) &&
		(strings.ContainsAny(text, "_/-") || len(words().FindAllString(text, -1)) <= mostWords)
}

// words matches one word of a setting.
var words = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`) })

// isWords matches words in the spellings of settings: Unconfined, RuntimeDefault, ALLOW_ALL.
var isWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Z]?[a-z]{2,}|[A-Z]{2,}|[_/-])+[0-9]?$`)
})
