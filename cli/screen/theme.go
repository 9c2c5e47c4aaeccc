package screen

import (
	"context"
	"time"

	"github.com/muesli/termenv"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// Theme holds the styles of the screen. The inks of a diff match the plain output where
// the background allows it.
type Theme struct {
	Ink [terminal.Inks]Style

	Faint, Strong, Accent, Rule Style
	Selected, Aside             Style // the selected row, with and without focus
	Good, Bad, Warn             Style
	Alarm, Notice               Style // banners
	Match                       Style

	AwaitsReport bool // the terminal was queried for its background and may still answer
}

// NewTheme returns the theme for a background. Without color it uses only bold, faint and
// reverse. With 256 colors (rich) and a known background it uses colors that are readable on that
// background. Otherwise it uses the 16 colors of the terminal, which users configure themselves.
func NewTheme(color, rich bool, on Shade) *Theme {
	if !color {
		t := &Theme{
			Faint: "2", Strong: "1", Accent: "1", Rule: "2", Selected: "7", Aside: "1",
			Bad: "1", Warn: "1", Alarm: "1;7", Notice: "7", Match: "7",
		}
		t.Ink = [terminal.Inks]Style{
			terminal.Bold: "1", terminal.Faint: "2", terminal.Replace: "1",
			terminal.Destroy: "1", terminal.Security: "1;7"}
		return t
	}
	t := &Theme{
		Faint: "2", Strong: "1", Accent: "1;36", Rule: "2", Selected: "7", Aside: "1",
		Good: "32", Bad: "1;31", Warn: "33", Alarm: "1;97;41", Notice: "30;43", Match: "30;43",
	}
	t.Ink = [terminal.Inks]Style{
		terminal.Bold: "1", terminal.Faint: "2", terminal.Warn: "33", terminal.Create: "32", terminal.Update: "33",
		terminal.Replace: "1;31", terminal.Destroy: "1;31", terminal.Move: "36",
		terminal.Before: "35", terminal.Security: "1;7;33",
	}
	switch {
	case rich && on == Dark:
		t.Selected, t.Aside, t.Rule, t.Faint = "48;5;24;38;5;231", "48;5;237", "38;5;240", "38;5;245"
	case rich && on == Light:
		t.Selected, t.Aside, t.Rule, t.Faint = "48;5;153;38;5;16", "48;5;254", "38;5;250", "38;5;243"
		t.Accent, t.Good, t.Bad, t.Warn = "1;38;5;25", "38;5;28", "1;38;5;160", "38;5;130"
		t.Ink[terminal.Warn], t.Ink[terminal.Update] = t.Warn, t.Warn
		t.Ink[terminal.Create], t.Ink[terminal.Move], t.Ink[terminal.Before] = t.Good, "38;5;30", "38;5;90"
		t.Ink[terminal.Replace], t.Ink[terminal.Destroy], t.Ink[terminal.Security] = t.Bad, t.Bad, "1;7;"+t.Warn
	}
	t.Ink[terminal.Faint] = t.Faint
	return t
}

// ThemeFor returns the theme for the console's terminal. It must run before
// the screen reads from the terminal.
func ThemeFor(ctx context.Context, c *console.Console, patience time.Duration) (*Theme, error) {
	if !c.Color {
		return NewTheme(false, false, Unknown), nil
	}
	// WithTTY: the console has already checked for a terminal, and termenv reports
	// none wherever CI is set. Profiles with more colors have smaller values.
	rich := termenv.NewOutput(c.Out, termenv.WithTTY(true)).EnvColorProfile() <= termenv.ANSI256
	on, owed, err := background(ctx, c, patience)
	t := NewTheme(true, rich, on)
	t.AwaitsReport = rich && owed
	return t, err
}
