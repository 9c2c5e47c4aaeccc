package review

import (
	"context"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/muesli/cancelreader"
	"golang.org/x/term"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// shade is the brightness of a terminal's background.
type shade uint8

const (
	unknown shade = iota
	dark
	light
)

// answerWithin is how long the screen waits for the terminal to report its background
// before it opens. A later report changes the theme of the open screen (see model.repaint).
const answerWithin = 300 * time.Millisecond

// mostSaid limits the terminal's report, in bytes.
const mostSaid = 4096

// question requests the background color (xterm's OSC 11) and then the device attributes (DA1).
// Every terminal answers DA1, so its answer ends the wait on terminals that do not support OSC 11.
const question = "\x1b]11;?\x1b\\\x1b[c"

const colorWords = `11;rgb:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})`

var (
	colorAnswer = regexp.MustCompile(`\x1b\]` + colorWords)
	lateAnswer  = regexp.MustCompile(`^` + colorWords + `$`) // as key input, without the escape sequences around it
	lastAnswer  = regexp.MustCompile(`\x1b\[\?[0-9;]*c`)
)

// background returns the background according to NUON_THEME (light or dark),
// else to the terminal, else to COLORFGBG. owed reports that the terminal was
// queried and may still answer. The only error is exitcode.Interrupted.
func background(ctx context.Context, c *console.Console, patience time.Duration) (on shade, owed bool, err error) {
	switch os.Getenv("NUON_THEME") {
	case "light":
		return light, false, nil
	case "dark":
		return dark, false, nil
	}
	said := ask(ctx, c, patience)
	switch answer := shadeOf(said); {
	case ctx.Err() != nil || strings.ContainsRune(said, ctrlC):
		return unknown, false, exitcode.Interrupted
	case answer != unknown:
		return answer, false, nil
	}
	return shadeOfColors(os.Getenv("COLORFGBG")), !lastAnswer.MatchString(said), nil
}

// shadeOfColors parses COLORFGBG, which some terminals set to "foreground;background" with
// numbers of the 16 colors.
func shadeOfColors(said string) shade {
	parts := strings.Split(said, ";")
	n, err := strconv.Atoi(parts[len(parts)-1])
	switch {
	case err != nil || n < 0 || n > 15:
		return unknown
	case n == 7 || n > 8:
		return light
	}
	return dark
}

// ctrlC is the byte that the key sends while the terminal is in raw mode.
const ctrlC = '\x03'

// ask queries the terminal and returns the bytes that it sent. Input and output must both
// be the terminal.
func ask(ctx context.Context, c *console.Console, patience time.Duration) string {
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
	if _, err := io.WriteString(c.Out, question); err != nil {
		return ""
	}
	said := ""
	for part := make([]byte, 256); !lastAnswer.MatchString(said) && len(said) < mostSaid; {
		n, err := in.Read(part)
		if said += string(part[:n]); err != nil {
			break
		}
	}
	return said
}

// shadeOf parses a terminal's answer to question.
func shadeOf(said string) shade { return shadeIn(colorAnswer.FindStringSubmatch(said)) }

// shadeOfLate parses an answer that arrived as key input.
func shadeOfLate(keys string) shade { return shadeIn(lateAnswer.FindStringSubmatch(keys)) }

// shadeIn computes the shade from a match of colorWords.
func shadeIn(m []string) shade {
	if m == nil {
		return unknown
	}
	weights := []float64{0.299, 0.587, 0.114} // luma weights of red, green and blue (ITU-R BT.601)
	bright := 0.0
	for i, w := range weights {
		v, err := strconv.ParseUint(m[i+1], 16, 16)
		if err != nil {
			return unknown
		}
		bright += w * float64(v) / (float64(uint(1)<<(4*len(m[i+1]))) - 1)
	}
	if bright > 0.5 {
		return light
	}
	return dark
}
