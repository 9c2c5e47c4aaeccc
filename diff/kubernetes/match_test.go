package kubernetes_test

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
)

// roleBinding returns a RoleBinding with the given metadata and role.
func roleBinding(metadata, role string) string {
	return "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: web" + metadata +
		"}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: " + role + "}\nsubjects: []\n"
}

// hookOf returns the metadata of a hook in the namespace of the release.
func hookOf(events string) string {
	return `, namespace: shop, annotations: {helm.sh/hook: "` + events + `"}`
}

// TestHookAndObjectOfOneName checks that a hook hides no object with the same name, and no hook of other
// events, in any order, with and without a server.
func TestHookAndObjectOfOneName(t *testing.T) {
	const view, admin = "view", "cluster-admin"
	object, test := roleBinding("", admin), roleBinding(hookOf("test"), view)
	upgrade := roleBinding(hookOf("pre-upgrade"), "edit")
	for _, after := range []string{object + test + upgrade, upgrade + test + object, test + upgrade + test + object} {
		for name, o := range map[string]kubernetes.Options{
			"offline": {}, "against a cluster": {ThreeWay: true, Live: source("live", []byte(roleBinding("", view)))},
			"with answers": {ThreeWay: true, Live: source("live", []byte(roleBinding("", view))),
				Answers: source("answers", []byte(roleBinding(", namespace: shop", admin)))},
		} {
			o.Namespace = "shop"
			for _, before := range []string{roleBinding("", view), roleBinding("", view) + test + upgrade} {
				r := compare(t, before, after, o)
				if len(r.Changes) != 1 || !strings.Contains(fieldTexts(r.Changes[0]), "roleRef.name="+admin) {
					t.Errorf("%s: the object is shown as %+v", name, r.Changes)
				}
				action, tests := diff.Create, 1
				if o.ThreeWay {
					action = diff.Replace // Helm deletes the object, each time
				}
				if strings.Contains(before, "hook") {
					if tests = 0; !o.ThreeWay {
						if len(r.Hooks)+len(r.Tests) > 0 {
							t.Errorf("%s: unchanged hooks are shown: %+v %+v", name, r.Hooks, r.Tests)
						}
						continue
					}
				}
				if len(r.Hooks) != 1 || r.Hooks[0].Hook != "pre-upgrade" || r.Hooks[0].Action != action ||
					len(r.Tests) != tests || tests > 0 && r.Tests[0].Action != diff.Create {
					t.Errorf("%s: the hooks are shown as %+v %+v", name, r.Hooks, r.Tests)
				}
			}
		}
	}
}

// TestHookWithARunningTwin checks that an object of the release is compared with what runs although the
// hook that created it left its annotation there.
func TestHookWithARunningTwin(t *testing.T) {
	r := asked(t, "", roleBinding(", namespace: shop", "cluster-admin"), roleBinding(hookOf("test"), "view"),
		roleBinding(hookOf("test"), "cluster-admin"), kubernetes.Options{Namespace: "shop"})
	if len(r.Changes) != 1 || fieldTexts(r.Changes[0]) != "roleRef.name=cluster-admin" || len(r.Tests) > 0 {
		t.Errorf("got %+v %+v", r.Changes, r.Tests)
	}
}

// TestTwoObjectsOfOneName checks that two objects that the cluster takes for one are an error with both
// places, also if only one of them names the namespace of the release. If both are applied already, a
// note names them.
func TestTwoObjectsOfOneName(t *testing.T) {
	one, two := roleBinding("", "view"), roleBinding(", namespace: shop", "cluster-admin")
	hook := roleBinding(hookOf("test"), "view")
	refused := func(before, after string, o kubernetes.Options) {
		t.Helper()
		o.Namespace = "shop"
		_, err := kubernetes.Report(source("before", []byte(before)), source("after", []byte(after)), o)
		if err == nil || !strings.Contains(err.Error(), "RoleBinding.rbac.authorization.k8s.io/web is already at ") ||
			!strings.Contains(err.Error(), "remove one of the two") {
			t.Errorf("got %v", err)
		}
	}
	refused("", one+two, kubernetes.Options{})
	refused("", one+two, kubernetes.Options{ThreeWay: true})
	refused("", one+hook, kubernetes.Options{Plain: true})
	refused("", hook+roleBinding(hookOf("test"), "edit"), kubernetes.Options{})
	refused(one+two, "", kubernetes.Options{})
	r := compare(t, one+two, two, kubernetes.Options{Namespace: "shop", ThreeWay: true,
		Live: source("live", []byte(two))})
	if len(r.Changes) > 0 || len(r.Notes) != 1 ||
		!strings.Contains(r.Notes[0], "applied twice, from before.yaml:2 and before.yaml:8") {
		t.Errorf("got %+v, %q", r.Changes, r.Notes)
	}
}
