package helm

import (
	"cmp"
	"fmt"
	"slices"
)

// Action is what to do about a release.
type Action string

// The actions of Decide.
const (
	// ActionInstall makes the first revision, or makes a name anew of which nothing was ever deployed; install hooks run.
	ActionInstall Action = "install"
	// ActionUpgrade makes the next revision; upgrade hooks run.
	ActionUpgrade Action = "upgrade"
	// ActionUninstall removes the release and its records.
	ActionUninstall Action = "uninstall"
	// ActionNothing: there is nothing to uninstall.
	ActionNothing Action = "nothing"
	// ActionStall: a person has to do something first, as Hint says.
	ActionStall Action = "stall"
)

// Observation is what Decide looks at.
type Observation struct {
	// Release and Namespace name it, for the sentences.
	Release, Namespace string
	// Component is the id of the install component on whose behalf something is to be done.
	Component string
	// TakeOwnership allows to go on with a release that somebody else made.
	TakeOwnership bool
	// Destroy asks what an uninstallation needs.
	Destroy bool
	// History is that of Client.History.
	History []Release
}

// Decision says what to do about a release. It is plain data: a plan may keep it.
type Decision struct {
	Action Action `json:"action"`
	// Reason is one sentence.
	Reason string `json:"reason"`
	// Hint says what a person can do about a stall.
	Hint string `json:"hint,omitempty"`
	// Heal are revisions that a dead attempt of ours left in the middle: they are marked failed first.
	Heal []int `json:"heal,omitempty"`
	// Revision is the one that will be made.
	Revision int `json:"revision"`
	// Base is the revision that was deployed last, which a change starts from; 0 for none.
	Base int `json:"base"`
	// Later are revisions after Base, or all when there is none, that did not become deployed: some of their objects may be there.
	Later []int `json:"later,omitempty"`
	// Foreign says that somebody else made the release, and that it is taken over.
	Foreign bool `json:"foreign,omitempty"`
}

// Before gives the release that Base names, nil for none.
func (d Decision) Before(history []Release) *Release {
	for i := range history {
		if history[i].Revision == d.Base {
			return &history[i]
		}
	}
	return nil
}

// Decide says what to do about a release as it is. The fence makes sure that an attempt of ours which is not this one does nothing any more: what it
// left in the middle is healed. What other people left in the middle, or are at, is theirs.
func Decide(seen Observation) Decision {
	history := slices.SortedFunc(slices.Values(seen.History), func(a, b Release) int { return cmp.Compare(a.Revision, b.Revision) })
	if len(history) == 0 {
		if seen.Destroy {
			return Decision{Action: ActionNothing, Reason: "there is no release " + seen.name()}
		}
		return Decision{Action: ActionInstall, Revision: 1, Reason: "there is no release " + seen.name() + " yet"}
	}
	last := history[len(history)-1]
	d := Decision{Revision: last.Revision + 1}
	if reason := inMotion(last); reason != "" {
		if seen.Component == "" || last.Component() != seen.Component || last.Status == StatusUninstalling && last.Labels[LabelUninstall] == "" {
			return d.stall(seen, last, reason)
		}
		d.Heal = []int{last.Revision}
	}
	current := sinceRemoval(history)
	if len(current) == 0 {
		return d.anew(seen, last)
	}
	d.Base, d.Later = whatStands(current)
	if owner := ownerOf(current); owner == "" || owner != seen.Component {
		if d.Foreign = true; !seen.TakeOwnership {
			return d.foreign(seen, owner)
		}
	}
	return d.goOn(seen, last)
}

// name is "web in the namespace shop".
func (o Observation) name() string { return o.Release + " in the namespace " + o.Namespace }

// inMotion says in which way somebody is at work on a release, or died at it; "" when nobody is.
func inMotion(r Release) string {
	switch r.Status {
	case StatusPendingInstall:
		return "an installation"
	case StatusPendingUpgrade:
		return "an upgrade"
	case StatusPendingRollback:
		return "a rollback"
	case StatusUninstalling:
		return "an uninstallation"
	case StatusDeployed, StatusFailed, StatusSuperseded, StatusUninstalled:
		return ""
	}
	return "an operation that Helm has no name for"
}

// sinceRemoval gives the revisions after the last one whose objects were uninstalled.
func sinceRemoval(history []Release) []Release {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Removed {
			return history[i+1:]
		}
	}
	return history
}

// ownerOf gives the install component that wrote a record last. Older records do not count: another component may have taken the release over since. Where
// all that we wrote ourselves is out of the history, the labels that a person's helm copied tell; "" when there are none.
func ownerOf(current []Release) string {
	copied := ""
	for _, r := range slices.Backward(current) {
		if owner := r.Component(); owner != "" {
			return owner
		}
		copied = cmp.Or(copied, r.Labels[LabelComponent])
	}
	return copied
}

// whatStands finds the revision that is deployed, or was the last to be, and those after it.
func whatStands(current []Release) (base int, later []int) {
	for _, status := range []Status{StatusDeployed, StatusSuperseded} {
		for _, r := range current {
			if r.Status == status {
				base = max(base, r.Revision)
			}
		}
		if base > 0 {
			break
		}
	}
	for _, r := range current {
		if r.Revision > base {
			later = append(later, r.Revision)
		}
	}
	return base, later
}

// stall leaves a release alone that somebody else is at.
func (d Decision) stall(seen Observation, last Release, what string) Decision {
	where := fmt.Sprintf("%s -n %s", seen.Release, seen.Namespace)
	d.Action = ActionStall
	d.Reason = fmt.Sprintf("%s of the release %s by somebody else is under way, or ended in the middle: its revision %d is %s", what, seen.name(), last.Revision, last.Status)
	d.Hint = fmt.Sprintf("look with: helm history %s; when nobody is at work on it any more, end it with: helm rollback %s", where, where)
	if last.Status == StatusPendingInstall || last.Status == StatusUninstalling {
		d.Hint = fmt.Sprintf("look with: helm history %s; when nobody is at work on it any more, remove what it left with: helm uninstall %s", where, where)
	}
	return d
}

// anew is for a name of which everything was uninstalled and the history kept.
func (d Decision) anew(seen Observation, last Release) Decision {
	if seen.Destroy {
		d.Action, d.Reason, d.Heal = ActionNothing, fmt.Sprintf("the release %s was uninstalled already, and its history kept", seen.name()), nil
		return d
	}
	d.Action, d.Reason = ActionInstall, fmt.Sprintf("the release %s was uninstalled, and its history kept", seen.name())
	if last.Status == StatusSuperseded {
		// An installation over a kept history died before its own record: Helm takes no name whose newest record says superseded.
		d.Heal = []int{last.Revision}
	}
	return d
}

// foreign leaves a release alone that others made.
func (d Decision) foreign(seen Observation, owner string) Decision {
	d.Action, d.Heal = ActionStall, nil
	who := "was not installed by nuon"
	if owner != "" {
		who = fmt.Sprintf("belongs to another component (install component %s)", boundedText(owner, 80))
	}
	d.Reason = fmt.Sprintf("the release %s %s", seen.name(), who)
	d.Hint = "set take_ownership = true to take it over, or give the component another chart_name or namespace"
	if seen.Destroy {
		d.Hint = fmt.Sprintf("it stays; remove it with: helm uninstall %s -n %s, or set take_ownership = true", seen.Release, seen.Namespace)
	}
	return d
}

// goOn is for a release that may be worked on.
func (d Decision) goOn(seen Observation, last Release) Decision {
	switch {
	case seen.Destroy:
		d.Action, d.Reason = ActionUninstall, fmt.Sprintf("the release %s is there, its revision %d %s", seen.name(), last.Revision, last.Status)
	case d.Base == 0:
		d.Action, d.Reason = ActionInstall, fmt.Sprintf("nothing of the release %s is deployed: its revision %d is %s", seen.name(), last.Revision, last.Status)
	case len(d.Later) > 0:
		d.Action, d.Reason = ActionUpgrade, fmt.Sprintf("the release %s stands at revision %d, and its revision %d is %s", seen.name(), d.Base, last.Revision, last.Status)
	default:
		d.Action, d.Reason = ActionUpgrade, fmt.Sprintf("the release %s stands at revision %d", seen.name(), d.Base)
	}
	if len(d.Heal) > 0 {
		d.Reason += ", left in the middle by an attempt that ended"
	}
	if d.Foreign {
		d.Reason += "; somebody else made it, and it is taken over"
	}
	return d
}
