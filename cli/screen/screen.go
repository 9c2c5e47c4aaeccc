// Package screen holds what all screens of nuon share: the theme and the colors of the terminal,
// rows of styled text, key bindings and the help that is made from them, line editing, and the
// program that draws a model. It makes no requests. Packages review and interactive use it.
package screen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// Available reports whether the console has a terminal to draw on and to read keys from.
func Available(c *console.Console) bool {
	return c.InIsTerminal && c.OutIsTerminal && os.Getenv("TERM") != "dumb"
}

// Run runs a model on the terminal until it quits. When ctx is canceled, Run quits the
// program itself: bubbletea with this context would return without waiting for the goroutine
// that reads the keys. Bubbletea restores the terminal when it ends and after a panic. The
// error of a screen that cannot be drawn ends with instead, what to do without it.
func Run(ctx context.Context, c *console.Console, m tea.Model, instead string, options ...tea.ProgramOption) error {
	program := tea.NewProgram(m, append([]tea.ProgramOption{tea.WithInput(c.In), tea.WithOutput(c.Out),
		tea.WithAltScreen(), tea.WithoutSignalHandler()}, options...)...)
	defer context.AfterFunc(ctx, program.Quit)()
	_, err := program.Run()
	switch {
	case errors.Is(err, tea.ErrProgramPanic):
		return fmt.Errorf("the screen crashed because of a bug in nuon; %s", instead)
	case ctx.Err() != nil:
		return exitcode.Interrupted
	case err != nil:
		return fmt.Errorf("draw the screen: %w; %s", err, instead)
	}
	return nil
}

// The minimum size of a screen. Below it, a screen only reports its size.
const (
	LeastWidth, LeastHeight = 40, 10
)

// TooSmall draws the message that the terminal is too small.
func TooSmall(width, height int) string {
	text := fmt.Sprintf("terminal too small: %d×%d, needs %d×%d. Press q to quit", width, height, LeastWidth,
		LeastHeight)
	rows := strings.Split(ansi.Wrap(text, max(width, 1), ""), "\n")
	return strings.Join(rows[:min(len(rows), max(height, 1))], "\n")
}

// Ago formats a duration in its largest unit.
func Ago(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
