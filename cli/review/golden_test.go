package review

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/screentest"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

func init() { time.Local = time.UTC } // frames show times of day

// notes is a backend that only records the requests.
type notes struct{ asked []string }

func (n *notes) note(format string, a ...any) tea.Cmd {
	n.asked = append(n.asked, fmt.Sprintf(format, a...))
	return nil
}
func (n *notes) beat() tea.Cmd                        { return nil }
func (n *notes) lookAgain(int) tea.Cmd                { return nil }
func (n *notes) After(time.Duration, tea.Msg) tea.Cmd { return nil }
func (n *notes) list(where scope) tea.Cmd             { return n.note("list %s", where.install+where.group) }
func (n *notes) open(id string, several bool) tea.Cmd {
	if several {
		return n.note("open all like %s", id)
	}
	return n.note("open %s", id)
}
func (n *notes) workflow(id, install string) tea.Cmd { return n.note("workflow %s of %s", id, install) }
func (n *notes) ruleOn(w api.Workflow) tea.Cmd       { return n.note("approve all of %s", w.ID) }
func (n *notes) assign(id string, to api.Assignment) tea.Cmd {
	return n.note("assign %s to %q instead of %q", id, to.Assignee, *to.Expected)
}
func (n *notes) explain(plan string) tea.Cmd { return n.note("explain %s", plan) }
func (n *notes) respond(id string, r api.Response) tea.Cmd {
	return n.note("%s %s %s %s", r.Answer, id, r.ContentDigest, r.Reason)
}

// stage is a screen without a terminal.
type stage struct {
	*model
	notes *notes
	now   time.Time
}

// listOf returns the message that the requester would send for a poll.
func listOf(all []api.Approval) listed {
	l := listed{totals: map[string]diff.Totals{}}
	for _, a := range all {
		if report, err := ReportOf(a); err == nil {
			l.totals[a.ID] = report.Totals
		}
		a.Report = nil
		l.waiting = append(l.waiting, a)
	}
	return l
}

func openedOf(a api.Approval) opened {
	o := opened{id: a.ID, approval: a}
	if o.report, o.flaw = ReportOf(a); o.flaw == nil {
		o.lay()
	}
	return o
}

// openedAs returns the requester's message for a group whose report was read from this plan.
func openedAs(a api.Approval) opened {
	o := opened{id: a.ID, approval: a, several: true}
	if o.report, o.flaw = ReportOf(a); o.flaw == nil {
		o.lay()
	}
	return o
}

// newStage returns a screen that shows the plans, with the first one open.
func newStage(t *theme, width, height int, all ...api.Approval) *stage {
	s := &stage{notes: &notes{}, now: noon}
	s.model = newModel(s.notes, t, "nuon.example", func() time.Time { return s.now }, listOf(all))
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	if at := s.queue.current(); at.several() {
		s.send(openedAs(all[0]))
	} else if !at.none() {
		s.send(openedOf(all[0]))
	}
	s.pass(time.Second)
	return s
}

func (s *stage) send(msg tea.Msg) { s.Update(msg) }

// pass advances the clock, while polls continue to succeed.
func (s *stage) pass(d time.Duration) {
	s.now = s.now.Add(d)
	s.heard = s.now
	s.send(beat{})
}

// named maps the names of keys without a character.
var named = map[string]tea.KeyType{
	"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown,
	"backspace": tea.KeyBackspace,
	"ctrl+c":    tea.KeyCtrlC, "ctrl+n": tea.KeyCtrlN, "ctrl+p": tea.KeyCtrlP, "ctrl+w": tea.KeyCtrlW, "left": tea.KeyLeft,
	"home": tea.KeyHome, "ctrl+z": tea.KeyCtrlZ,
}

// press presses keys one after the other: named keys or characters.
func (s *stage) press(keys ...string) tea.Cmd {
	var cmd tea.Cmd
	for _, k := range keys {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
		if kind, ok := named[k]; ok {
			msg = tea.KeyMsg{Type: kind}
		} else if k == " " {
			msg.Type = tea.KeySpace
		}
		_, cmd = s.Update(msg)
	}
	return cmd
}

func (s *stage) write(text string) {
	for _, r := range text {
		s.press(string(r))
	}
}

// scenes are the screens of the golden frames.
var scenes = map[string]func(*theme, int, int) *stage{
	"queue": func(t *theme, w, h int) *stage { return newStage(t, w, h, several()...) },
	"grave": grave,
	"confirm": func(t *theme, w, h int) *stage {
		s := grave(t, w, h)
		s.press("a")
		s.write("we")
		return s
	},
	"reject": func(t *theme, w, h int) *stage {
		s := grave(t, w, h)
		s.press("r")
		s.write("not during the sale")
		return s
	},
	"search": func(t *theme, w, h int) *stage {
		s := grave(t, w, h)
		s.press("/")
		s.write("serve")
		s.press("enter")
		return s
	},
	"stale": func(t *theme, w, h int) *stage {
		s := grave(t, w, h)
		all := several()
		s.send(listOf([]api.Approval{all[0], all[2]}))
		all[1].Status, all[1].Reason = api.ApprovalStatusWithdrawn,
			"superseded: commit 77aa102 changed modules/web/main.tf"
		s.send(openedOf(all[1]))
		s.press("a")
		return s
	},
	"answered": func(t *theme, w, h int) *stage {
		s := newStage(t, w, h, several()...)
		s.press("a")
		done := several()[0]
		done.Status, done.Response = api.ApprovalStatusApproved, api.GivenResponse{Actor: "vera", At: s.now}
		s.send(answered{id: "apr_1", answer: api.ResponseAnswerApprove, approval: done})
		return s
	},
	"lost": func(t *theme, w, h int) *stage {
		s := grave(t, w, h)
		s.send(listed{err: errors.New("cannot reach the control plane: connection refused")})
		return s
	},
	"flawed": func(t *theme, w, h int) *stage {
		bad := several()[1]
		bad.Report = []byte(`{"kind":"terraform","totals":{"destroy":3},"applyable":true}`)
		s := newStage(t, w, h, bad)
		s.press("a")
		return s
	},
	"why": func(t *theme, w, h int) *stage {
		s := grave(t, w, h)
		s.press("w")
		s.send(explained{plan: "pln_apr_2", chain: chain()})
		return s
	},
	"help": func(t *theme, w, h int) *stage {
		s := newStage(t, w, h, several()...)
		s.press("?")
		return s
	},
	"group": func(t *theme, w, h int) *stage { return newStage(t, w, h, alike()...) },
	"members": func(t *theme, w, h int) *stage {
		s := newStage(t, w, h, alike()...)
		s.press("m", "j", "j")
		s.send(openedOf(alike()[1]))
		s.pass(time.Second)
		return s
	},
	"group-confirm": func(t *theme, w, h int) *stage {
		s := newStage(t, w, h, alikeGrave()...)
		s.press("a")
		s.write("web ")
		return s
	},
	"group-left": func(t *theme, w, h int) *stage {
		s := newStage(t, w, h, alikeGrave()...)
		s.press("a")
		s.write("web ")
		s.send(listOf(alikeGrave()[1:]))
		return s
	},
	"group-reject": func(t *theme, w, h int) *stage {
		s := newStage(t, w, h, alike()...)
		s.press("r")
		s.write("not during the sale")
		return s
	},
	"group-ask": func(t *theme, w, h int) *stage {
		s := newStage(t, w, h, alike()...)
		s.press("a")
		return s
	},
	"group-over": func(t *theme, w, h int) *stage {
		s := newStage(t, w, h, alike()...)
		s.approveAll("5")
		for i, a := range alike()[:5] {
			o := answered{id: a.ID, answer: api.ResponseAnswerApprove, approval: a}
			o.approval.Status, o.approval.Response = api.ApprovalStatusApproved,
				api.GivenResponse{Actor: "vera", At: s.now}
			if i == 3 {
				o.err = errors.New("this plan of metrics no longer waits for an answer: rejected")
			}
			s.send(o)
		}
		return s
	},
	"whole": func(t *theme, w, h int) *stage {
		s := newStage(t, w, h, several()...)
		s.press("A")
		s.send(provision())
		s.write("ac")
		return s
	},
	"side": func(t *theme, w, h int) *stage {
		s := grave(t, w, h)
		s.press("s")
		return s
	},
	"policies": func(t *theme, w, h int) *stage { return newStage(t, w, h, judged()...) },
	"rules": func(t *theme, w, h int) *stage {
		s := newStage(t, w, h, judged()...)
		s.press("e")
		return s
	},
	"selected": func(t *theme, w, h int) *stage {
		s := newStage(t, w, h, several()...)
		s.selectAll(several())
		return s
	},
	"selected-confirm": func(t *theme, w, h int) *stage {
		s := newStage(t, w, h, several()...)
		s.selectAll(several())
		s.press("a")
		return s
	},
	"assigned": func(t *theme, w, h int) *stage {
		all := several()
		all[0].Assignee, all[0].Yours = "vera", true
		all[2].Assignee = "bob"
		return newStage(t, w, h, all...)
	},
	"empty": func(t *theme, w, h int) *stage {
		s := newStage(t, w, h)
		s.send(listed{busy: []string{"hello/acme: working on web"}})
		return s
	},
}

// selectAll marks all plans of the queue, and delivers the reports that the screen requests.
func (s *stage) selectAll(all []api.Approval) {
	s.press("*")
	for _, a := range all {
		s.send(openedOf(a))
	}
	s.pass(time.Second)
}

// judged returns plans with results of policies and findings of rules: one is denied.
func judged() []api.Approval {
	denied := mildReport(1)
	denied.Changes[0].AddFindings(diff.Finding{Rule: "role-binding", Risk: diff.RiskInPlace, Security: true,
		Source:  "https://kubernetes.io/docs/concepts/security/rbac-good-practices/",
		Message: "binds cluster-admin to a group"})
	denied.SetPolicies([]diff.PolicyResult{
		diff.NewPolicyResult("no-public-endpoint", []diff.PolicyMessage{
			{Status: diff.PolicyDeny, Text: "the endpoint of web is open to 0.0.0.0/0\x1b[2J"}}),
		diff.NewPolicyResult("labels", []diff.PolicyMessage{
			{Status: diff.PolicyWarn, Text: "no owner", Object: "Deployment web"},
			{Status: diff.PolicyWarn, Text: "no team", Object: "Deployment web"}}),
		diff.NewPolicyResult("quota", []diff.PolicyMessage{
			{Status: diff.PolicyNotEvaluated, Text: "only Kyverno in the cluster evaluates this policy"}}),
		diff.NewPolicyResult("encrypt-at-rest", nil),
	})
	warned := mildReport(2)
	warned.SetPolicies([]diff.PolicyResult{diff.NewPolicyResult("labels",
		[]diff.PolicyMessage{{Status: diff.PolicyWarn, Text: "no owner"}})})
	a := approvalOf("apr_1", "hello", "acme", "web", denied)
	a.IndividualApproval = true
	return []api.Approval{a, approvalOf("apr_2", "hello", "globex", "web", warned)}
}

// grave opens the plan that destroys something.
func grave(t *theme, w, h int) *stage {
	s := newStage(t, w, h, several()...)
	s.press("J")
	s.send(openedOf(several()[1]))
	s.pass(time.Second)
	s.press("enter")
	return s
}

var themes = map[string]*theme{
	"dark": screen.NewTheme(true, true, screen.Dark), "light": screen.NewTheme(true, true, screen.Light),
	"plain": screen.NewTheme(false, false, screen.Unknown),
}

// TestFrames compares every scene with its golden frames: without color at each size, and for the
// scenes where they matter in the colors of both themes. `go test ./cli/review -args -update` rewrites
// the frames.
func TestFrames(t *testing.T) {
	for scene, show := range scenes {
		for _, size := range screentest.Sizes {
			for theme, colors := range themes {
				if theme != "plain" && !slices.Contains(
					[]string{"queue", "grave", "confirm", "stale", "group", "policies", "selected", "members", "rules", "why",
						"whole", "side", "help", "empty"}, scene) {
					continue
				}
				name := fmt.Sprintf("%s.%dx%d.%s", scene, size[0], size[1], theme)
				t.Run(name, func(t *testing.T) {
					got := show(colors, size[0], size[1]).View() + "\n"
					fits(t, got, size[0], size[1])
					file := filepath.Join("testdata", name+".txt")
					golden.Check(t, file, got)
				})
			}
		}
	}
}

// fits checks that a frame is no larger than its screen.
func fits(t testing.TB, frame string, width, height int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(frame, "\n"), "\n")
	if len(lines) > height {
		t.Errorf("%d rows of %d", len(lines), height)
	}
	for _, l := range lines {
		if w := ansi.StringWidth(l); w > width {
			t.Errorf("%d columns of %d: %q", w, width, l)
		}
	}
}
