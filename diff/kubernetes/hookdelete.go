package kubernetes

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// Before Helm creates a hook, it deletes the object that has the hook's name, without checking who created it.
// https://helm.sh/docs/topics/charts_hooks/#hook-deletion-policies
const (
	deletePolicyAnnotation = "helm.sh/hook-delete-policy"
	beforeHookCreation     = "before-hook-creation"
)

// whyHookReplaces is the reason of a hook that deletes an object which is no leftover of the hook.
const whyHookReplaces = "Helm deletes the object that has its name before it creates the hook"

// applyEvents are the events of an installation and an upgrade.
var applyEvents = []string{"pre-install", "post-install", "pre-upgrade", "post-upgrade"}

// runs reports whether an apply runs the hooks of these events.
func (c *comparison) runs(events string) bool {
	fired := c.options.HookEvents
	if fired == nil {
		fired = applyEvents
	}
	return slices.ContainsFunc(strings.Split(events, ","), func(e string) bool { return slices.Contains(fired, e) })
}

// deletesFirst reports whether Helm deletes the object of a hook's name before it creates the hook.
func deletesFirst(hook raw.Value) bool {
	policies, ok := annotation(hook, deletePolicyAnnotation)
	return !ok || slices.Contains(eventsIn(policies), beforeHookCreation)
}

// lostTo returns the live object that Helm deletes before it creates the hook of a job; null if there is none, or if
// an earlier run of the hook left it.
func (c *comparer) lostTo(j *job, v *values) raw.Value {
	events := c.hookOf(v.after)
	if !c.options.ThreeWay || events == "" || !c.runs(events) || unknownEvent(v.after) || j.after.GenerateName ||
		definition(j.id) || !deletesFirst(v.after) {
		return raw.Value{}
	}
	live := v.live
	if live.IsNull() {
		live = v.namesake
	}
	if live.IsNull() || c.isLeftover(j, v, live) {
		return raw.Value{}
	}
	return live
}

// isLeftover reports whether an earlier run of a hook left the live object. The annotation of an object that is also
// part of the release proves nothing: it stays when the release takes the object over.
func (c *comparer) isLeftover(j *job, v *values, live raw.Value) bool {
	switch {
	case j.twinReleased:
		return false
	case c.options.Leftovers != nil:
		return c.leftovers[c.matcher.key(j.id)]
	case j.twinHook:
		return j.twinBefore && hookOf(live) != ""
	}
	return hookOf(v.before) != "" && hookOf(live) != ""
}

// compareHook compares a job. A hook that deletes an object which it did not create is a replacement of that object.
// It is compared as if the object did not exist, because nothing of the object stays.
func (c *comparer) compareHook(j *job, v *values) outcome {
	lost := c.lostTo(j, v)
	if lost.IsNull() {
		return c.compareValues(j, v)
	}
	alone, sides := *j, *v
	alone.live, sides.live = nil, raw.Value{}
	out := c.compareValues(&alone, &sides)
	out.idle = out.section == nowhere || out.regenerated
	out.regenerated = false
	c.place(&out, v)
	change := &out.change
	change.Action, change.Order, change.Why = diff.Replace, diff.DestroyFirst, whyHookReplaces
	change.Risk = max(change.Risk, change.Action.Risk())
	typ := c.schemas.Find(j.id.Group, j.version(), j.id.Kind)
	c.learnNames(j, typ, &values{live: lost}, &out)
	c.judgeSide(j, &values{before: lost}, diff.Change{Action: diff.Destroy}, change)
	return out
}
