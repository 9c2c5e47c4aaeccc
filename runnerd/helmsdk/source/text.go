package source

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// quote quotes untrusted text, with a bounded length.
func quote(text string) string { return diagnostic.Quote(text) }

// clean returns one line of bounded length without control characters, for text from
// a library or an untrusted source.
func clean(text string) string {
	const most = 300
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// redactedURL returns an address without the parts that may be secret.
func redactedURL(at *url.URL) string {
	bare := *at
	bare.User, bare.RawQuery, bare.Fragment, bare.RawFragment = nil, "", "", ""
	return clean(bare.String())
}

// listSome lists at most five names.
func listSome(names []string) string {
	const most = 5
	if len(names) == 0 {
		return "none"
	}
	listed := make([]string, 0, most)
	for _, name := range names[:min(len(names), most)] {
		listed = append(listed, clean(name))
	}
	text := strings.Join(listed, ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

// nearest suggests the known name that was probably meant, or else lists the known ones.
func nearest(name string, known []string) string {
	if found, ok := diagnostic.Nearest(name, known); ok {
		return "did you mean " + quote(found) + "?"
	}
	slices.Sort(known)
	return "it has " + listSome(known)
}
