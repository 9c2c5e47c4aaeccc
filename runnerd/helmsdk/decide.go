package helmsdk

import (
	"cmp"
	"fmt"
	"slices"
)

// Action is what to do about a release.
type Action string

// The actions of Decide.
const (
	// ActionInstall creates the first revision, or the next one of a release of which nothing is
	// deployed; install hooks run.
	ActionInstall Action = "install"
	// ActionUpgrade creates the next revision; upgrade hooks run.
	ActionUpgrade Action = "upgrade"
	// ActionUninstall removes the release and its records.
	ActionUninstall Action = "uninstall"
	// ActionNone: there is nothing to uninstall.
	ActionNone Action = "nothing"
	// ActionStall: a person must do something first; Hint states what.
	ActionStall Action = "stall"
)

// Observation is the input of Decide.
type Observation struct {
	// Release and Namespace name the release in messages.
	Release, Namespace string
	// Component is the id of the install component that the operation is for.
	Component string
	// TakeOwnership allows the takeover of a release that somebody else created.
	TakeOwnership bool
	// Destroy requests the decision for an uninstallation.
	Destroy bool
	// History is the result of Client.History.
	History []Release
}

// Decision is what to do about a release. It is plain data: a plan may store it.
type Decision struct {
	Action Action `json:"action"`
	// Reason is one sentence.
	Reason string `json:"reason"`
	// Hint states what a person can do about a stall.
	Hint string `json:"hint,omitempty"`
	// MarkFailed are revisions that an interrupted attempt of this component left
	// unfinished: they are marked as failed first.
	Heal []int `json:"heal,omitempty"`
	// Revision is the one that will be created.
	Revision int `json:"revision"`
	// Base is the last deployed revision, which a change starts from; 0 for none.
	Base int `json:"base"`
	// Later are revisions after Base, or all if there is none, that did not become
	// deployed: some of their objects may exist.
	Later []int `json:"later,omitempty"`
	// Foreign reports that somebody else created the release, and that it is taken over.
	Foreign bool `json:"foreign,omitempty"`
}

// Before returns the release of the revision Base, or nil.
func (d Decision) Before(history []Release) *Release {
	for i := range history {
		if history[i].Revision == d.Base {
			return &history[i]
		}
	}
	return nil
}

// Decide returns what to do about a release in its current state. The fence guarantees that no
// other attempt of the same component is still active, so what such an attempt left unfinished
// is healed. An operation of another client, running or unfinished, is not touched.
func Decide(seen Observation) Decision {
	history := slices.SortedFunc(slices.Values(seen.History), func(a, b Release) int {
		return cmp.Compare(a.Revision, b.Revision)
	})
	if len(history) == 0 {
		if seen.Destroy {
			return Decision{Action: ActionNone, Reason: "there is no release " + seen.name()}
		}
		return Decision{Action: ActionInstall, Revision: 1, Reason: "there is no release " + seen.name() + " yet"}
	}
	last := history[len(history)-1]
	d := Decision{Revision: last.Revision + 1}
	if reason := pendingOperation(last); reason != "" {
		if seen.Component == "" || last.Component() != seen.Component || last.Status == StatusUninstalling &&
			last.Labels[LabelUninstall] == "" {
			return d.stall(seen, last, reason)
		}
		d.Heal = []int{last.Revision}
	}
	current := sinceRemoval(history)
	if len(current) == 0 {
		return d.reinstall(seen, last)
	}
	d.Base, d.Later = baseRevision(current)
	if owner := ownerOf(current); owner == "" || owner != seen.Component {
		if d.Foreign = true; !seen.TakeOwnership {
			return d.foreign(seen, owner)
		}
	}
	return d.proceed(seen, last)
}

// name returns "web in the namespace shop".
func (o Observation) name() string { return o.Release + " in the namespace " + o.Namespace }

// pendingOperation returns which operation on a release runs or was interrupted, or "".
func pendingOperation(r Release) string {
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

// sinceRemoval returns the revisions after the last one whose objects were uninstalled.
func sinceRemoval(history []Release) []Release {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Removed {
			return history[i+1:]
		}
	}
	return history
}

// ownerOf returns the install component that last wrote a record. Older records do not count:
// another component may have taken the release over since. If no record of ours is left in
// the history, it falls back to the labels that a person's helm copied; "" if there are none.
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

// baseRevision returns the revision that is deployed, or was the last to be, and the
// revisions after it.
func baseRevision(current []Release) (base int, later []int) {
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

// stall decides not to touch a release that another client may be changing.
func (d Decision) stall(seen Observation, last Release, what string) Decision {
	where := fmt.Sprintf("%s -n %s", seen.Release, seen.Namespace)
	d.Action = ActionStall
	d.Reason = fmt.Sprintf(
		"%s of the release %s by somebody else is under way, or ended in the middle: its revision %d is %s", what,
		seen.name(), last.Revision, last.Status)
	d.Hint = fmt.Sprintf(
		"look with: helm history %s; if no operation is running on it, end it with: helm rollback %s", where, where)
	if last.Status == StatusPendingInstall || last.Status == StatusUninstalling {
		d.Hint = fmt.Sprintf(
			"look with: helm history %s; if no operation is running on it, remove what it left with: helm uninstall %s",
			where, where)
	}
	return d
}

// reinstall decides for a release that was uninstalled with its history kept.
func (d Decision) reinstall(seen Observation, last Release) Decision {
	if seen.Destroy {
		d.Action, d.Reason, d.Heal = ActionNone,
			fmt.Sprintf("the release %s was uninstalled already, and its history kept", seen.name()), nil
		return d
	}
	d.Action, d.Reason = ActionInstall, fmt.Sprintf("the release %s was uninstalled, and its history kept", seen.name())
	if last.Status == StatusSuperseded {
		// An installation over a kept history was interrupted before it had its own
		// record. Helm does not accept a name whose newest record is superseded.
		d.Heal = []int{last.Revision}
	}
	return d
}

// foreign decides not to touch a release that others created.
func (d Decision) foreign(seen Observation, owner string) Decision {
	d.Action, d.Heal = ActionStall, nil
	who := "was not installed by nuon"
	if owner != "" {
		who = fmt.Sprintf("belongs to another component (install component %s)", boundedText(owner, 80))
	}
	d.Reason = fmt.Sprintf("the release %s %s", seen.name(), who)
	d.Hint = "set take_ownership = true to take it over, or give the component another chart_name or namespace"
	if seen.Destroy {
		d.Hint = fmt.Sprintf("it stays; remove it with: helm uninstall %s -n %s, or set take_ownership = true", seen.Release,
			seen.Namespace)
	}
	return d
}

// proceed decides for a release that may be changed.
func (d Decision) proceed(seen Observation, last Release) Decision {
	switch {
	case seen.Destroy:
		d.Action, d.Reason = ActionUninstall, fmt.Sprintf("the release %s is there, its revision %d %s", seen.name(),
			last.Revision, last.Status)
	case d.Base == 0:
		d.Action, d.Reason = ActionInstall, fmt.Sprintf("nothing of the release %s is deployed: its revision %d is %s",
			seen.name(), last.Revision, last.Status)
	case len(d.Later) > 0:
		d.Action, d.Reason = ActionUpgrade, fmt.Sprintf("the release %s is at revision %d, and its revision %d is %s",
			seen.name(), d.Base, last.Revision, last.Status)
	default:
		d.Action, d.Reason = ActionUpgrade, fmt.Sprintf("the release %s is at revision %d", seen.name(), d.Base)
	}
	if len(d.Heal) > 0 {
		d.Reason += ", left in the middle by an attempt that ended"
	}
	if d.Foreign {
		d.Reason += "; it was installed outside of nuon, and is taken over"
	}
	return d
}
