package interactive

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/screentest"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

var themes = map[string]*screen.Theme{
	"dark": screen.NewTheme(true, true, screen.Dark), "light": screen.NewTheme(true, true, screen.Light),
	"plain": plainTheme,
}

// scenes are the screens of the golden frames.
var scenes = map[string]func(s *stage){
	"home": func(*stage) {},
	"blocked": func(s *stage) {
		s.plane.denied = []string{"no-public-endpoint"}
		s.do(s.load(s.top()))
		s.press("g")
	},
	"installs": func(s *stage) { s.visit("installs") },
	"filter":   func(s *stage) { s.visit("installs").press("/").write("tier=gold") },
	"states":   func(s *stage) { s.visit("states hello/acme db") },
	"marked":   func(s *stage) { s.visit("installs").press(" ", " ", "d") },
	"search": func(s *stage) {
		s.log = logLines(200)
		s.visit("logs wfl_1").press("g", "/").write("error").press("enter", "n")
	},
	"install":   func(s *stage) { s.visit("install hello/acme") },
	"inputs":    func(s *stage) { s.visit("install hello/acme").press("G") },
	"workflows": func(s *stage) { s.visit("workflows") },
	"workflow":  func(s *stage) { s.visit("workflow wfl_1") },
	"skip":      func(s *stage) { s.visit("workflow wfl_1").press("G", "s").write("later") },
	"retry":     func(s *stage) { s.visit("workflow wfl_1").press("t") },
	"logs":      func(s *stage) { s.log = logLines(200); s.visit("logs wfl_1") },
	"apps":      func(s *stage) { s.visit("apps") },
	"app":       func(s *stage) { s.visit("app hello") },
	"runners":   func(s *stage) { s.visit("runners") },
	"runner":    func(s *stage) { s.visit("runner berlin") },
	"audit":     func(s *stage) { s.visit("audit") },
	"explain":   func(s *stage) { s.visit("explain install hello/acme") },
	"palette":   func(s *stage) { s.press(":").write("install ") },
	"help":      func(s *stage) { s.visit("workflow wfl_1").press("?") },
	"command":   func(s *stage) { s.press("!") },
}

// TestFrames compares each screen with its golden frames: in the colors of both themes at each size. The
// home screen has frames without color, too. `go test ./cli/interactive -args -update` rewrites the frames.
func TestFrames(t *testing.T) {
	for scene, show := range scenes {
		for theme, colors := range themes {
			for _, size := range screentest.Sizes {
				if theme == "plain" && scene != "home" {
					continue
				}
				name := fmt.Sprintf("%s.%dx%d.%s", scene, size[0], size[1], theme)
				t.Run(name, func(t *testing.T) {
					s := newStage(t, colors, size[0], size[1], newPlane(t))
					show(s)
					got := s.View() + "\n"
					fits(t, got, size[0], size[1])
					file := filepath.Join("testdata", name+".txt")
					golden.Check(t, file, got)
				})
			}
		}
	}
}

// TestEveryScreenHasFrames checks that every screen that the palette opens has golden frames; those of the review are
// in its package.
func TestEveryScreenHasFrames(t *testing.T) {
	for _, l := range lines {
		if _, has := scenes[l.Name]; !has && l.Name != "review" && l.Name != "quit" {
			t.Errorf("the screen %s has no golden frames", l.Name)
		}
	}
}

// walk is what a person does in the recording of the docs: keys, and the seconds after each of them.
var walk = []struct {
	keys  []string
	pause float64
}{
	{[]string{"j", "j"}, 1}, {[]string{":"}, 0.5}, {strings.Split("install hello/acme", ""), 0.1},
	{[]string{"enter"}, 2}, {[]string{"tab"}, 1}, {[]string{"!"}, 2}, {[]string{"esc"}, 0.5}, {[]string{"enter"}, 2},
	{[]string{"L"}, 2}, {[]string{"/"}, 0.5}, {strings.Split("error", ""), 0.2}, {[]string{"enter"}, 2},
	{[]string{"esc"}, 1}, {[]string{"?"}, 3}, {[]string{"esc"}, 0.5}, {[]string{"esc", "esc", "esc"}, 1},
}

// TestRecording compares docs/terminal.cast, an asciicast of a walk through the screens, with what
// the screens show.
func TestRecording(t *testing.T) {
	const width, height = 100, 30
	s := newStage(t, themes["dark"], width, height, newPlane(t))
	s.log = logLines(40)
	var cast strings.Builder
	fmt.Fprintf(&cast, "{\"version\": 2, \"width\": %d, \"height\": %d, \"title\": \"nuon\"}\n", width, height)
	at := 0.0
	frame := func() {
		raw, err := json.Marshal("\x1b[H\x1b[2J" + strings.ReplaceAll(s.View(), "\n", "\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&cast, "[%.1f, \"o\", %s]\n", at, raw)
	}
	frame()
	at += 2
	for _, w := range walk {
		for _, k := range w.keys {
			s.press(k)
			frame()
			at += w.pause
		}
	}
	frame() // shows the last one until the end
	s.shows("needs you", "fleet")
	golden.Check(t, "../../docs/terminal.cast", cast.String())
}

// fits checks that a frame has exactly the rows of its screen, and no row is too wide.
func fits(t testing.TB, frame string, width, height int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(frame, "\n"), "\n")
	if len(lines) != height {
		t.Errorf("%d rows of %d", len(lines), height)
	}
	for _, l := range lines {
		if w := ansi.StringWidth(l); w > width {
			t.Errorf("%d columns of %d: %q", w, width, l)
		}
		if bare := ansi.Strip(l); strings.ContainsAny(bare, "\x1b\x07\u202e") {
			t.Errorf("a control character is on the screen: %q", bare)
		}
	}
}
