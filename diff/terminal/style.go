package terminal

import (
	"bufio"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// codes maps inks to SGR parameters, the text between "\x1b[" and "m". They use the sixteen standard
// colors, which users choose to be readable on their background.
var codes = [Inks]string{
	Bold: "1", Faint: "2", Warn: "33", Create: "32", Update: "33", Replace: "1;31", Destroy: "1;31", Move: "36",
	Before: "35", Security: "1;7;33",
}

// write writes a row. Blanks and empty text get no escape codes.
func write(w *bufio.Writer, r Row, color bool) {
	for _, s := range r {
		code := codes[s.Ink]
		if !color || code == "" || strings.TrimSpace(s.Text) == "" {
			_, _ = w.WriteString(s.Text) // Flush returns the first error
			continue
		}
		for _, part := range [...]string{"\x1b[", code, "m", s.Text, "\x1b[0m"} {
			_, _ = w.WriteString(part)
		}
	}
	_ = w.WriteByte('\n')
}

// inkOf returns the ink of a change by its action.
func inkOf(a diff.Action) Ink {
	switch a {
	case diff.Create:
		return Create
	case diff.Update:
		return Update
	case diff.Replace:
		return Replace
	case diff.Destroy:
		return Destroy
	case diff.Move, diff.Import, diff.Forget, diff.Read:
		return Move
	}
	return Plain
}

// inkAfter returns the ink of the after value of a field.
func inkAfter(a diff.Action, f *diff.FieldChange) Ink {
	switch {
	case f.After.Masked || f.After.Unknown || f.After.Absent:
		return Faint
	case a == diff.Destroy || a == diff.Forget:
		return Before
	}
	return Create
}
