package screen

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/cancelreader"
	"golang.org/x/term"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// Shade is the brightness of a terminal's background.
type Shade uint8

// The shades. Unknown is that of a terminal that does not report its background.
const (
	Unknown Shade = iota
	Dark
	Light
)

// AnswerWithin is how long the screen waits for the terminal to report its background
// before it opens. A later report changes the theme of the open screen (see Theme.BackgroundReport).
const AnswerWithin = 300 * time.Millisecond

// maxAnswer limits the terminal's report, in bytes.
const maxAnswer = 4096

// Question requests the background color (xterm's OSC 11) and then the device attributes (DA1).
// Every terminal answers DA1, so its answer ends the wait on terminals that do not support OSC 11.
const Question = "\x1b]11;?\x1b\\\x1b[c"

const colorWords = `11;rgb:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})`

var (
	colorAnswer = lazyregexp.New(`\x1b\]` + colorWords)
	lateAnswer  = lazyregexp.New(`^` + colorWords + `$`) // as key input, without the escape sequences around it
	lastAnswer  = lazyregexp.New(`\x1b\[\?[0-9;]*c`)
)

// background returns the background according to NUON_THEME (light or dark),
// else to the terminal, else to COLORFGBG. owed reports that the terminal was
// queried and may still answer. The only error is exitcode.Interrupted.
func background(ctx context.Context, c *console.Console, patience time.Duration) (on Shade, owed bool, err error) {
	switch os.Getenv("NUON_THEME") {
	case "light":
		return Light, false, nil
	case "dark":
		return Dark, false, nil
	}
	said := queryTerminal(ctx, c, patience)
	switch answer := parseShade(said); {
	case ctx.Err() != nil || strings.ContainsRune(said, ctrlC):
		return Unknown, false, exitcode.Interrupted
	case answer != Unknown:
		return answer, false, nil
	}
	return shadeOfColors(os.Getenv("COLORFGBG")), !lastAnswer.MatchString(said), nil
}

// shadeOfColors parses COLORFGBG, which some terminals set to "foreground;background" with
// numbers of the 16 colors.
func shadeOfColors(said string) Shade {
	parts := strings.Split(said, ";")
	n, err := strconv.Atoi(parts[len(parts)-1])
	switch {
	case err != nil || n < 0 || n > 15:
		return Unknown
	case n == 7 || n > 8:
		return Light
	}
	return Dark
}

// ctrlC is the byte that the key sends while the terminal is in raw mode.
const ctrlC = '\x03'

// queryTerminal queries the terminal and returns the bytes that it sent. Input and output must both
// be the terminal.
func queryTerminal(ctx context.Context, c *console.Console, patience time.Duration) string {
	tty, is := c.In.(*os.File)
	if !is {
		return ""
	}
	state, err := term.MakeRaw(int(tty.Fd()))
	if err != nil {
		return ""
	}
	defer term.Restore(int(tty.Fd()), state) //nolint:errcheck // nothing can be done about it
	in, err := cancelreader.NewReader(tty)
	if err != nil {
		return ""
	}
	defer in.Close() //nolint:errcheck // it closes its own bookkeeping, not the terminal
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { in.Cancel() })()
	if _, err := io.WriteString(c.Out, Question); err != nil {
		return ""
	}
	said := ""
	for part := make([]byte, 256); !lastAnswer.MatchString(said) && len(said) < maxAnswer; {
		n, err := in.Read(part)
		if said += string(part[:n]); err != nil {
			break
		}
	}
	return said
}

// parseShade parses a terminal's answer to Question.
func parseShade(said string) Shade { return shadeFromMatch(colorAnswer.FindStringSubmatch(said)) }

// BackgroundReport handles a report of the background that the terminal sends after the screen has opened,
// for example over a slow line. It arrives as key input, but must not count as keys, even while
// the user types. BackgroundReport returns the theme to use from now on, and whether the input was a report.
func (t *Theme) BackgroundReport(msg tea.KeyMsg) (*Theme, bool) {
	if msg.Type != tea.KeyRunes || msg.Paste {
		return t, false
	}
	on := shadeFromMatch(lateAnswer.FindStringSubmatch(string(msg.Runes)))
	if on == Unknown {
		return t, false
	}
	if t.AwaitsReport {
		return NewTheme(true, true, on), true
	}
	return t, true
}

// shadeFromMatch computes the Shade from a match of colorWords.
func shadeFromMatch(m []string) Shade {
	if m == nil {
		return Unknown
	}
	weights := []float64{0.299, 0.587, 0.114} // luma weights of red, green and blue (ITU-R BT.601)
	bright := 0.0
	for i, w := range weights {
		v, err := strconv.ParseUint(m[i+1], 16, 16)
		if err != nil {
			return Unknown
		}
		bright += w * float64(v) / (float64(uint(1)<<(4*len(m[i+1]))) - 1)
	}
	if bright > 0.5 {
		return Light
	}
	return Dark
}
