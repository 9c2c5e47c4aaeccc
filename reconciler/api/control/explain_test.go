package control_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestExplain checks the chain of each kind of record, the cause first, each with its reason.
func TestExplain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	m := w.one.mark
	pushed := []string{"revision: " + m + " was pushed. " + m + " was built"}
	built := append(slices.Clone(pushed), "component_input: "+m+" changed its module", "build: "+m+" has no build")
	wanted := append(slices.Clone(built), "app_version: "+m+" was made", "release: "+m+" was released",
		"desired: "+m+" build 1 is new")
	for kind, want := range map[string][]string{
		"revision": pushed,
		"app":      append(slices.Clone(pushed), "app_version: "+m+" was made"),
		"build":    built,
		"plan":     append(slices.Clone(wanted), "plan: "+m+" changes one thing"),
		"workflow": append(slices.Clone(wanted), "workflow: "+m+" is behind", "step: "+m+" was planned"),
		"install": append(slices.Clone(wanted), "install_component: a plan waits for approval: "+m+" build 1 is new",
			"install: "+m+"-web waits for approval: "+m+" build 1 is new"),
	} {
		got, err := w.one.as("viewer").ExplainWithResponse(t.Context(), api.ExplainParamsKind(kind), w.one.ids[kind])
		must(t, err)
		if got.JSON200 == nil {
			t.Errorf("%s: %s", kind, got.Body)
			continue
		}
		var chain []string
		for _, c := range got.JSON200.Chain {
			chain = append(chain, c.Record+": "+c.Reason)
			if c.ID == "" || c.Name == "" {
				t.Errorf("%s: %+v does not say what it is", kind, c)
			}
		}
		if kind == "install" { // its reason is rollout's own
			chain, want = chain[:len(chain)-1], want[:len(want)-1]
		}
		if diff := cmp.Diff(want, chain); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}

// TestExplainWhatWas checks that an old plan and an ended workflow are explained by what they were
// made from, regardless of later pushes.
func TestExplainWhatWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	m := w.one.mark
	rev, in := w.one.make("later", "rev"), w.one.make("later input", "inp")
	w.one.add("revisions", "id", rev, "watch_id", w.one.ids["watch"], "number", 2, "commit", m+"-commit2", "tree", "t",
		"reason", "pushed later")
	w.one.add("component_inputs", "id", in, "component_id", w.one.ids["component"], "digest", "sha256:in2", "recipe",
		`{}`, "revision_id", rev, "reason", "changed later")
	w.one.add("builds", "id", w.one.make("later build", "bld"), "component_id", w.one.ids["component"], "input_id", in,
		"number", 2, "status", "succeeded",
		"repository", "r", "commit", m+"-commit2", "artifact_digest", "sha256:later", "reason", "built later")
	w.exec("update components set input_id = $1 where id = $2", in, w.one.ids["component"])
	w.one.add("releases", "id", w.one.make("later release", "rel"), "app_id", w.one.ids["app"], "number", 2, "digest",
		"d2", "version_id", w.one.ids["version"],
		"status", "complete", "cause", "released later")
	w.one.add("release_components", "release_id", w.one.ids["later release"], "component_id",
		w.one.ids["component"], "input_id", in)
	w.exec("update install_components set desired_digest = 'sha256:later', desired_reason = 'wanted later'")
	for _, kind := range []string{"plan", "workflow"} {
		chain := w.one.chain(kind)
		if slices.ContainsFunc(chain, func(c string) bool { return strings.Contains(c, "later") }) ||
			!slices.Contains(chain, "build: "+m+" has no build") {
			t.Errorf("%s is explained by what came after it: %v", kind, chain)
		}
	}
	if chain := w.one.chain("install"); !slices.Contains(chain, "build: built later") ||
		!slices.Contains(chain, "release: released later") {
		t.Errorf("the install is not explained by what is wanted now: %v", chain)
	}
}

// TestExplainConfig checks that the chain names the commit that changed the config if the config,
// and no build, has changed.
func TestExplainConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	rev, ver := w.one.make("later", "rev"), w.one.make("later version", "ver")
	w.one.add("revisions", "id", rev, "watch_id", w.one.ids["watch"], "number", 2, "commit", "c2", "tree", "t",
		"reason", "the config was pushed")
	w.one.add("app_versions", "id", ver, "app_id", w.one.ids["app"], "number", 2, "digest", "d2", "config", `{}`,
		"revision_id", rev, "reason", "commit c2 changed web.toml")
	w.exec("update apps set version_id = $1 where id = $2", ver, w.one.ids["app"])
	w.one.add("releases", "id", w.one.make("later release", "rel"), "app_id", w.one.ids["app"], "number", 2, "digest",
		"d2", "version_id", ver,
		"status", "complete", "cause", "commit c2 changed web.toml")
	w.one.add("release_components", "release_id", w.one.ids["later release"], "component_id", w.one.ids["component"],
		"input_id", w.one.ids["input"])
	for _, want := range []string{
		"revision: the config was pushed", "app_version: commit c2 changed web.toml",
		"release: commit c2 changed web.toml",
	} {
		if chain := w.one.chain("install"); !slices.Contains(chain, want) {
			t.Errorf("%q is not in %v", want, chain)
		}
	}
	if chain := w.one.chain("plan"); slices.ContainsFunc(chain,
		func(c string) bool { return strings.HasPrefix(c, "app_version: commit c2") }) {
		t.Errorf("the plan is not of that version: %v", chain)
	}
}

// TestExplainLeavesOutWhatIsOff checks that a component that is torn down or switched off, and
// absent, is not part of its install's explanation.
func TestExplainLeavesOutWhatIsOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.exec("delete from approvals")
	w.exec("update workflows set status = 'superseded'")
	w.exec("update install_components set torn_down = true, torn_down_reason = 'it was torn down by vera', " +
		"applied_artifact = '', applied_digest = ''")
	if chain := w.one.chain("install"); slices.ContainsFunc(chain, func(c string) bool {
		return strings.Contains(c, "torn down") || strings.HasPrefix(c, "install_component")
	}) {
		t.Errorf("what is gone on purpose explains its install: %v", chain)
	}
	w.exec("update installs set desired_presence = 'absent'")
	if chain := w.one.chain("install"); !slices.ContainsFunc(chain,
		func(c string) bool { return strings.HasPrefix(c, "install_component") }) {
		t.Errorf("an install that is to be gone is not explained by what is gone of it: %v", chain)
	}
}

// chain returns the records and reasons that explain a seeded record.
func (o *tenant) chain(kind string) (chain []string) {
	o.w.Helper()
	got, err := o.as("viewer").ExplainWithResponse(o.w.Context(), api.ExplainParamsKind(kind), o.ids[kind])
	must(o.w, err)
	if got.JSON200 == nil {
		o.w.Fatalf("%s: %s", kind, got.Body)
	}
	for _, c := range got.JSON200.Chain {
		chain = append(chain, c.Record+": "+c.Reason)
	}
	return chain
}

// TestExplainFailedBuild checks that the chain includes the failure, and names a component without
// a build by the release that contains it.
func TestExplainFailedBuild(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.exec("update builds set status = 'failed', error = 'no such file'")
	got, err := w.one.as("viewer").ExplainWithResponse(t.Context(), api.ExplainParamsKindBuild, w.one.ids["build"])
	must(t, err)
	if chain := got.JSON200.Chain; chain[len(chain)-1].Reason != "no such file" {
		t.Errorf("%s", got.Body)
	}
	w.exec("delete from builds")
	got, err = w.one.as("viewer").ExplainWithResponse(t.Context(), api.ExplainParamsKindPlan, w.one.ids["plan"])
	must(t, err)
	if got.JSON200 == nil || len(got.JSON200.Chain) != 5 {
		t.Errorf("%s", got.Body)
	}
}

// TestExplainSaysWhatIsApprovedOnce checks that the approval rule and the approved scripts are part
// of an install's explanation.
func TestExplainSaysWhatIsApprovedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	for action, answer := range map[string]string{"migrate": "approve", "wipe": "reject"} {
		w.one.add("script_answers", "install_id", w.one.ids["install"], "digest", "sha256:"+action, "action", action,
			"answer", answer, "content", `{}`,
			"reason", "read it", "actor", "vera", "approval_id", "apr_1")
	}
	w.exec(`update installs set approval = 'approve-all', rule = '{"by": "dana", "approved_by": "vera", "at": "2026-11-01T10:00:00Z"}' where id = $1`, w.one.ids["install"])
	got, err := w.one.as("viewer").ExplainWithResponse(t.Context(), "install", w.one.ids["install"])
	must(t, err)
	said := map[string]string{}
	for _, c := range got.JSON200.Chain {
		said[c.Record+" "+c.Name] = c.Reason
	}
	for what, why := range map[string]string{
		"script migrate (sha256:migrate)": "approved by vera: read it",
		"script wipe (sha256:wipe)":       "rejected by vera: read it",
		"approval_rule approve-all":       "set by dana, approved by vera",
	} {
		if said[what] != why {
			t.Errorf("%s: %q, want %q; all: %v", what, said[what], why, said)
		}
	}
}
