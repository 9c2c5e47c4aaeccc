package helm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk"
)

// reportInput is the input of a report. The plan and the apply use the same one.
type reportInput struct {
	decision helmsdk.Decision
	// rendered is what would be applied, nil for a destroy; again are the objects of
	// a second rendering.
	rendered *helmsdk.Rendered
	again    []byte
	crds     []crdState
	strays   []string
}

// report dry-runs the change of each object on the server and describes it, with known
// secrets masked. A refusal is an error that names each refused object. Nothing is changed.
func (s *session) report(ctx context.Context, q reportInput) (*diff.Report, error) {
	answers, again, err := s.dryRunTwice(ctx, q)
	if err != nil {
		return nil, err
	}
	if err := rejectionOf(answers); err != nil {
		return nil, err
	}
	if s.reviewed, err = reviewedObjects(answers, q); err != nil {
		return nil, err
	}
	leftovers := s.hookLeftovers(answers)
	var after []manifest.Source
	notes := []string{}
	if q.rendered != nil {
		// The apply creates missing definitions. Existing ones are not part of the release: Helm does not change them.
		missing := CRDSources(q.rendered.CRDs, func(c helmsdk.CRD) bool {
			return slices.Contains(q.crds, crdState{Path: c.Path, Name: c.Name, State: helmsdk.CRDMissing})
		})
		after = append(sourcesOf("the chart", q.rendered.Manifest, q.rendered.Hooks), missing...)
		notes = append(notes, crdNotes(q.crds)...)
		notes = append(notes, q.strays...)
	} else {
		after = s.replacingHooks(q.decision, answers, leftovers)
		notes = append(notes, remainingClaims(answers)...)
	}
	notes = append(notes, uncheckedNotes(answers)...)
	made, err := kubernetes.Report(s.appliedSources(q.decision, answers), after, kubernetes.Options{
		ThreeWay: true, Live: liveSources(answers), Again: oneSource("the chart, rendered again", q.again),
		Answers: desiredSources(answers), AnswersAgain: desiredSources(again), Manager: cluster.FieldManager,
		HookEvents: helmsdk.HookEvents(q.decision.Action), Leftovers: leftovers, Recreated: replacedItems(answers),
		Findings: findings(answers, s.Release, s.Namespace), Notes: append(notes, decisionNotes(q.decision)...),
		Namespace: s.Namespace, Secrets: s.secrets.Contains(), TagKey: s.env.Key.Derive("report tags").Reveal(),
	})
	if err != nil {
		return nil, fmt.Errorf("describe the plan: %w", err)
	}
	made.Applyable = hasWork(q.decision) || slices.ContainsFunc(slices.Concat(made.Changes, made.Hooks, made.Kept),
		causesApply)
	return made, nil
}

// reviewedObjects returns what policies read: each object as the server would store it, or as it is sent where the
// server was not asked. Among them are the objects of crds/, which can be of any kind, and the hooks that run only
// when the release is deleted, because a denial would be too late then.
func reviewedObjects(answers []helmsdk.DryRunResult, q reportInput) (objects []map[string]any, err error) {
	for _, a := range answers {
		text := a.Desired
		if text == nil {
			text = a.Rendered
		}
		if text == nil {
			continue // deleted
		}
		var object map[string]any
		if err := json.Unmarshal(text, &object); err != nil {
			return nil, fmt.Errorf("read an object of the chart: %w", err)
		}
		objects = append(objects, object)
	}
	for _, text := range unasked(q) {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			return nil, fmt.Errorf("read an object of the chart: %w", err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// unasked returns the objects of a chart for which there is no dry run.
func unasked(q reportInput) (made []string) {
	if q.rendered == nil {
		return nil
	}
	for _, crd := range q.rendered.CRDs {
		if crd.State == helmsdk.CRDMissing {
			made = append(made, crd.Manifest)
		}
	}
	for _, hook := range q.rendered.Hooks {
		if hook.RunsAt(helmsdk.ActionUninstall) && !hook.RunsAt(q.decision.Action) {
			made = append(made, hook.Manifest)
		}
	}
	return made
}

// appliedSources returns what was applied last: the revision that is deployed or was the last
// to be, and objects that later failed revisions have left in addition.
func (s *session) appliedSources(d helmsdk.Decision, answers []helmsdk.DryRunResult) []manifest.Source {
	var made []manifest.Source
	seen := map[manifest.ID]bool{}
	if base := d.Before(s.history); base != nil {
		made = sourcesOf("the release", base.Manifest, base.Hooks)
		for document := range documents(base.Manifest) {
			seen[s.idOf(document)] = true
		}
	}
	there := map[manifest.ID]bool{}
	for _, each := range answers {
		id := idOf(each)
		id.Namespace = cmp.Or(id.Namespace, s.Namespace)        // a document does not state whether its kind is namespaced
		there[id] = there[id] || each.Live != nil && !each.Hook // a hook may have the name of an object
	}
	for _, release := range slices.Backward(s.history) {
		if !slices.Contains(d.Later, release.Revision) {
			continue
		}
		for document := range documents(release.Manifest) {
			if id := s.idOf(document); there[id] && !seen[id] {
				seen[id] = true
				made = append(made, manifest.Source{Name: fmt.Sprintf("revision %d of the release", release.Revision),
					Data: []byte(document)})
			}
		}
	}
	return made
}

// idOf returns the object of a document, with the release's namespace as default.
func (s *session) idOf(document string) manifest.ID {
	var object struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(document), &object); err != nil {
		return manifest.ID{}
	}
	group, _, grouped := strings.Cut(object.APIVersion, "/")
	if !grouped {
		group = ""
	}
	return manifest.ID{Group: group, Kind: object.Kind, Namespace: cmp.Or(object.Metadata.Namespace, s.Namespace),
		Name: object.Metadata.Name}
}

// causesApply reports whether the change is a reason for an apply. Folded changes (the chart's
// version in a label, a checksum) and values that each rendering regenerates are not, nor is a hook
// as it was before: it replaces an object only when an apply runs it for another reason.
func causesApply(c diff.Change) bool {
	itself := c.Action != diff.Update && (c.Hook == "" || c.Action != diff.Replace || c.Renamed)
	return itself || slices.ContainsFunc(c.Fields, func(f diff.FieldChange) bool {
		return f.Fold == "" && !f.Regenerated
	})
}

// hasWork reports whether there is something to do even if no object changes. A
// release that does not exist yet, or that somebody else made, has no record of this
// component; one whose last attempt failed may lack the effects of its hooks; the
// record of an uninstalled one must be removed.
func hasWork(d helmsdk.Decision) bool {
	switch d.Action {
	case helmsdk.ActionInstall, helmsdk.ActionUninstall:
		return true
	case helmsdk.ActionUpgrade:
		return len(d.Heal)+len(d.Later) > 0 || d.Foreign
	}
	return false
}

// decisionNotes returns notes about the decision for the approver.
func decisionNotes(d helmsdk.Decision) []string {
	if len(d.Heal)+len(d.Later) == 0 && !d.Foreign {
		return nil
	}
	return []string{"The release is not as a deployment that succeeded left it: " + diff.EscapeText(d.Reason) + "."}
}

// dryRunTwice dry-runs the change twice, the second time to find what the server regenerates.
func (s *session) dryRunTwice(ctx context.Context, q reportInput) (first, second []helmsdk.DryRunResult, err error) {
	if q.rendered == nil {
		first, err = s.client.DryRunUninstall(ctx, helmsdk.UninstallRequest{Release: s.Release, Decision: q.decision,
			Owner: s.owner(), Timeout: deploy.WaitTime(ctx)})
		return first, nil, err
	}
	request := helmsdk.DryRunRequest{Release: s.Release, Rendered: q.rendered, Decision: q.decision,
		TakeOwnership: s.deploy.Helm.TakeOwnership}
	if first, err = s.client.DryRun(ctx, request); err != nil || !slices.ContainsFunc(first,
		func(a helmsdk.DryRunResult) bool {
			return a.Desired != nil
		}) {
		return first, nil, err
	}
	second, err = s.client.DryRun(ctx, request)
	return first, second, err
}

func oneSource(name string, text []byte) []manifest.Source {
	if len(text) == 0 {
		return nil
	}
	return []manifest.Source{{Name: name, Data: text}}
}

// sourcesOf returns the objects and the hooks of a release or a rendering.
func sourcesOf(name, objects string, hooks []helmsdk.Hook) []manifest.Source {
	return []manifest.Source{{Name: name, Data: []byte(objects)}, {Name: "the hooks of " + name, Data: hooksText(hooks)}}
}

// hooksText returns hooks as one YAML stream.
func hooksText(hooks []helmsdk.Hook) []byte {
	var text bytes.Buffer
	for _, hook := range hooks {
		fmt.Fprintf(&text, "---\n%s\n", hook.Manifest)
	}
	return text.Bytes()
}

// streamOf returns JSON objects as one source. It is never nil: a source without
// objects is different from no source.
func streamOf(name string, objects iter.Seq[[]byte]) []manifest.Source {
	var text bytes.Buffer
	for object := range objects {
		if len(object) > 0 {
			fmt.Fprintf(&text, "---\n%s\n", object)
		}
	}
	return []manifest.Source{{Name: name, Data: text.Bytes()}}
}

// liveSources returns the objects as they are in the cluster, each once: a hook may have the name of an
// object.
func liveSources(answers []helmsdk.DryRunResult) []manifest.Source {
	return streamOf("the cluster", func(yield func([]byte) bool) {
		seen := map[manifest.ID]bool{}
		for _, each := range answers {
			id := idOf(each)
			if each.Live == nil || seen[id] {
				continue
			}
			seen[id] = true
			if !yield(each.Live) {
				return
			}
		}
	})
}

// desiredSources returns the objects as the server would store them. Hooks are compared as
// rendered: their objects are deleted when they are done.
func desiredSources(answers []helmsdk.DryRunResult) []manifest.Source {
	return streamOf("the server's answers", func(yield func([]byte) bool) {
		for _, each := range answers {
			if !each.Hook && !yield(each.Desired) {
				return
			}
		}
	})
}

// findings returns the findings of the dry run by object, except those that are noted
// once for many objects.
func findings(answers []helmsdk.DryRunResult, release, namespace string) map[manifest.ID][]diff.Finding {
	made, together := map[manifest.ID][]diff.Finding{}, commonUnchecked(answers)
	for _, each := range answers {
		id := idOf(each)
		if each.Unchecked != "" && together[each.Unchecked] == 0 {
			made[id] = append(made[id], kubernetes.Unchecked(each.Unchecked))
		}
		if owner := ownerOf(each.Live); each.Adopted && owner != "" && owner != namespace+"/"+release {
			made[id] = append(made[id], kubernetes.TakenFrom("the release "+diff.EscapeText(owner)))
		}
	}
	return made
}

// idOf returns the object of an answer for the differ.
func idOf(answer helmsdk.DryRunResult) manifest.ID {
	return manifest.ID{Group: answer.Ref.Group, Kind: answer.Ref.Kind, Namespace: answer.Ref.Namespace,
		Name: answer.Ref.Name}
}

// ownerOf returns "namespace/name" of the release in an object's Helm annotations, or "".
func ownerOf(object []byte) string {
	var read struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(object, &read); err != nil || read.Metadata.Annotations["meta.helm.sh/release-name"] == "" {
		return ""
	}
	return read.Metadata.Annotations["meta.helm.sh/release-namespace"] + "/" +
		read.Metadata.Annotations["meta.helm.sh/release-name"]
}

// CRDSources returns the selected definitions of a chart for a comparison.
func CRDSources(crds []helmsdk.CRD, include func(helmsdk.CRD) bool) []manifest.Source {
	var sources []manifest.Source
	for _, crd := range crds {
		if include(crd) {
			sources = append(sources, manifest.Source{Name: crd.Path, Data: []byte(crd.Manifest)})
		}
	}
	return sources
}

func crdNotes(crds []crdState) []string {
	var made []string
	for _, each := range crds {
		switch each.State {
		case helmsdk.CRDDiffers:
			made = append(made,
				fmt.Sprintf("The definition %s of the chart differs from the cluster's, which stays: Helm never changes "+
					"definitions. Apply it by hand, or as a kubernetes_manifest, if the new one is needed.",
					diff.EscapeText(each.Name)))
		case helmsdk.CRDMissing:
			made = append(made,
				fmt.Sprintf("The definition %s is created before everything else, and stays when the component goes.",
					diff.EscapeText(each.Name)))
		case helmsdk.CRDSame, helmsdk.CRDUnknown:
		}
	}
	return made
}

// remainingClaims returns notes about what remains after an uninstall although the release
// does not keep it: the claims of StatefulSets, with their data.
func remainingClaims(answers []helmsdk.DryRunResult) []string {
	sets := map[string]string{}
	for _, each := range answers {
		if each.Ref.Group != "apps" || each.Ref.Kind != "StatefulSet" || each.Live == nil ||
			each.Change != helmsdk.ChangeDelete {
			continue
		}
		var read struct {
			Spec struct {
				Retention struct {
					WhenDeleted string `json:"whenDeleted"`
				} `json:"persistentVolumeClaimRetentionPolicy"`
				Claims []struct {
					Metadata struct {
						Name string `json:"name"`
					} `json:"metadata"`
				} `json:"volumeClaimTemplates"`
			} `json:"spec"`
		}
		if err := json.Unmarshal(each.Live, &read); err != nil || read.Spec.Retention.WhenDeleted == "Delete" {
			continue
		}
		var claims []string
		for _, claim := range read.Spec.Claims {
			claims = append(claims, claim.Metadata.Name+"-"+each.Ref.Name+"-…")
		}
		if len(claims) > 0 {
			sets[each.Ref.Namespace+"/"+each.Ref.Name] = strings.Join(claims, ", ")
		}
	}
	var made []string
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		made = append(made,
			fmt.Sprintf("The volume claims %s of the StatefulSet %s stay, with their data: delete them by hand when nobody "+
				"needs them.", diff.EscapeText(sets[name]), diff.EscapeText(name)))
	}
	return made
}

// crdStates returns the states of a rendering's definitions, in a fixed order.
func crdStates(rendered *helmsdk.Rendered) []crdState {
	var made []crdState
	for _, each := range rendered.CRDs {
		made = append(made, crdState{Path: each.Path, Name: each.Name, State: each.State})
	}
	slices.SortFunc(made, func(a, b crdState) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name))
	})
	return made
}

// documents returns the YAML documents of a text.
func documents(text string) iter.Seq[string] { return strings.SplitSeq("\n"+text, "\n---\n") }
