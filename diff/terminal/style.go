package terminal

import (
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"github.com/nuon-toolkit/nuon/diff"
)

// palette is the sixteen colours of every terminal, by ink.
type palette [Inks]lipgloss.Style

// newPalette never asks the terminal anything: the caller has decided.
func newPalette(w io.Writer, color bool) *palette {
	r := lipgloss.NewRenderer(w)
	r.SetHasDarkBackground(true)
	r.SetColorProfile(termenv.Ascii)
	if color {
		r.SetColorProfile(termenv.ANSI)
	}
	// Values are laid out already, so no style may touch tabs or widths.
	base := r.NewStyle().TabWidth(lipgloss.NoTabConversion).Inline(true)
	ink := func(n string) lipgloss.Style { return base.Foreground(lipgloss.Color(n)) }
	return &palette{
		Plain: base, Bold: base.Bold(true), Faint: base.Faint(true), Warn: ink("3"),
		Create: ink("2"), Update: ink("3"), Replace: ink("1").Bold(true), Destroy: ink("1").Bold(true), Move: ink("6"),
		Before: ink("5"),
	}
}

// render leaves blanks and empty text alone, so that plain rows carry no codes.
func (p *palette) render(s Span) string {
	if strings.TrimSpace(s.Text) == "" {
		return s.Text
	}
	return p[s.Ink].Render(s.Text)
}

// inkOf is the ink of a change by its action.
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

// inkAfter is the ink of the later value of a field.
func inkAfter(a diff.Action, f *diff.FieldChange) Ink {
	switch {
	case f.After.Masked || f.After.Unknown || f.After.Absent:
		return Faint
	case a == diff.Destroy || a == diff.Forget:
		return Before
	}
	return Create
}
