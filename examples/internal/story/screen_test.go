package main

import (
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hinshun/vt10x"
)

// TestKeysFollowWhatIsRead checks that the person of a story presses a key only for a text that stays on the
// screen: not for a line whose end is still that of the frame before, and not for a text that goes away
// at once. A character that arrives in two parts is read.
func TestKeysFollowWhatIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		parts []string // with a millisecond between them
		want  []string
	}{
		"whole":              {[]string{"plan of wayne, change 1"}, []string{"a"}},
		"in the next frame":  {[]string{"plan of acme", "\rplan of wayne, change 1"}, []string{"a"}},
		"half of a line":     {[]string{"plan of all,   change 1", "\rplan of wayne", ", no change yet"}, nil},
		"half of a sign":     {[]string{"plan of wayne \xe2\x96", "\xb8 change 1"}, []string{"a"}},
		"another text":       {[]string{"plan of acme, change 1"}, nil},
		"two acts":           {[]string{"plan of wayne, change 1", "\r\nReason"}, []string{"a"}},
		"goes away, returns": {[]string{"plan of wayne, change 1", "\x1b[2K\r", "plan of wayne, change 1"}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var pressed []string
				p := newReader(vt10x.New(vt10x.WithSize(terminalColumns, terminalRows)), []act{
					{regexp.MustCompile(`plan of wayne[, ▸]+change 1`), "a"}, {regexp.MustCompile(`Reason: `), "b"}})
				for _, part := range c.parts {
					p.watch([]byte(part), func(keys string) { pressed = append(pressed, keys) })
					time.Sleep(time.Millisecond)
				}
				time.Sleep(2 * reading)
				if !slices.Equal(pressed, c.want) {
					t.Errorf("pressed %q, want %q", pressed, c.want)
				}
			})
		})
	}
}
