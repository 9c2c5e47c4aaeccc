package interactive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestGoes checks that each screen is reached with enter and with the palette, and left with esc.
func TestGoes(t *testing.T) {
	s := newStage(t, plainTheme, 140, 45, newPlane(t))
	s.press("j", "enter")
	s.shows("› hello/initech", "components", "history", "(sensitive)")
	s.press("tab", "enter")
	s.shows("deploy 3 of hello/acme", "waits for an approval")
	s.press("i")
	s.shows("› hello/acme")
	s.press("esc", "esc", "esc")
	s.shows("needs you", "fleet")
	s.press("esc")
	s.shows("this is the first screen; press q to quit")
	for line, want := range map[string]string{
		"installs": "globex", "installs hello stalled": "installs of hello, stalled", "apps": "git.example",
		"app hello": "Serve another page", "runners": "paris", "runner berlin": "Mon-Fri 8-18", "audit": "approval.respond",
		"explain install hello/acme": "main moved", "workflows": "succeeded", "workflow wfl_1": "the quota",
		"states hello/acme db": "contested", "states": "name the install and the component",
		"nowhere": `there is no screen "nowhere"`, "install": "needs you", "explain": "name what to explain",
	} {
		s.visit(line)
		if line == "install" { // completed: the first install
			s.press("esc")
		}
		s.shows(want)
		s.visit("home")
	}
	s.visit("audit").press("j", "enter")
	s.shows("deploy 3 of hello/acme")
	s.press("R")
	if want := []string{"review"}; !cmp.Equal(want, s.model.requests.(*stage).ran) {
		t.Errorf("R asked for %q", s.ran)
	}
}

// TestBlocked checks that a plan that a policy denies is shown as blocked, with the policy and what to do, and opens
// the review of that plan.
func TestBlocked(t *testing.T) {
	p := newPlane(t)
	p.denied = []string{"private\x1b[2J", "small"}
	s := newStage(t, plainTheme, 200, 45, p)
	s.shows("blocked", "deploy web on acme of hello",
		"policies private [2J and small deny it: change what is denied and push, or reject the plan")
	s.press("g", "enter")
	if d := cmp.Diff([]string{"review acme/web"}, s.ran); d != "" {
		t.Errorf("opened (-want +got)\n%s", d)
	}
}

// TestPalette checks the completion of screens and of names, and that an open screen is not opened
// twice.
func TestPalette(t *testing.T) {
	s := newStage(t, plainTheme, 100, 30, newPlane(t))
	s.press(":").write("run")
	s.shows("runners", "a RUNNER")
	s.press("down", "tab")
	s.shows(": runner")
	s.write(" p").press("tab", "enter")
	s.shows("runner paris")
	s.press(":").write("install init")
	s.shows("install initech")
	s.press("down", "enter")
	s.shows("› hello/initech")
	s.visit("home")
	if len(s.views) != 1 {
		t.Errorf("%d screens are open", len(s.views))
	}
	s.press(":").write("apps").press("esc")
	s.shows("needs you")
}

// TestFilter checks that a filter finds texts, labels and statuses, and that esc clears it.
func TestFilter(t *testing.T) {
	s := newStage(t, plainTheme, 140, 45, newPlane(t))
	s.visit("installs").press("/").write("TIER=gold hello")
	s.shows("acme", "1 of 1")
	if strings.Contains(s.screen(), "globex") {
		t.Error("the filter shows what it does not contain")
	}
	s.press("enter").press("/").write("zzz").press("enter")
	s.shows("No row contains tier=gold hellozzz. Press esc to show all.")
	s.press("esc")
	s.shows("globex", "1 of 3")
}

// TestActions checks the commands that actions run, what they ask before, and when they do not apply.
func TestActions(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(s *stage)
		want []string
		says string
	}{
		"retry":          {func(s *stage) { s.press("t", "y") }, []string{"nuon workflows retry wfl_1 stp_2"}, "done"},
		"retry, not":     {func(s *stage) { s.press("t", "n") }, nil, "canceled"},
		"retry, pasted":  {func(s *stage) { s.press("t"); s.Update(paste("y")) }, nil, "canceled"},
		"retry, not yet": {func(s *stage) { s.press("g", "t") }, nil, "only a failed step can be retried"},
		"skip": {func(s *stage) { s.press("G", "s"); s.write("not today").press("enter") },
			[]string{"nuon workflows skip wfl_1 stp_5 --reason 'not today'"}, "done"},
		"skip, no reason": {func(s *stage) { s.press("G", "s", " ", "enter") }, nil, "Reason (shown to everyone)"},
		"skip, after all": {func(s *stage) { s.press("G", "s").write("x").press("esc") }, nil, "s skip"},
		"cancel": {func(s *stage) { s.press("c").write("wrong; $HOME").press("enter") },
			[]string{"nuon workflows cancel wfl_1 --reason 'wrong; $HOME'"}, "done"},
		"fails": {func(s *stage) { s.fails = errors.New("no permission\nmore"); s.press("t", "y") },
			[]string{"nuon workflows retry wfl_1 stp_2"}, "nuon workflows retry wfl_1 stp_2: no permission"},
		"deploy": {func(s *stage) { s.visit("install hello/acme").press("d", "y") },
			[]string{"nuon deploy hello/acme"}, "done"},
		"retry a build": {func(s *stage) { s.visit("app hello").press("G", "t", "y") },
			[]string{"nuon builds retry bld_2"}, "done"},
		"redeploy": {func(s *stage) { s.visit("install hello/acme").press("D", "y") },
			[]string{"nuon deploy hello/acme db --redeploy"}, "done"},
		"redeploy, no component": {func(s *stage) { s.visit("install hello/acme").press("j", "j", "D") }, nil,
			"select a component to redeploy"},
		"roll back": {func(s *stage) {
			s.visit("install hello/acme").press("tab", "j", "u").write("too slow").press("enter")
		}, []string{"nuon installs rollback hello/acme --to 5 --reason 'too slow'"}, "done"},
		"roll back, no earlier release": {func(s *stage) { s.visit("install hello/acme").press("tab", "u") }, nil,
			"select a workflow of the history that deployed an earlier release"},
		"sync": {func(s *stage) { s.visit("app hello").press("s", "y") },
			[]string{"nuon sync --app hello --no-wait"}, "done"},
		"sync apps": {func(s *stage) { s.visit("apps").press("s", "y") },
			[]string{"nuon sync --app hello --no-wait"}, "done"},
		"deploy one": {func(s *stage) { s.visit("installs").press("j", "d", "y") },
			[]string{"nuon deploy hello/globex"}, "done"},
		"deploy several": {func(s *stage) { s.visit("installs").press(" ", "j", " ", "d", "y") },
			[]string{"nuon deploy hello/acme", "nuon deploy hello/initech"}, "done: 2 commands, the last: done"},
		"deploy all shown": {func(s *stage) { s.visit("installs").press("/").write("berlin").press("enter", "*", "d", "y") },
			[]string{"nuon deploy hello/acme", "nuon deploy hello/globex"}, "2 marked"},
		"deploy several, not": {func(s *stage) { s.visit("installs").press("*", "d", "q") }, nil, "canceled"},
		"deploy several, fails": {func(s *stage) {
			s.fails = errors.New("no permission")
			s.visit("installs").press("*", "d", "y")
		}, []string{"nuon deploy hello/acme", "nuon deploy hello/globex", "nuon deploy hello/initech"},
			"1 of 3 failed: nuon deploy hello/acme: no permission"},
		"review several": {func(s *stage) { s.visit("installs").press("*", "a") },
			[]string{"review hello/acme hello/globex hello/initech"}, "loading the plans"},
		"review one": {func(s *stage) { s.visit("installs").press("G", "a") },
			[]string{"review hello/initech"}, "loading the plans"},
		"restore a state": {func(s *stage) {
			s.visit("states hello/acme db").press("j", "t").write("db is lost").press("enter")
		}, []string{"nuon state restore hello/acme db 2 --reason 'db is lost'"}, "done"},
		"dismiss a state": {func(s *stage) { s.visit("states hello/acme db").press("x").write("old").press("enter") },
			[]string{"nuon state dismiss hello/acme db 3 --reason old"}, "done"},
		"dismiss, not contested": {func(s *stage) { s.visit("states hello/acme db").press("G", "x") }, nil,
			"only a contested or withheld version can be dismissed"},
		"offline": {func(s *stage) { s.top().failingSince, s.top().lastError = s.now, errors.New("gone"); s.press("t") }, nil,
			"control plane unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, plainTheme, 140, 45, newPlane(t))
			s.visit("workflow wfl_1")
			c.do(s)
			if d := cmp.Diff(c.want, s.ran); d != "" {
				t.Errorf("ran (-want +got)\n%s", d)
			}
			s.shows(c.says)
		})
	}
}

func paste(text string) tea.KeyMsg {
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true}
}

// TestCopiesAreOneLine checks that the clipboard gets one line of printable text, and that names in commands are
// quoted.
func TestCopiesAreOneLine(t *testing.T) {
	s := newStage(t, plainTheme, 100, 30, newPlane(t))
	s.do(s.copy("wfl_1\ntouch x\r\x1b[A"))
	if want := ansi.SetSystemClipboard("wfl_1 touch x  [A"); !strings.HasSuffix(s.out.String(), want) {
		t.Errorf("wrote %q, want %q at its end", s.out.String(), want)
	}
	s.visit("runner $(id);x").press("!")
	s.shows("nuon runners get '$(id);x'")
}

// TestCommandsAndCopies checks that ! shows the commands that print the same, and what y copies.
func TestCommandsAndCopies(t *testing.T) {
	s := newStage(t, plainTheme, 100, 30, newPlane(t))
	s.visit("workflow wfl_1").press("!")
	s.shows("nuon workflows get wfl_1", "nuon logs workflow wfl_1 --step stp_2")
	s.press("y")
	s.shows("copied nuon logs workflow wfl_1 --step stp_2")
	s.press("y")
	if want := "\x1b]52;c;c3RwXzI=\x07"; !strings.HasSuffix(s.out.String(), want) {
		t.Errorf("wrote %q, want %q at its end", s.out.String(), want)
	}
}

// TestOffline checks that the last known state stays on the screen with its age, and that polls continue.
func TestOffline(t *testing.T) {
	p := newPlane(t)
	s := newStage(t, plainTheme, 100, 30, p)
	p.down = true
	s.now = s.now.Add(40 * time.Second)
	s.do(s.model.load(s.top()))
	s.shows("This is the state of 40s ago.", "globex", "○ as of 12:00:00")
	p.down = false
	s.do(s.model.load(s.top()))
	if strings.Contains(s.screen(), "No answer") {
		t.Errorf("it is still offline:\n%s", s.screen())
	}
	p.down = true
	never := newStage(t, plainTheme, 100, 30, p)
	never.shows("responded with 502")
}

// TestFirstPaint checks that the home screen shows the stored state, with its age, before the control
// plane has answered and while it does not, and that nothing can be done meanwhile.
func TestFirstPaint(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nuon", "home", "state.json")
	p := newPlane(t)
	openStage(t, plainTheme, 100, 30, p, file).shows("loading …")
	first := openStage(t, plainTheme, 100, 30, p, file)
	first.do(first.load(first.top())) // stores the state
	for path, mode := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	age := time.Until(noon) // the file has the time of the machine
	p.down = true
	s := openStage(t, plainTheme, 100, 30, p, file)
	s.now = s.now.Add(5*time.Minute - age)
	s.top().loadStarted = s.now
	s.Update(beat{})
	s.shows("globex", "deploy web on acme", "○ of 5m ago, loading")
	if s.live(s.top()) {
		t.Error("a stored state counts as the current one")
	}
	s.do(s.load(s.top()))
	s.shows("This is the state of 5m ago.", "globex")
	p.down = false
	s.do(s.model.load(s.top()))
	if strings.Contains(s.screen(), "5m ago") || !s.live(s.top()) {
		t.Errorf("it shows the stored state:\n%s", s.screen())
	}
	for _, broken := range []string{"", "{", `{"at":"2026-03-04T12:00:00Z","status":{"apps":[{"groups":[{}]}]}}`, `[]`} {
		if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		openStage(t, plainTheme, 100, 30, p, file).shows("loading …")
	}
}

// TestSlowLoads checks that a screen that takes long to load, and is loaded rarely for that, counts as current until
// the next load should have answered: actions work on it in between.
func TestSlowLoads(t *testing.T) {
	s := newStage(t, plainTheme, 140, 45, newPlane(t))
	s.visit("installs")
	v := s.top()
	load := s.model.load(v)
	const took = 4 * time.Second
	s.now = s.now.Add(took)
	s.do(load)
	s.now = s.now.Add(resting*took + staleAfter - time.Second)
	s.Update(beat{})
	if s.press("d"); s.mode != confirming {
		t.Errorf("a deploy is refused before the next load is due:\n%s", s.screen())
	}
	s.press("n")
	s.now = s.now.Add(2 * time.Second)
	s.press("d").shows("control plane unreachable")
}

// TestLog checks that a log stays at its end until a person moves, and that control characters are
// removed.
func TestLog(t *testing.T) {
	s := newStage(t, plainTheme, 100, 30, newPlane(t))
	s.log = logLines(100)
	s.visit("logs wfl_1")
	s.shows("line 99 ", "100 of 100", "error")
	s.press("g")
	s.shows("line 0 ", "1 of 100")
	s.press("/").write("error line 5").press("enter")
	s.shows("line 50 ")
}

// TestSearch checks that n and N go from hit to hit of the filter, with the lines around them, and
// that esc ends the search.
func TestSearch(t *testing.T) {
	s := newStage(t, plainTheme, 100, 30, newPlane(t))
	s.log = logLines(100)
	s.visit("logs wfl_1").press("n")
	s.shows("nothing to search for: press / and type words first")
	s.press("g", "/").write("error").press("enter", "n")
	s.shows("▌ 11:59:05.000", "line 4 ", "6 of 100", "/ error", "• 11:59:08.000", "  11:59:07.000")
	s.press("n")
	s.shows("9 of 100")
	s.press("N", "N")
	s.shows("3 of 100")
	s.press("N")
	s.shows("99 of 100", "▌ 11:59:38.000")
	s.press("esc")
	if strings.Contains(s.screen(), "• ") {
		t.Errorf("the hits are still marked:\n%s", s.screen())
	}
	s.press("n")
	s.shows("nothing to search for", "99 of 100")
	s.press("/").write("nowhere").press("enter", "n")
	s.shows("1 of 100", "/ nowhere", "line 0 ")
}

// TestSaveALog checks what the file contains, and the message about it.
func TestSaveALog(t *testing.T) {
	s := newStage(t, plainTheme, 100, 30, newPlane(t))
	s.log = logLines(2)
	s.visit("logs workflow wfl_1 --step stp_1").press("s")
	s.shows("saved nuon-workflow-wfl_1-stp_1.log")
	want := []string{"nuon-workflow-wfl_1-stp_1.log: " +
		"2026-03-04T11:59:00.000Z info  apply web | line 0  [2J漢字\n" +
		"2026-03-04T11:59:01.000Z warn  apply web | line 1  [2J漢字\n"}
	if d := cmp.Diff(want, s.ran); d != "" {
		t.Errorf("saved (-want +got)\n%s", d)
	}
	s.fails = errors.New("open: file exists")
	s.press("s")
	s.shows("file exists")
}

// TestSizes checks that every screen fits on every size, from 1×1 on, and says so when it is too small.
func TestSizes(t *testing.T) {
	for scene, show := range scenes {
		s := newStage(t, plainTheme, 100, 30, newPlane(t))
		show(s)
		for _, size := range [][2]int{{40, 10}, {41, 11}, {60, 15}, {300, 12}, {40, 100}, {80, 24}} {
			s.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			t.Run(fmt.Sprintf("%s.%dx%d", scene, size[0], size[1]), func(t *testing.T) {
				fits(t, s.View(), size[0], size[1])
			})
		}
		s.Update(tea.WindowSizeMsg{Width: 20, Height: 5})
		if got := strings.ReplaceAll(s.screen(), "\n", " "); !strings.Contains(got, "too small") {
			t.Errorf("%s on 20×5: %q", scene, got)
		}
		s.Update(tea.WindowSizeMsg{Width: 1, Height: 1})
		_ = s.View()
	}
}

// TestMouse checks that a click selects a row, a second one opens it, and the wheel moves.
func TestMouse(t *testing.T) {
	s := newStage(t, plainTheme, 100, 30, newPlane(t))
	s.visit("installs")
	click := tea.MouseMsg{Button: tea.MouseButtonLeft, Action: tea.MouseActionPress, Y: 4}
	s.Update(click)
	s.shows("3 of 3")
	_, cmd := s.Update(click)
	s.do(cmd)
	s.shows("components")
	s.press("esc")
	s.Update(tea.MouseMsg{Button: tea.MouseButtonWheelUp, Action: tea.MouseActionPress})
	s.shows("1 of 3")
	s.visit("apps").visit("app hello")
	path := func(text string) tea.MouseMsg { // a click on a text of the path
		header, _, _ := strings.Cut(s.screen(), "\n")
		at := strings.Index(header, text)
		return tea.MouseMsg{Button: tea.MouseButtonLeft, Action: tea.MouseActionPress, X: ansi.StringWidth(header[:at]) + 1}
	}
	_, cmd = s.Update(path("installs"))
	s.do(cmd)
	if header, _, _ := strings.Cut(s.screen(), "\n"); !strings.Contains(header, "home › installs  ") {
		t.Errorf("a click on the path went to %s", header)
	}
	s.Update(path("nuon.example")) // not a screen
	if len(s.views) != 2 {
		t.Errorf("%d screens are open", len(s.views))
	}
}

// TestMarks checks that rows are marked and unmarked, that an action asks with their number, that rows
// which are filtered out or gone do not count, and that space turns pages where nothing is marked.
func TestMarks(t *testing.T) {
	p := newPlane(t)
	s := newStage(t, plainTheme, 140, 45, p)
	s.visit("installs").press(" ", " ")
	s.shows(" ✓acme", " ✓globex", "▌ initech", "2 marked")
	s.press("k", " ")
	s.shows("1 marked", "▌ initech")
	s.press("*")
	s.shows("3 marked", "▌✓initech")
	s.press("d")
	s.shows("Deploy everything that is behind on 3 installs: hello/acme, hello/globex, hello/initech?",
		"nuon deploy hello/acme … and 2 more")
	s.press("n", "/").write("paris").press("enter")
	s.shows("1 marked")
	s.press("esc")
	s.shows("3 marked")
	p.installs = p.installs[1:]
	s.do(s.model.load(s.top()))
	s.shows("2 marked")
	s.press("esc")
	if strings.Contains(s.screen(), "marked") {
		t.Errorf("rows are still marked:\n%s", s.screen())
	}
	s.press("esc")
	s.shows("needs you")
	s.press(" ")
	if n := s.top().pane.MarkCount(); n > 0 {
		t.Errorf("%d rows of the home screen are marked", n)
	}
}

// TestTimes checks that T shows times instead of ages.
func TestTimes(t *testing.T) {
	s := newStage(t, plainTheme, 200, 30, newPlane(t))
	s.visit("installs").press("T")
	s.shows("2026-03-04 11:56:00")
	s.press("T")
	s.shows("4m")
}

// TestLateTheme checks that a late report of the background changes the theme and counts as no key.
func TestLateTheme(t *testing.T) {
	theme := screen.NewTheme(true, true, screen.Unknown)
	theme.AwaitsReport = true
	s := newStage(t, theme, 100, 30, newPlane(t))
	s.press(":")
	s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("11;rgb:ffff/fafa/f0f0")})
	if *s.theme != *screen.NewTheme(true, true, screen.Light) || s.typed.String() != "" {
		t.Errorf("the theme is %+v, typed %q", s.theme, s.typed.String())
	}
}

// many returns a plane with many installs.
func many(t testing.TB, n int) *plane {
	p := newPlane(t)
	one := p.installs[0]
	p.installs = nil
	for i := range n {
		one.ID, one.Name = fmt.Sprintf("ins_%d", i), fmt.Sprintf("customer-%d", i)
		p.installs = append(p.installs, one)
	}
	return p
}

// TestAFrameCostsWhatIsSeen checks that a key and a frame need no more work with 5,000 installs, or
// 50,000 lines of a log, than with a hundred.
func TestAFrameCostsWhatIsSeen(t *testing.T) {
	work := func(line string, n int) float64 {
		s := newStage(t, plainTheme, 140, 45, many(t, min(n, 5000)))
		s.log = logLines(n)
		s.visit(line)
		s.press("g", " ")
		return testing.AllocsPerRun(5, func() {
			for _, k := range []string{"j", "k", " ", "b"} {
				s.press(k)
				_ = s.View()
			}
		})
	}
	for line, n := range map[string]int{"installs": 5000, "logs wfl_1": 50_000} {
		if few, lots := work(line, 100), work(line, n); lots > few*1.1 {
			t.Errorf("%s: %.0f allocations with %d rows, %.0f with 100", line, lots, n, few)
		}
	}
}

// TestLogIsBounded checks that a log that never ends takes bounded memory.
func TestLogIsBounded(t *testing.T) {
	s := newStage(t, plainTheme, 100, 30, newPlane(t))
	s.log = logLines(60_000)
	s.visit("logs wfl_1")
	s.shows("line 59999 ")
	s.press("g")
	s.shows("The first 10000 lines are left out here: nuon logs wfl_1", "line 10000 ")
}

// heap returns the bytes that are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // no machine has that much memory
}

// TestMemory checks that 5,000 installs and 50,000 lines of a log take less than 100 MiB, and that a
// session does not grow with the changes that it receives.
func TestMemory(t *testing.T) {
	const limit, noise = 100 << 20, 4 << 20
	p, log := many(t, 5000), logLines(50_000)
	before := heap()
	s := newStage(t, plainTheme, 200, 60, p)
	s.log = log
	installs := s.visit("installs").top()
	s.visit("logs wfl_1")
	_ = s.View()
	used := heap() - before
	t.Logf("%d MiB", used>>20)
	if used > limit {
		t.Errorf("%d MiB are in use", used>>20)
	}
	logs := s.top()
	for range 2 {
		installs.loading = false
		s.do(s.model.load(installs))
		logs.loading, logs.ended = false, false
		s.do(s.model.load(logs)) // reads all lines again
	}
	_ = s.View()
	if now := heap() - before; now > used+noise {
		t.Errorf("%d MiB are in use after changes, %d before", now>>20, used>>20)
	}
	runtime.KeepAlive(s)
}

// TestStatuses checks that a running workflow stays current by its stream and an ended one is marked.
func TestStatuses(t *testing.T) {
	p := newPlane(t)
	p.workflow.Status = api.WorkflowStatusSucceeded
	s := newStage(t, plainTheme, 100, 30, p)
	s.visit("workflow wfl_1")
	s.shows("ended", "succeeded")
	s.press("c")
	s.shows("the workflow is not running")
}

// BenchmarkFrame measures a key and the following frame.
func BenchmarkFrame(b *testing.B) {
	for line, n := range map[string]int{"installs": 5000, "logs wfl_1": 50_000} {
		b.Run(line, func(b *testing.B) {
			s := newStage(b, screen.NewTheme(true, true, screen.Dark), 140, 45, many(b, 5000))
			s.log = logLines(n)
			s.visit(line)
			size := 0
			for b.Loop() {
				s.press("k")
				size += len(s.View())
			}
			if size == 0 {
				b.Fatal("nothing was drawn")
			}
		})
	}
}

// BenchmarkFirstPaint measures from opening the home screen to its first frame, with 5,000 installs in
// as many states: from the stored state, and from the first answers of a control plane on this machine.
func BenchmarkFirstPaint(b *testing.B) {
	p := many(b, 5000)
	for i := range p.installs {
		p.installs[i].Release = i + 1
	}
	file := filepath.Join(b.TempDir(), "state.json")
	first := openStage(b, plainTheme, 140, 45, p, file)
	first.do(first.load(first.top()))
	for name, loads := range map[string]bool{"stored": false, "local API": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := openStage(b, plainTheme, 140, 45, p, map[bool]string{false: file}[loads])
				if loads {
					s.do(s.load(s.top()))
				}
				if !strings.Contains(s.View(), "customer-") {
					b.Fatal(s.screen())
				}
			}
		})
	}
}
