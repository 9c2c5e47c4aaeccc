package review

import (
	"context"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// style holds the parameters of an SGR escape sequence, between "\x1b[" and
// "m". Empty means the terminal's default.
type style string

func (s style) over(below style) style {
	switch {
	case s == "":
		return below
	case below == "":
		return s
	}
	return below + ";" + s
}

// theme holds the styles of the screen. The inks of a diff match the plain output where
// the background allows it.
type theme struct {
	ink [terminal.Inks]style

	faint, strong, accent, rule style
	selected, aside             style // the selected row, with and without focus
	good, bad, warn             style
	alarm, notice               style // banners
	match                       style

	owed bool // the terminal was queried for its background and may still answer
}

// newTheme returns the theme for a background. Without color it uses only bold, faint and
// reverse. With 256 colors (rich) and a known background it uses colors that are readable on that
// background. Otherwise it uses the 16 colors of the terminal, which users configure themselves.
func newTheme(color, rich bool, on shade) *theme {
	if !color {
		t := &theme{
			faint: "2", strong: "1", accent: "1", rule: "2", selected: "7", aside: "1",
			bad: "1", warn: "1", alarm: "1;7", notice: "7", match: "7",
		}
		t.ink = [terminal.Inks]style{
			terminal.Bold: "1", terminal.Faint: "2", terminal.Replace: "1",
			terminal.Destroy: "1", terminal.Security: "1;7"}
		return t
	}
	t := &theme{
		faint: "2", strong: "1", accent: "1;36", rule: "2", selected: "7", aside: "1",
		good: "32", bad: "1;31", warn: "33", alarm: "1;97;41", notice: "30;43", match: "30;43",
	}
	t.ink = [terminal.Inks]style{
		terminal.Bold: "1", terminal.Faint: "2", terminal.Warn: "33", terminal.Create: "32", terminal.Update: "33",
		terminal.Replace: "1;31", terminal.Destroy: "1;31", terminal.Move: "36",
		terminal.Before: "35", terminal.Security: "1;7;33",
	}
	switch {
	case rich && on == dark:
		t.selected, t.aside, t.rule, t.faint = "48;5;24;38;5;231", "48;5;237", "38;5;240", "38;5;245"
	case rich && on == light:
		t.selected, t.aside, t.rule, t.faint = "48;5;153;38;5;16", "48;5;254", "38;5;250", "38;5;243"
		t.accent, t.good, t.bad, t.warn = "1;38;5;25", "38;5;28", "1;38;5;160", "38;5;130"
		t.ink[terminal.Warn], t.ink[terminal.Update] = t.warn, t.warn
		t.ink[terminal.Create], t.ink[terminal.Move], t.ink[terminal.Before] = t.good, "38;5;30", "38;5;90"
		t.ink[terminal.Replace], t.ink[terminal.Destroy], t.ink[terminal.Security] = t.bad, t.bad, "1;7;"+t.warn
	}
	t.ink[terminal.Faint] = t.faint
	return t
}

// themeFor returns the theme for the console's terminal. It must run before
// the screen reads from the terminal.
func themeFor(ctx context.Context, c *console.Console, patience time.Duration) (*theme, error) {
	if !c.Color {
		return newTheme(false, false, unknown), nil
	}
	// WithTTY: the console has already checked for a terminal, and termenv reports
	// none wherever CI is set. Profiles with more colors have smaller values.
	rich := termenv.NewOutput(c.Out, termenv.WithTTY(true)).EnvColorProfile() <= termenv.ANSI256
	on, owed, err := background(ctx, c, patience)
	t := newTheme(true, rich, on)
	t.owed = rich && owed
	return t, err
}

// cell is a piece of text in one style. A strip is a row of cells.
type (
	cell struct {
		text  string
		style style
	}
	strip []cell
)

func (s strip) width() int {
	n := 0
	for _, c := range s {
		n += terminal.Columns(c.text)
	}
	return n
}

// cut truncates the strip to width and marks the cut with "…".
func (s strip) cut(width int) strip {
	if s.width() <= width {
		return s
	}
	var out strip
	room := width - 1
	for _, c := range s {
		if w := terminal.Columns(c.text); w <= room {
			out, room = append(out, c), room-w
			continue
		}
		return append(out, cell{ansi.Truncate(c.text, max(room, 0), "") + "…", c.style})
	}
	return out
}

// draw writes exactly width columns in the given base style. The last strip of a row is not padded.
func (s strip) draw(b *strings.Builder, width int, below style, last bool) {
	used := 0
	for _, c := range s.cut(width) {
		put(b, c.text, c.style.over(below))
		used += terminal.Columns(c.text)
	}
	if used < width && (!last || below != "") {
		put(b, strings.Repeat(" ", width-used), below)
	}
}

func put(b *strings.Builder, text string, s style) {
	if s == "" {
		b.WriteString(text)
		return
	}
	b.WriteString("\x1b[")
	b.WriteString(string(s))
	b.WriteByte('m')
	b.WriteString(text)
	b.WriteString("\x1b[0m")
}

// inked converts a row of a diff to the theme's styles.
func (t *theme) inked(r terminal.Row) strip {
	s := make(strip, len(r))
	for i, span := range r {
		s[i] = cell{span.Text, t.ink[span.Ink]}
	}
	return s
}
