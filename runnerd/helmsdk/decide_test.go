package helmsdk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// past parses a history: "3 failed ours" is revision 3, written by us; "copied" has
// our labels of another revision, "theirs" those of another component, "removing" the
// label of our uninstallation.
func past(lines ...string) []Release {
	var made []Release
	for _, line := range lines {
		words := strings.Fields(line)
		revision, err := strconv.Atoi(words[0])
		if err != nil {
			panic(err)
		}
		r := Release{Name: "web", Namespace: "ns", Revision: revision, Status: Status(words[1]), Labels: map[string]string{}}
		for _, word := range words[2:] {
			switch word {
			case "ours":
				r.Labels[LabelComponent], r.Labels[LabelRevision] = "me", words[0]
			case "copied":
				r.Labels[LabelComponent], r.Labels[LabelRevision] = "me", "77"
			case "theirs":
				r.Labels[LabelComponent], r.Labels[LabelRevision] = "other", words[0]
			case "removing":
				r.Labels[LabelUninstall] = "job.1"
			case "removed":
				r.Removed = true
			}
		}
		r.Removed = r.Removed || r.Status == StatusUninstalled
		made = append(made, r)
	}
	return made
}

func TestDecide(t *testing.T) {
	for name, test := range map[string]struct {
		history []Release
		take    bool
		// want and destroy are "action revision base later heal".
		want, destroy string
	}{
		"nothing":  {nil, false, "install 1 0 [] []", "nothing 0 0 [] []"},
		"deployed": {past("1 deployed ours"), false, "upgrade 2 1 [] []", "uninstall 2 1 [] []"},
		"long history": {past("1 superseded ours", "2 superseded ours", "3 deployed ours"), false,
			"upgrade 4 3 [] []", "uninstall 4 3 [] []"},
		"out of order": {past("3 deployed ours", "1 superseded ours"), false, "upgrade 4 3 [] []",
			"uninstall 4 3 [] []"},
		"failed upgrade": {past("1 deployed ours", "2 failed ours"), false, "upgrade 3 1 [2] []",
			"uninstall 3 1 [2] []"},
		"two failed": {past("1 deployed ours", "2 failed ours", "3 failed ours"), false,
			"upgrade 4 1 [2 3] []", "uninstall 4 1 [2 3] []"},
		"killed upgrade": {past("1 deployed ours", "2 pending-upgrade ours"), false, "upgrade 3 1 [2] [2]",
			"uninstall 3 1 [2] [2]"},
		"killed at the end of an upgrade": {past("1 superseded ours", "2 pending-upgrade ours"), false, "upgrade 3 1 [2] [2]",
			"uninstall 3 1 [2] [2]"},
		"killed install": {past("1 pending-install ours"), false, "install 2 0 [1] [1]",
			"uninstall 2 0 [1] [1]"},
		"failed install": {past("1 failed ours"), false, "install 2 0 [1] []", "uninstall 2 0 [1] []"},
		"installs failed twice": {past("1 failed ours", "2 pending-install ours"), false, "install 3 0 [1 2] [2]",
			"uninstall 3 0 [1 2] [2]"},
		"killed rollback of ours": {past("1 superseded ours", "2 deployed ours", "3 pending-rollback ours"), false,
			"upgrade 4 2 [3] [3]", "uninstall 4 2 [3] [3]"},
		"killed uninstall": {past("1 uninstalling ours removing"), false, "install 2 0 [1] [1]",
			"uninstall 2 0 [1] [1]"},
		"killed uninstall of many": {past("1 superseded ours", "2 uninstalling ours removing"), false,
			"upgrade 3 1 [2] [2]", "uninstall 3 1 [2] [2]"},
		"somebody uninstalls":    {past("1 uninstalling ours"), false, "stall 2", "stall 2"},
		"somebody installs":      {past("1 pending-install"), false, "stall 2", "stall 2"},
		"somebody upgrades":      {past("1 deployed", "2 pending-upgrade"), true, "stall 3", "stall 3"},
		"somebody upgrades ours": {past("1 deployed ours", "2 pending-upgrade copied"), true, "stall 3", "stall 3"},
		"somebody rolls ours back": {past("1 superseded ours", "2 deployed ours", "3 pending-rollback copied"), false,
			"stall 4", "stall 4"},
		"another component is at it": {past("1 pending-install theirs"), true, "stall 2", "stall 2"},
		"somebody rolled ours back": {past("1 superseded ours", "2 superseded ours", "3 deployed copied"), false,
			"upgrade 4 3 [] []", "uninstall 4 3 [] []"},
		"somebody failed to": {past("1 superseded ours", "2 superseded ours", "3 failed copied"), false,
			"upgrade 4 2 [3] []", "uninstall 4 2 [3] []"},
		"by hand":              {past("1 deployed"), false, "stall 2", "stall 2"},
		"by hand, taken":       {past("1 deployed"), true, "upgrade 2 1 [] []", "uninstall 2 1 [] []"},
		"of another component": {past("1 deployed theirs"), false, "stall 2", "stall 2"},
		"taken over from us":   {past("1 superseded ours", "2 deployed theirs"), false, "stall 3", "stall 3"},
		"taken over and rolled back": {past("1 superseded ours", "2 superseded theirs", "3 deployed copied"), false,
			"stall 4", "stall 4"},
		"taken back": {past("1 superseded theirs", "2 deployed ours"), false, "upgrade 3 2 [] []",
			"uninstall 3 2 [] []"},
		"only copies are left": {past("5 superseded copied", "6 deployed copied"), false, "upgrade 7 6 [] []",
			"uninstall 7 6 [] []"},
		"by hand, failed": {past("1 failed"), false, "stall 2", "stall 2"},
		"uninstalled, history kept": {past("1 superseded ours", "2 uninstalled ours"), false, "install 3 0 [] []",
			"nothing 3 0 [] []"},
		"by hand, uninstalled":     {past("1 uninstalled"), false, "install 2 0 [] []", "nothing 2 0 [] []"},
		"killed before the record": {past("1 superseded removed"), false, "install 2 0 [] [1]", "nothing 2 0 [] []"},
		"installed again": {past("1 superseded removed", "2 failed ours"), false, "install 3 0 [2] []",
			"uninstall 3 0 [2] []"},
		"superseded only": {past("1 superseded ours", "2 superseded ours"), false, "upgrade 3 2 [] []",
			"uninstall 3 2 [] []"},
		"unknown of ours": {past("1 deployed ours", "2 unknown ours"), false, "upgrade 3 1 [2] [2]",
			"uninstall 3 1 [2] [2]"},
		"unknown of others": {past("1 deployed ours", "2 whatever"), false, "stall 3", "stall 3"},
	} {
		t.Run(name, func(t *testing.T) {
			for destroy, want := range map[bool]string{false: test.want, true: test.destroy} {
				d := Decide(Observation{Release: "web", Namespace: "ns", Component: "me", TakeOwnership: test.take,
					Destroy: destroy, History: test.history})
				if got := fmt.Sprintf("%s %d %d %v %v", d.Action, d.Revision, d.Base, d.Later, d.Heal); !strings.HasPrefix(got,
					want) {
					t.Errorf("destroy %v: got %s, want %s (%s)", destroy, got, want, d.Reason)
				}
				if d.Reason == "" || (d.Action == ActionStall) != (d.Hint != "") {
					t.Errorf("destroy %v: no words: %+v", destroy, d)
				}
			}
		})
	}
}

func TestDecideWords(t *testing.T) {
	d := Decide(Observation{Release: "web", Namespace: "ns", Component: "me",
		History: past("1 deployed ours", "2 pending-upgrade copied")})
	want := "an upgrade of the release web in the namespace ns by somebody else is under way, or ended in the middle: " +
		"its revision 2 is pending-upgrade"
	if d.Reason != want || !strings.Contains(d.Hint, "helm rollback web -n ns") {
		t.Errorf("got %s; %s", d.Reason, d.Hint)
	}
	d = Decide(Observation{Release: "web", Namespace: "ns", Component: "me", TakeOwnership: true,
		History: past("1 deployed")})
	if !d.Foreign || !strings.Contains(d.Reason, "is taken over") {
		t.Errorf("got %+v", d)
	}
	if Decide(Observation{Release: "web", Namespace: "ns", History: past("1 pending-install")}).Action != ActionStall {
		t.Error("a record without labels is ours")
	}
}

// For any history: an operation of others is never touched, what is healed is ours
// and unfinished, and every named revision exists.
func TestDecideProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		revision := 0
		for range rapid.IntRange(0, 6).Draw(t, "length") {
			revision += rapid.IntRange(1, 3).Draw(t, "gap")
			status := rapid.SampledFrom([]Status{StatusUnknown, StatusDeployed, StatusUninstalled, StatusSuperseded,
				StatusFailed, StatusUninstalling, StatusPendingInstall, StatusPendingUpgrade, StatusPendingRollback}).Draw(t,
				"status")
			who := rapid.SampledFrom([]string{"", "ours", "ours removing", "copied", "theirs"}).Draw(t, "who")
			lines = append(lines, fmt.Sprintf("%d %s %s", revision, status, who))
		}
		history := past(lines...)
		seen := Observation{Release: "web", Namespace: "ns", Component: "me", TakeOwnership: rapid.Bool().Draw(t, "take"),
			Destroy: rapid.Bool().Draw(t, "destroy"), History: history}
		d := Decide(seen)
		for _, r := range append(append([]int{d.Base}, d.Later...), d.Heal...) {
			if r != 0 && !slices.ContainsFunc(history, func(h Release) bool { return h.Revision == r }) {
				t.Fatalf("%v: revision %d does not exist: %+v", lines, r, d)
			}
		}
		for _, r := range d.Later {
			if r <= d.Base {
				t.Fatalf("%v: %d is not later: %+v", lines, r, d)
			}
		}
		if len(history) == 0 {
			return
		}
		last := history[len(history)-1]
		if d.Revision != last.Revision+1 {
			t.Fatalf("%v: %+v", lines, d)
		}
		if pendingOperation(last) != "" && last.Component() != "me" && d.Action != ActionStall {
			t.Fatalf("%v: somebody else is at work: %+v", lines, d)
		}
		if d.Action == ActionStall && len(d.Heal) > 0 {
			t.Fatalf("%v: a stall heals: %+v", lines, d)
		}
		for _, r := range d.Heal {
			if h := history[slices.IndexFunc(history, func(h Release) bool { return h.Revision == r })]; h.Component() != "me" &&
				!h.Removed {
				t.Fatalf("%v: heals what is not ours: %+v", lines, d)
			}
		}
		if d.Action == ActionStall || d.Action == ActionNone {
			return
		}
		// After healing, nothing needs healing, and the decision is the same.
		for i := range history {
			if slices.Contains(d.Heal, history[i].Revision) {
				if history[i].Status = StatusFailed; history[i].Removed {
					history[i].Status = StatusUninstalled
				}
			}
		}
		again := Decide(seen)
		if len(again.Heal) > 0 || again.Action != d.Action || again.Base != d.Base || !slices.Equal(again.Later, d.Later) {
			t.Fatalf("%v: first %+v, then %+v", lines, d, again)
		}
	})
}
