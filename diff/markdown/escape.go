package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/diff"
)

// code is a code span whose content cannot end it.
func code(text string) string {
	text = diff.Neutral(text)
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

// htmlCode is text as code in a block of HTML, in which forges look for nothing.
func htmlCode(text string) string {
	return "<code>" + entities.Replace(diff.Neutral(text)) + "</code>"
}

// html is text in a block of HTML.
func html(text string) string { return defused(diff.Neutral(text), "") }

// prose is text between Markdown.
func prose(text string) string {
	text = strings.TrimSpace(diff.Neutral(text))
	out := defused(text, "\\`*_{}[]#!|~$")
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") || strings.HasPrefix(text, "=") {
		out = "\\" + out // it begins no list and no heading
	}
	return out
}

// entities are the characters that HTML acts on.
var entities = strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;", `"`, "&#34;")

// marks are what forges make a link, a mention or a picture of when a word follows: @name, #12, !12, ~label, :smile:, https://….
const marks = "@#!$~%&^:"

// nothing is a character of no width, which takes a mark from its word. Escaping the mark does not: forges look for it in what is shown.
const nothing = "&#8203;"

// defused is text in which HTML and the forges find nothing, with a backslash before each character that escape names.
func defused(text, escape string) string {
	var b strings.Builder
	for i, r := range text {
		rest := text[i+utf8.RuneLen(r):]
		if r == '.' && i >= 3 && strings.EqualFold(text[i-3:i], "www") || r == '-' && i >= 2 && strings.EqualFold(text[i-2:i], "gh") {
			b.WriteString(nothing) // www.…, and GH-12, which is an issue
		}
		if strings.ContainsRune(escape, r) {
			b.WriteByte('\\')
		}
		b.WriteString(entities.Replace(string(r)))
		if strings.ContainsRune(marks, r) && rest != "" && rest[0] != ' ' {
			b.WriteString(nothing)
		}
	}
	return b.String()
}
