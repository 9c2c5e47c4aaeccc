package review

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// yesTo returns the requests that an approval of these plans sends.
func yesTo(all ...api.Approval) (out []string) {
	for _, a := range all {
		out = append(out, "approve "+a.ID+" "+a.ContentDigest)
	}
	return out
}

// without returns all plans except that of one install.
func without(all []api.Approval, install string) []api.Approval {
	return slices.DeleteFunc(slices.Clone(all), func(a api.Approval) bool { return a.Install == install })
}

// TestGather checks that alike plans are grouped, the largest group first and the
// component's other plans after it, and that everything else keeps its place.
func TestGather(t *testing.T) {
	made := func(app, install, component, group string) api.Approval {
		return api.Approval{App: app, Install: install, Component: component, Group: group}
	}
	for name, c := range map[string]struct {
		all  []api.Approval
		want string
	}{
		"none": {nil, ""},
		"nothing alike": {[]api.Approval{made("a", "1", "x", "g1"), made("a", "1", "y", "g2"),
			made("a", "2", "x", "g3"), made("a", "3", "x", "")}, "1x | 1y | 2x | 3x"},
		"one group": {[]api.Approval{made("a", "1", "x", "g"), made("a", "1", "y", ""), made("a", "2", "x", "g")},
			"1x 2x | 1y"},
		"two groups and an exception": {[]api.Approval{
			made("a", "0", "x", "odd"), made("a", "0", "y", ""), made("a", "1", "x", "g"), made("a", "2", "x", "h"),
			made("a", "3", "x", "h"), made("a", "4", "x", "g"), made("a", "5", "x", "h"),
		}, "2x 3x 5x | 1x 4x | 0x | 0y"},
		"no group is no group": {[]api.Approval{made("a", "1", "x", ""), made("a", "2", "x", "")}, "1x | 2x"},
		"a group of two components": {
			[]api.Approval{made("a", "1", "x", "g"), made("a", "1", "y", "g"), made("a", "2", "x", "g")}, "1x 2x | 1y"},
		"a group of two apps": {[]api.Approval{made("a", "1", "x", "g"), made("b", "2", "x", "g")}, "1x | 2x"},
	} {
		var parts []string
		for _, g := range Gather(c.all) {
			var names []string
			for _, a := range g {
				names = append(names, a.Install+a.Component)
			}
			parts = append(parts, strings.Join(names, " "))
		}
		if got := strings.Join(parts, " | "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestGatherLosesNothing checks that every plan appears exactly once, and that
// plans are grouped exactly if they have the same component and group.
func TestGatherLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []api.Approval
		for i := range rapid.IntRange(0, 30).Draw(t, "plans") {
			all = append(all, api.Approval{
				ID: fmt.Sprint(i), App: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "app"),
				Component: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "component"),
				Group:     rapid.SampledFrom([]string{"", "g", "h", "i"}).Draw(t, "group"),
				Destroy:   rapid.Bool().Draw(t, "destroy"),
			})
		}
		told := map[string]int{}
		for n, together := range Gather(all) {
			for _, a := range together {
				if _, twice := told[a.ID]; twice {
					t.Fatalf("%s is told twice", a.ID)
				}
				told[a.ID] = n
				if len(together) > 1 && (a.Group == "" || groupOf(a) != groupOf(together[0])) {
					t.Fatalf("%+v is with %+v", a, together[0])
				}
			}
		}
		for _, a := range all {
			for _, b := range all {
				if a.Group != "" && groupOf(a) == groupOf(b) && told[a.ID] != told[b.ID] {
					t.Fatalf("%+v is not with %+v", a, b)
				}
			}
		}
		if len(told) != len(all) {
			t.Fatalf("%d of %d are told", len(told), len(all))
		}
	})
}

// TestNames checks that names above the limit are counted.
func TestNames(t *testing.T) {
	all := alike()[:5]
	for most, want := range map[int]string{2: "acme, globex and 3 more", 5: "acme, globex, hooli, initech, umbrella",
		9: "acme, globex, hooli, initech, umbrella"} {
		if got := Names(all, most); got != want {
			t.Errorf("%d: %q", most, got)
		}
	}
	if got := Place(all) + ", " + Place(all[:1]); got != "5 installs of hello, hello/acme" {
		t.Errorf("%q", got)
	}
}

// TestOneAnswerToManyPlans checks that an answer to a group goes to each plan that was in
// it when the answer was given, bound to that plan's own content, and to no other plan.
func TestOneAnswerToManyPlans(t *testing.T) {
	all, doomed := alike(), alikeGrave()
	late := func(a api.Approval, install string) api.Approval {
		a.ID, a.Install, a.InstallID, a.ContentDigest = "apr_late", install, "ins_"+install, "sha256:late"
		return a
	}
	other := all[1]
	other.ContentDigest = "sha256:other"
	for name, c := range map[string]struct {
		queue []api.Approval
		do    func(s *stage)
		want  []string
		says  string
	}{
		"yes":          {all, func(s *stage) { s.press("a") }, nil, "Type 5 to approve"},
		"yes, twice":   {all, func(s *stage) { s.press("a", "a", "enter") }, nil, "Type 5 to approve"},
		"yes, counted": {all, func(s *stage) { s.approveAll("5") }, yesTo(all[:5]...), ""},
		"yes, then again": {all, func(s *stage) { s.approveAll("5"); s.press("a") }, yesTo(all[:5]...),
			"the answer is being sent"},
		"yes, miscounted": {all, func(s *stage) { s.approveAll("6") }, nil, "Type 5 to approve"},
		"to one of them": {all,
			func(s *stage) { s.press("m", "j"); s.send(openedOf(all[0])); s.pass(time.Second); s.press("a") },
			yesTo(all[0]), ""},
		"to one, unread": {all, func(s *stage) { s.press("m", "j", "a") }, nil, "the plan is not loaded yet"},
		"to the exception": {all,
			func(s *stage) { s.press("J"); s.send(openedOf(all[5])); s.pass(time.Second); s.press("a") }, yesTo(all[5]),
			""},
		"no": {all, func(s *stage) { s.press("r"); s.write("no time"); s.press("enter") }, []string{
			"reject apr_1 " + all[0].ContentDigest + " no time", "reject apr_2 " + all[1].ContentDigest + " no time",
			"reject apr_3 " + all[2].ContentDigest + " no time",
			"reject apr_4 " + all[3].ContentDigest + " no time", "reject apr_5 " + all[4].ContentDigest + " no time",
		}, ""},
		"one has gone": {all, func(s *stage) { s.send(listOf(without(all, "globex"))); s.approveAll("4") },
			yesTo(all[0], all[2], all[3], all[4]), ""},
		"one has come": {all,
			func(s *stage) { s.send(listOf(append(slices.Clone(all), late(all[0], "zorg")))); s.press("a") }, nil,
			"the group has just changed"},
		"one came, and was seen": {all, func(s *stage) {
			s.send(listOf(append(slices.Clone(all), late(all[0], "zorg"))))
			s.pass(justNow)
			s.approveAll("6")
		}, append(yesTo(all[:5]...), "approve apr_late sha256:late"), ""},
		"one is another now": {all, func(s *stage) {
			s.send(listOf([]api.Approval{all[0], other, all[2], all[3], all[4]}))
			s.press("a")
		}, nil, "the group has just changed"},
		"grave": {doomed, func(s *stage) { s.press("a") }, nil, "Type web 3 to approve"},
		"grave, no number": {doomed, func(s *stage) { s.press("a"); s.write("web"); s.press("enter") }, nil,
			"Type web 3 to approve"},
		"grave, miscounted": {doomed, func(s *stage) { s.press("a"); s.write("web 4"); s.press("enter") }, nil,
			"Type web 3 to approve"},
		"grave, counted": {doomed, func(s *stage) { s.press("a"); s.write("web 3"); s.press("enter") },
			yesTo(doomed...), ""},
		"grave, one leaves": {doomed, func(s *stage) {
			s.press("a")
			s.write("web 3")
			s.send(listOf(doomed[1:]))
			s.press("enter")
		}, nil, "Type web 2 to approve"},
		"grave, counted again": {doomed, func(s *stage) {
			s.press("a")
			s.send(listOf(doomed[1:]))
			s.write("web 2")
			s.press("enter")
		}, yesTo(doomed[1:]...), ""},
		"grave, one comes": {doomed, func(s *stage) {
			s.press("a")
			s.send(listOf(append(slices.Clone(doomed), late(doomed[0], "zorg"))))
			s.pass(time.Second)
			s.write("web 3")
			s.press("enter")
		}, yesTo(doomed...), ""},
		"grave, one changes": {doomed, func(s *stage) {
			s.press("a")
			s.write("web 2")
			changed := doomed[2]
			changed.ContentDigest = "sha256:other"
			s.send(listOf([]api.Approval{doomed[0], doomed[1], changed}))
			s.pass(time.Second)
			s.press("enter")
		}, yesTo(doomed[:2]...), ""},
		"all go while typing": {doomed,
			func(s *stage) { s.press("r"); s.write("wai"); s.send(listed{}); s.write("t, a"); s.press("a") }, nil,
			"your answer was not sent"},
		"nobody there": {all, func(s *stage) { s.send(listed{err: errors.New("gone")}); s.press("a", "r") }, nil,
			"control plane unreachable"},
		"it does not hold": {all, func(s *stage) {
			bad := all[0]
			bad.Report = []byte(`{"kind":"terraform","totals":{"destroy":3},"applyable":true}`)
			s.queue.current().reading().drop()
			s.queue.current().group.loading, s.queue.current().group.planID = true, bad.ID
			s.send(openedAs(bad))
			s.pass(time.Second)
			s.press("a")
		}, nil, "the report is inconsistent"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(plainTheme, 110, 30, c.queue...)
			c.do(s)
			if d := cmp.Diff(c.want, s.sent()); d != "" {
				t.Errorf("answers (-want +got)\n%s", d)
			}
			s.shows(t, c.says)
		})
	}
}

// approveAll approves the selected group and types the number of its plans.
func (s *stage) approveAll(count string) {
	s.press("a")
	s.write(count)
	s.press("enter")
}

// taken returns the control plane's response to an accepted answer.
func taken(id string, now time.Time) answered {
	return answered{id: id, answer: api.ResponseAnswerApprove, approval: api.Approval{
		ID: id, App: "hello", Install: "install-" + id[4:], Component: "web", Status: api.ApprovalStatusApproved,
		CreatedAt: began, Response: api.GivenResponse{Actor: "vera", At: now},
	}}
}

// crowd returns n alike plans.
func crowd(n int) []api.Approval {
	var all []api.Approval
	one := approvalOf("apr", "hello", "acme", "web", mildReport(1))
	for i := range n {
		a := one
		a.ID, a.Install, a.InstallID, a.Group = fmt.Sprintf("apr_%04d", i), fmt.Sprintf("install-%04d", i),
			fmt.Sprintf("ins_%04d", i), "sha256:crowd"
		a.ContentDigest = fmt.Sprintf("sha256:%04d", i)
		all = append(all, a)
	}
	return all
}

// TestAThousandInstalls checks that only one report is fetched, and that only
// a few answers are in flight at a time.
func TestAThousandInstalls(t *testing.T) {
	all := crowd(1000)
	s := newStage(plainTheme, 120, 40, all...)
	if d := cmp.Diff([]string{"open all like apr_0000"}, s.notes.asked); d != "" {
		t.Errorf("asked for (-want +got)\n%s", d)
	}
	s.shows(t, "▸ hello web ×1000")
	s.approveAll("1000")
	if n := len(s.sent()); n != maxAtOnce {
		t.Errorf("%d answers are on their way", n)
	}
	for i := range 999 {
		s.send(taken(all[i].ID, s.now))
	}
	s.shows(t, "web: answered 999 of 1000")
	if cmd := s.press("q"); cmd != nil || s.unheard(0) == nil {
		t.Error("it leaves with an answer on its way")
	}
	s.send(taken(all[999].ID, s.now))
	if d := cmp.Diff(yesTo(all...), s.sent()); d != "" {
		t.Errorf("answers (-want +got)\n%s", d)
	}
	s.note.Text = ""
	s.shows(t, "These plans are no longer waiting (1000 approved).")
	s.shows(t, "✓ ▸ hello web ×1000")
	if s.unheard(0) != nil || len(s.given) != 1000 {
		t.Errorf("%d were given, %v", len(s.given), s.unheard(0))
	}
	s.press("J")
	s.send(listed{})
	s.pass(2 * keepEnded)
	s.send(listOf(several()))
	s.press("J")
	s.send(listOf(several()))
	if n := len(s.queue.items); n != 3 {
		t.Errorf("%d plans are kept for long", n)
	}
}

// TestAnAnswerThatBreaksOff checks that answers that were not sent because the
// control plane became unreachable are not sent later, and that a plan whose
// content changed in the meantime is not answered.
func TestAnAnswerThatBreaksOff(t *testing.T) {
	all := crowd(20)
	s := newStage(plainTheme, 120, 40, all...)
	s.approveAll("20")
	if err := s.unheard(130); exitcode.CodeOf(err) != 130 || !strings.Contains(err.Error(), "14 answers were not sent") {
		t.Errorf("says %v", err)
	}
	s.send(answered{id: all[0].ID, err: exitcode.With(exitcode.Unreachable, errors.New("cannot reach the control plane"))})
	for _, a := range all[1:maxAtOnce] {
		s.send(taken(a.ID, s.now))
	}
	s.shows(t,
		"approved: web on 5 of 20; not install-0000, install-0006, install-0007 and 12 more: cannot reach the control plane")
	if n := len(s.sent()); n != maxAtOnce {
		t.Errorf("%d answers were sent", n)
	}
	s.shows(t, "No longer in the group (5 approved)")

	s = newStage(plainTheme, 120, 40, all...)
	s.approveAll("20")
	moved := slices.Clone(all)
	moved[19].ContentDigest = "sha256:other"
	s.send(listOf(moved))
	for _, a := range all[:19] {
		s.send(taken(a.ID, s.now))
	}
	if d := cmp.Diff(yesTo(all[:19]...), s.sent()); d != "" {
		t.Errorf("answers (-want +got)\n%s", d)
	}
	s.shows(t, "not install-0019: it changed after it was shown")
}

// TestWhatIsChosenStaysChosen checks that a selected plan stays selected when
// it becomes part of a group: the group is open, and an answer goes to that
// plan only. Closing the group selects the group.
func TestWhatIsChosenStaysChosen(t *testing.T) {
	all := alike()
	s := newStage(plainTheme, 100, 30, all[0], all[6])
	s.send(listOf(all))
	s.shows(t, "▾ hello metrics · 5 installs")
	if at := s.queue.current(); at.several() || at.item.approval.ID != "apr_1" {
		t.Errorf("%s is chosen", at.name())
	}
	s.press("m")
	s.shows(t, "▸ hello metrics · 5 installs")
	s.shows(t, "metrics on 5 installs of hello ──")
	s.press("m", "j", "j")
	s.send(listOf(without(all, "acme")))
	if at := s.queue.current(); at.several() || at.item.approval.ID != "apr_2" {
		t.Errorf("%s is chosen", at.name())
	}
	s.press("J", "J", "J", "J", "m")
	s.shows(t, "no other plan is like this one")
}

// TestTheGroupsReportIsReadFromOneThatWaits checks that a group shows the report
// of a waiting plan, and that of the next one when the first cannot be fetched.
func TestTheGroupsReportIsReadFromOneThatWaits(t *testing.T) {
	all := alike()
	s := &stage{notes: &notes{}, now: noon}
	s.model = newModel(s.notes, plainTheme, "nuon.example", func() time.Time { return s.now }, listOf(all))
	s.send(opened{id: "apr_1", several: true, err: errors.New("gone")})
	s.send(listOf(without(all, "acme")))
	s.send(openedAs(all[1]))
	if d := cmp.Diff([]string{"open all like apr_1", "open all like apr_2", "open apr_1"}, s.notes.asked[:3]); d != "" {
		t.Errorf("asked for (-want +got)\n%s", d)
	}
	if s.queue.current().reading().view == nil {
		t.Error("the report is not shown")
	}
}

// TestALargeQueueIsLookedAtInParts checks that in a large queue only the selected group is polled.
func TestALargeQueueIsLookedAtInParts(t *testing.T) {
	s := newStage(plainTheme, 110, 30, alike()...)
	l := listOf(alike())
	l.large = true
	s.send(l)
	s.send(due{turn: s.turn})
	if last := s.notes.asked[len(s.notes.asked)-1]; last != "list sha256:alike" {
		t.Errorf("asked for %q", last)
	}
	part := listOf(alike()[1:5])
	part.where.group = "sha256:alike"
	s.send(part)
	s.shows(t, "▸ hello metrics ×4")
	if n, _ := s.queue.waiting(); n != 6 {
		t.Errorf("%d wait after a look at one group", n)
	}
}

// TestSecurityIsSeenInTheQueue checks that the queue marks plans with security-relevant changes.
func TestSecurityIsSeenInTheQueue(t *testing.T) {
	all := several()
	r := mildReport(2)
	r.Changes[1].AddFindings(diff.Finding{Rule: "opens", Source: "https://example.com/rule", Risk: diff.RiskInPlace,
		Security: true, Message: "everybody can reach it"})
	r.Totals = r.Count()
	all[2] = approvalOf("apr_3", "hello", "globex", "metrics", r)
	newStage(plainTheme, 80, 24, all...).shows(t, "1 security ~2    5m")
}

// TestSide checks the side-by-side layout: where it fits, where the queue must
// move, and the message where the screen is too narrow.
func TestSide(t *testing.T) {
	s := grave(plainTheme, 120, 40)
	s.shows(t, "┬")
	s.press("s")
	s.shows(t, `"hello" `)
	s.shows(t, "│ \"こんにちは")
	if strings.Contains(s.screen(), "┬") {
		t.Error("the queue still stands beside the diff")
	}
	s.press("s")
	s.shows(t, `"hello" → "こんにちは`)
	small := grave(plainTheme, 80, 24)
	small.press("s")
	small.shows(t, "side by side needs 102 columns, the screen has 80")
}
