package interactive

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
)

func init() { time.Local = time.UTC } // frames show times of day

var plainTheme = screen.NewTheme(false, false, screen.Unknown)

// stage is the program without a terminal. Its requests are answered at once, by a fake control
// plane.
type stage struct {
	*model
	t      testing.TB
	plane  *plane
	client *apiclient.Client
	now    time.Time
	ran    []string // the commands that actions ran
	fails  error    // the result of the next command
	out    bytes.Buffer
	log    []string // what `nuon logs` prints
	cache  string   // the file with the last known state
}

func newStage(t testing.TB, theme *screen.Theme, width, height int, p *plane) *stage {
	t.Helper()
	s := openStage(t, theme, width, height, p, "")
	s.do(s.load(s.top()))
	return s
}

// openStage opens the home screen with a cache, and leaves its first request unanswered.
func openStage(t testing.TB, theme *screen.Theme, width, height int, p *plane, cache string) *stage {
	t.Helper()
	s := &stage{t: t, plane: p, client: clientOf(t, p), now: noon, cache: cache}
	s.model = newModel(s, &s.out, theme, "nuon.example", func() time.Time { return s.now })
	s.Init()
	s.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

// do runs a command and sends its messages.
func (s *stage) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			s.do(c)
		}
	default:
		_, next := s.Update(msg)
		s.do(next)
	}
}

func (s *stage) beat() tea.Cmd                      { return nil }
func (s *stage) again(*view, time.Duration) tea.Cmd { return nil }
func (s *stage) save(file string, content []byte) tea.Cmd {
	s.ran = append(s.ran, file+": "+string(content))
	return func() tea.Msg { return saved{file, s.fails} }
}
func (s *stage) names(kind string) tea.Cmd {
	return func() tea.Msg {
		names, err := sources[kind](context.Background(), s.client, nil)
		return completed{kind, names, err}
	}
}

// load loads a view as the requester does, but a stream is read to its end first.
func (s *stage) load(v *view) tea.Cmd {
	return func() tea.Msg {
		f, follows := v.content.(Follower)
		if !follows {
			store, err := v.content.Load(context.Background(), s.client)
			return loaded{v, store, err}
		}
		v.leave = func() {}
		p := pushed{view: v, ended: true}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if err := f.Follow(ctx, s.client, page.Feed{
			Send: func(store func()) {
				p.stores = append(p.stores, store)
				if len(p.stores) == 2 {
					cancel() // the fake stream of a running workflow would be opened again
				}
			},
			Heard: func(error) {},
		}); err != nil && ctx.Err() == nil {
			p.err = err
		}
		return p
	}
}

func (s *stage) run(lines [][]string, then string) tea.Cmd {
	for _, line := range lines {
		s.ran = append(s.ran, commandLine(line))
	}
	out := ran{line: commandLine(lines[0]), said: "done\nmore", then: then, err: s.fails, of: len(lines)}
	if s.fails != nil {
		out.failed = 1
	}
	return func() tea.Msg { return out }
}

func (s *stage) review(args []string) tea.Cmd {
	s.ran = append(s.ran, strings.Join(append([]string{"review"}, args...), " "))
	return nil
}

func (s *stage) content(line []string) (Content, error) {
	follow := func(_ context.Context, line func(string), args ...string) error {
		for _, l := range s.log {
			line(l)
		}
		return nil
	}
	return contentOf(line, Options{Cache: s.cache, Follow: follow})
}

var keysByName = map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab,
	"shift+tab": tea.KeyShiftTab, "down": tea.KeyDown, "up": tea.KeyUp, "ctrl+c": tea.KeyCtrlC, "ctrl+r": tea.KeyCtrlR,
	"ctrl+z": tea.KeyCtrlZ, "backspace": tea.KeyBackspace}

// press presses keys one after the other: named keys or characters.
func (s *stage) press(keys ...string) *stage {
	for _, k := range keys {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
		if kind, ok := keysByName[k]; ok {
			msg = tea.KeyMsg{Type: kind}
		} else if k == " " {
			msg.Type = tea.KeySpace
		}
		_, cmd := s.Update(msg)
		s.do(cmd)
	}
	return s
}

func (s *stage) write(text string) *stage {
	for _, r := range text {
		s.press(string(r))
	}
	return s
}

// go opens a screen by the palette.
func (s *stage) visit(line string) *stage { return s.press(":").write(line).press("enter") }

// screen returns a frame without styles.
func (s *stage) screen() string { return ansi.Strip(s.View()) }

func (s *stage) shows(wanted ...string) {
	s.t.Helper()
	for _, w := range wanted {
		if !strings.Contains(s.screen(), w) {
			s.t.Errorf("no %q on\n%s", w, s.screen())
		}
	}
}

// logLines returns lines as `nuon logs -o json` prints them.
func logLines(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`{"t":"2026-03-04T11:59:%02d.000Z","l":%q,"m":"line %d %s","of":"apply web"}`,
			i%60, []string{"info", "warn", "error"}[i%3], i, `\u001b[2J漢字`))
	}
	return out
}
