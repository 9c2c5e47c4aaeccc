package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/diff"
)

// code returns a code span that its content cannot end.
func code(text string) string {
	text = diff.EscapeText(text)
	ticks := strings.Repeat("`", longestRun(text)+1)
	if len(ticks) > 1 {
		return ticks + " " + text + " " + ticks
	}
	return ticks + text + ticks
}

func longestRun(s string) int {
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// htmlCode returns text as code in an HTML block, where forges do not search for references.
func htmlCode(text string) string {
	return "<code>" + entities.Replace(diff.EscapeText(text)) + "</code>"
}

// html returns text for an HTML block.
func html(text string) string { return neutralize(diff.EscapeText(text), "") }

// prose returns text for use between Markdown.
func prose(text string) string {
	text = strings.TrimSpace(diff.EscapeText(text))
	out := neutralize(text, "\\`*_{}[]#!|~$")
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") || strings.HasPrefix(text, "=") {
		out = "\\" + out // a leading character must not start a list or a heading
	}
	return out
}

// entities replaces the characters that are special in HTML.
var entities = strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;", `"`, "&#34;")

// marks lists the characters that forges turn into a link, a mention or an image when a word
// follows: @name, #12, !12, ~label, :smile:, https://….
const marks = "@#!$~%&^:"

// noChanges is a zero-width character that separates a mark from its word. Escaping the mark is not
// enough: forges search the rendered text.
const noChanges = "&#8203;"

// neutralize returns text without markup for HTML and forges, with a backslash before each character in
// escape.
func neutralize(text, escape string) string {
	var b strings.Builder
	for i, r := range text {
		rest := text[i+utf8.RuneLen(r):]
		if r == '.' && i >= 3 && strings.EqualFold(text[i-3:i], "www") ||
			r == '-' && i >= 2 && strings.EqualFold(text[i-2:i], "gh") {
			b.WriteString(noChanges) // www.…, and GH-12, which refers to an issue
		}
		if strings.ContainsRune(escape, r) {
			b.WriteByte('\\')
		}
		b.WriteString(entities.Replace(string(r)))
		if strings.ContainsRune(marks, r) && rest != "" && rest[0] != ' ' {
			b.WriteString(noChanges)
		}
	}
	return b.String()
}
