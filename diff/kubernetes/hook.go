package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// The annotations by which Helm treats an object apart. https://helm.sh/docs/topics/charts_hooks/
const (
	hookAnnotation = "helm.sh/hook"
	keepAnnotation = "helm.sh/resource-policy"
)

func annotation(object raw.Value, key string) (string, bool) {
	metadata, _ := object.Get("metadata")
	annotations, _ := metadata.Get("annotations")
	v, _ := annotations.Get(key)
	text, ok := raw.Reveal(v).(string)
	return text, ok
}

// role is what an object is to Helm.
type role uint8

const (
	// absent: it is not there.
	absent role = iota
	// released: it is part of the release.
	released
	// hook: Helm makes it at some events, and forgets it then.
	hook
)

// hookEvents are those that Helm knows. https://helm.sh/docs/topics/charts_hooks/#the-available-hooks
var hookEvents = []string{
	"pre-install", "post-install", "pre-delete", "post-delete", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback", "test",
	"test-success",
}

// roleOf tells it by the annotation. What Helm does not know the events of it leaves out, but whoever applies these manifests may not be
// Helm: so it is compared like any hook, see unknownEvent.
func roleOf(object raw.Value) role {
	if object.IsNull() {
		return absent
	}
	if _, ok := annotation(object, hookAnnotation); !ok {
		return released
	}
	return hook
}

// unknownEvent says that an object is a hook, and that Helm does not know all of its events.
func unknownEvent(object raw.Value) bool {
	text, ok := annotation(object, hookAnnotation)
	return ok && slices.ContainsFunc(eventsIn(text), func(event string) bool { return !slices.Contains(hookEvents, event) })
}

func eventsIn(text string) []string {
	events := strings.Split(strings.ToLower(text), ",")
	for i, e := range events {
		events[i] = strings.TrimSpace(e)
	}
	return events
}

// hookOf names the events at which Helm makes the object; empty for an object of the release itself.
func hookOf(object raw.Value) string {
	text, ok := annotation(object, hookAnnotation)
	if !ok {
		return ""
	}
	return strings.Join(eventsIn(text), ",")
}

// hookOf is so of the sides of this comparison.
func (c *comparison) hookOf(object raw.Value) string {
	if c.options.Plain {
		return ""
	}
	return hookOf(object)
}

// isTest says that the events are those of tests alone.
func isTest(events string) bool {
	for _, e := range strings.Split(events, ",") {
		if e != "test" && e != "test-success" {
			return false
		}
	}
	return true
}

// kept says that Helm leaves the object where it is when it leaves the release. An upgrade looks for exactly this word, and at the object in
// the cluster. https://helm.sh/docs/howto/charts_tips_and_tricks/#tell-helm-not-to-uninstall-a-resource
func kept(object raw.Value) bool {
	policy, _ := annotation(object, keepAnnotation)
	return policy == "keep"
}

// kept says so of an object that goes: by what runs, if that is known, else by what was applied last.
func (v *values) kept() bool {
	if !v.live.IsNull() {
		return kept(v.live)
	}
	return kept(v.before)
}

// half is one part of what happens to an object that is something else to Helm than before.
type half struct {
	job    job
	values values
}

// halves splits an object that becomes a hook, or is one no more: one name, of which one object goes and another one comes. It is as it was
// where Helm takes both sides for the same.
func (c *comparer) halves(j *job, v *values) []half {
	if c.options.Plain {
		return []half{{*j, *v}}
	}
	before, after := roleOf(v.before), roleOf(v.after)
	if before == absent || after == absent || before == after {
		return []half{{*j, *v}}
	}
	var out []half
	if goes := (half{*j, *v}); before == hook && after != released || before == released {
		goes.job.after, goes.job.again, goes.job.answer = nil, nil, nil
		goes.values.after, goes.values.again, goes.values.answer = raw.Value{}, raw.Value{}, raw.Value{}
		goes.job.why = whyGoes(v.after)
		out = append(out, goes)
	}
	if comes := (half{*j, *v}); after == hook || after == released {
		comes.job.before, comes.values.before = nil, raw.Value{}
		comes.job.why = whyComes(before)
		if before == released {
			// What runs is the one that goes.
			comes.job.live, comes.values.live = nil, raw.Value{}
		}
		out = append(out, comes)
	}
	return out
}

// unknownEventNote is about an object that Helm leaves out, and others do not.
func unknownEventNote(address string) string {
	return fmt.Sprintf("%s: Helm leaves it out, because it does not know all of the events of %s; kubectl and other tools apply it.",
		address, hookAnnotation)
}

func whyGoes(object raw.Value) string {
	if hookOf(object) == "" {
		return ""
	}
	events := diff.Neutral(hookOf(object))
	return "it becomes a hook, so Helm takes it out of the release, and makes it anew at " + strings.ReplaceAll(events, ",", ", ")
}

func whyComes(before role) string {
	switch before {
	case released:
		return "it becomes a hook"
	case hook:
		return "it was a hook, and becomes a part of the release"
	}
	return ""
}
