package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// The annotations with which Helm treats an object specially.
// https://helm.sh/docs/topics/charts_hooks/
const (
	hookAnnotation = "helm.sh/hook"
	keepAnnotation = "helm.sh/resource-policy"
)

func annotation(object raw.Value, key string) (string, bool) {
	metadata, _ := object.Get("metadata")
	annotations, _ := metadata.Get("annotations")
	v, _ := annotations.Get(key)
	text, ok := raw.String(v)
	return text, ok
}

// role is the role of an object for Helm.
type role uint8

const (
	// absent: it does not exist.
	absent role = iota
	// released: it is part of the release.
	released
	// hook: Helm creates it at some events and does not track it afterwards.
	hook
)

// hookEvents are the events that Helm supports.
// https://helm.sh/docs/topics/charts_hooks/#the-available-hooks
var hookEvents = []string{
	"pre-install", "post-install", "pre-delete", "post-delete", "pre-upgrade", "post-upgrade", "pre-rollback",
	"post-rollback", "test", "test-success",
}

// roleOf returns the role according to the annotation. Helm ignores an object
// with events that it does not support, but another tool may apply these
// manifests, so it counts as a hook, see unknownEvent.
func roleOf(object raw.Value) role {
	if object.IsNull() {
		return absent
	}
	if _, ok := annotation(object, hookAnnotation); !ok {
		return released
	}
	return hook
}

// unknownEvent reports whether an object is a hook with an event that Helm does not support.
func unknownEvent(object raw.Value) bool {
	text, ok := annotation(object, hookAnnotation)
	return ok && slices.ContainsFunc(eventsIn(text), func(event string) bool {
		return !slices.Contains(hookEvents, event)
	})
}

func eventsIn(text string) []string {
	events := strings.Split(strings.ToLower(text), ",")
	for i, e := range events {
		events[i] = strings.TrimSpace(e)
	}
	return events
}

// hookOf returns the events at which Helm creates the object. It is empty for
// an object of the release itself.
func hookOf(object raw.Value) string {
	text, ok := annotation(object, hookAnnotation)
	if !ok {
		return ""
	}
	return strings.Join(eventsIn(text), ",")
}

// hookOf is like the function hookOf, and returns nothing if the sides are no Helm release.
func (c *comparison) hookOf(object raw.Value) string {
	if c.options.Plain {
		return ""
	}
	return hookOf(object)
}

// isTest reports whether all events are tests.
func isTest(events string) bool {
	for _, e := range strings.Split(events, ",") {
		if e != "test" && e != "test-success" {
			return false
		}
	}
	return true
}

// kept reports whether Helm keeps the object when it is removed from the release.
// An upgrade checks for exactly this word, on the object in the cluster.
// https://helm.sh/docs/howto/charts_tips_and_tricks/#tell-helm-not-to-uninstall-a-resource
func hasKeepPolicy(object raw.Value) bool {
	policy, _ := annotation(object, keepAnnotation)
	return policy == "keep"
}

// hasKeepPolicy checks the live object if it is known, otherwise to the one applied last.
func (v *values) hasKeepPolicy() bool {
	if !v.live.IsNull() {
		return hasKeepPolicy(v.live)
	}
	return hasKeepPolicy(v.before)
}

// roleChange is one of the two changes of an object whose role for Helm changes.
type roleChange struct {
	job    job
	values values
}

// splitByRole splits an object that becomes a hook, or stops being one: one object
// is removed and another one with the same name is created. If Helm treats
// both sides as the same object, the result is one change.
func (c *comparer) splitByRole(j *job, v *values) []roleChange {
	if c.options.Plain {
		return []roleChange{{*j, *v}}
	}
	before, after := roleOf(v.before), roleOf(v.after)
	if before == absent || after == absent || before == after {
		return []roleChange{{*j, *v}}
	}
	var out []roleChange
	if removed := (roleChange{*j, *v}); before == hook && after != released || before == released {
		removed.job.after, removed.job.again, removed.job.answer = nil, nil, nil
		removed.values.after, removed.values.again, removed.values.answer = raw.Value{}, raw.Value{}, raw.Value{}
		removed.job.reason = removalReason(v.after)
		out = append(out, removed)
	}
	if created := (roleChange{*j, *v}); after == hook || after == released {
		created.job.before, created.values.before = nil, raw.Value{}
		created.job.reason = creationReason(before)
		if before == released {
			// The live object is the one that is removed, unless Helm keeps it.
			created.job.live, created.values.live = nil, raw.Value{}
			if v.hasKeepPolicy() {
				created.values.namesake = v.live
			}
		}
		out = append(out, created)
	}
	return out
}

// unknownEventNote returns a note about an object that Helm ignores and other tools apply.
func unknownEventNote(address string) string {
	return fmt.Sprintf(
		"%s: Helm ignores it, because it does not know all events of %s; kubectl and other tools apply it.",
		address, hookAnnotation)
}

func removalReason(object raw.Value) string {
	if hookOf(object) == "" {
		return ""
	}
	events := diff.EscapeText(hookOf(object))
	return "it becomes a hook, so Helm removes it from the release, and creates it again at " +
		strings.ReplaceAll(events, ",", ", ")
}

func creationReason(before role) string {
	switch before {
	case released:
		return "it becomes a hook"
	case hook:
		return "it was a hook and becomes part of the release"
	}
	return ""
}

// hookRisk keeps only the security findings of a hook.
func (c *comparer) hookRisk(out *outcome) {
	findings := out.change.Findings
	fields := out.change.Fields
	out.change = out.unjudged
	out.change.Fields = fields
	for i := range fields {
		fields[i].ForcesReplace = false
	}
	for _, f := range findings {
		if f.Security {
			out.change.AddFindings(f)
		}
	}
}
