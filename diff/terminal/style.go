package terminal

import (
	"io"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"github.com/nuon-toolkit/nuon/diff"
)

// styles are the colours by meaning. Red is kept for what destroys.
type styles struct {
	plain, bold, faint, warn               lipgloss.Style
	create, update, replace, destroy, move lipgloss.Style
	before                                 lipgloss.Style
}

// newStyles never asks the terminal anything: the caller has decided.
func newStyles(w io.Writer, color bool) styles {
	r := lipgloss.NewRenderer(w)
	r.SetHasDarkBackground(true)
	r.SetColorProfile(termenv.Ascii)
	if color {
		r.SetColorProfile(termenv.ANSI)
	}
	// Values are laid out already, so no style may touch tabs or widths.
	base := r.NewStyle().TabWidth(lipgloss.NoTabConversion).Inline(true)
	ink := func(n string) lipgloss.Style { return base.Foreground(lipgloss.Color(n)) }
	return styles{
		plain: base, bold: base.Bold(true), faint: base.Faint(true), warn: ink("3"),
		create: ink("2"), update: ink("3"), replace: ink("1").Bold(true), destroy: ink("1").Bold(true), move: ink("6"),
		before: ink("5"),
	}
}

// of is the style of a change by its action.
func (s styles) of(c diff.Change) lipgloss.Style {
	switch c.Action {
	case diff.Create:
		return s.create
	case diff.Update:
		return s.update
	case diff.Replace:
		return s.replace
	case diff.Destroy:
		return s.destroy
	case diff.Move, diff.Import, diff.Forget, diff.Read:
		return s.move
	}
	return s.plain
}

// after is the style of the later value of a field.
func (s styles) after(c diff.Change, f diff.FieldChange) lipgloss.Style {
	switch {
	case f.After.Masked || f.After.Unknown || f.After.Absent:
		return s.faint
	case c.Action == diff.Destroy || c.Action == diff.Forget:
		return s.before
	}
	return s.create
}
