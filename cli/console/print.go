package console

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"unicode"
)

// Print writes text for people to Out. Text of others in it cannot control a terminal: of escape sequences, only
// the product's colors are kept, and only where Out supports color. All other control characters except newlines
// and tabs become spaces. On a terminal, so do direction overrides and invisible characters; in a pipe or a file
// they are kept, because the text may be the content of a file.
func (c *Console) Print(people func(w io.Writer) error) error {
	var text bytes.Buffer
	err := people(&text)
	if text.Len() == 0 {
		return err
	}
	if _, failed := io.WriteString(c.Out, c.withoutControls(text.String())); err == nil {
		err = failed
	}
	return err
}

// productColor matches the SGR sequences of the product's styles. It matches none that hides text.
var productColor = regexp.MustCompile(`\x1b\[(?:[0127]|3[1-6])(?:;(?:[0127]|3[1-6]))*m`)

func (c *Console) withoutControls(text string) string {
	unsafe := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	if c.OutIsTerminal {
		unsafe = isHidden
	}
	blank := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unsafe(r) {
				return ' '
			}
			return r
		}, s)
	}
	if !c.Color {
		return blank(text)
	}
	var out strings.Builder
	end := 0
	for _, at := range productColor.FindAllStringIndex(text, -1) {
		out.WriteString(blank(text[end:at[0]]))
		out.WriteString(text[at[0]:at[1]])
		end = at[1]
	}
	out.WriteString(blank(text[end:]))
	return out.String()
}
