package kubernetes_test

import (
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// hookedClaim returns a claim, with the given annotations.
func hookedClaim(annotations string) string {
	return "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: shop, annotations: {" +
		annotations + "}}\nspec: {accessModes: [ReadWriteOnce]}\n"
}

// TestHookDeletesObject checks which hooks replace the live object that has their name, with each way to recognize
// what an earlier run left.
func TestHookDeletesObject(t *testing.T) {
	const upgrade, never = "helm.sh/hook: pre-upgrade", ", helm.sh/hook-delete-policy: hook-succeeded"
	object, hook, test := hookedClaim(""), hookedClaim(upgrade), hookedClaim("helm.sh/hook: test")
	uninstall := hookedClaim("helm.sh/hook: pre-delete")
	id := manifest.ID{Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data"}
	for name, c := range map[string]struct {
		before, live, after string
		options             kubernetes.Options
		replaces            bool
	}{
		"nothing is there":  {after: hook},
		"somebody else's":   {live: object, after: hook, replaces: true},
		"another hook's":    {live: hook, after: hook, replaces: true},
		"its own":           {before: hook, live: hook, after: hook},
		"recorded, not run": {before: hook, live: object, after: hook, replaces: true},
		"recorded, says the caller": {before: hook, live: hook, after: hook,
			options: kubernetes.Options{Leftovers: map[manifest.ID]bool{}}, replaces: true},
		"left, says the caller": {live: hook, after: hook,
			options: kubernetes.Options{Leftovers: map[manifest.ID]bool{id: true}}},
		"a test":        {live: object, after: test},
		"another event": {live: object, after: uninstall},
		"the event that runs": {live: object, after: uninstall, replaces: true,
			options: kubernetes.Options{HookEvents: []string{"pre-delete"}}},
		"an event that does not run": {live: object, after: hook,
			options: kubernetes.Options{HookEvents: []string{"pre-install"}}},
		"it is not deleted first": {live: object, after: hookedClaim(upgrade + never)},
		"no release":              {live: object, after: hook, options: kubernetes.Options{Plain: true}},
		"a twin":                  {before: object, live: object, after: object + hook, replaces: true},
		"a twin as before":        {before: object + hook, live: object, after: object + hook, replaces: true},
		"a twin with a trace of its hook": {before: object + hook, live: hook, after: object + hook, replaces: true,
			options: kubernetes.Options{Leftovers: map[manifest.ID]bool{id: true}}},
		"a twin that does not run": {before: object, live: object, after: object + test},
		"two hooks":                {before: hook + test, live: hook, after: hook + test},
		"two new hooks":            {live: hook, after: hook + test, replaces: true},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.ThreeWay, c.options.Namespace, c.options.Live = true, "shop", source("live", []byte(c.live))
			r := compare(t, c.before, c.after, c.options)
			replaced := 0
			for _, h := range r.Hooks {
				if h.Action == diff.Replace && h.Order == diff.DestroyFirst && h.Why != "" && h.Risk == diff.RiskDestroy {
					replaced++
				}
			}
			if want := map[bool]int{true: 1}[c.replaces]; replaced != want || r.Totals.Replace != want ||
				r.Destructive() != c.replaces {
				t.Errorf("%d hooks replace an object, want %d; totals %+v, destructive %t: %+v", replaced, want, r.Totals,
					r.Destructive(), r.Hooks)
			}
		})
	}
}

// TestUnchangedHookIsNoReason checks that a hook as before, which would delete an object, is no reason for an apply.
func TestUnchangedHookIsNoReason(t *testing.T) {
	object, hook := hookedClaim(""), hookedClaim("helm.sh/hook: pre-upgrade")
	o := kubernetes.Options{ThreeWay: true, Live: source("live", []byte(object)), Namespace: "shop"}
	if r := compare(t, hook, hook, o); r.Applyable || !r.Destructive() {
		t.Errorf("applyable %t, hooks %+v", r.Applyable, r.Hooks)
	}
	if r := compare(t, "", hook, o); !r.Applyable {
		t.Errorf("a new hook is no reason: %+v", r.Hooks)
	}
}
