package kubernetes

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// stream is one side of a comparison: objects as JSON, one after the other.
type stream struct {
	text bytes.Buffer
	err  error
}

func (s *stream) add(object any) {
	data, err := json.Marshal(object)
	if err != nil && s.err == nil {
		s.err = err
	}
	s.text.WriteString("---\n")
	s.text.Write(data)
	s.text.WriteByte('\n')
}

func (s *stream) addLive(u *unstructured.Unstructured) {
	if u != nil {
		s.add(u.Object)
	}
}

// addShown adds one side of a desired object. It removes our labels from a new object,
// where they are obvious; on an existing object they show that it is taken over.
func (s *stream) addShown(a *dryRunResult, u *unstructured.Unstructured) {
	if u != nil && a.live == nil {
		u = u.DeepCopy()
		labels := u.GetLabels()
		delete(labels, labelInstall)
		delete(labels, labelComponent)
		if u.SetLabels(labels); len(labels) == 0 {
			unstructured.RemoveNestedField(u.Object, "metadata", "labels")
		}
	}
	s.addLive(u)
}

// sources returns the stream for the differ. It is never nil.
func (s *stream) sources(name string) []manifest.Source {
	return []manifest.Source{{Name: name, Data: s.text.Bytes()}}
}

// idOf returns the differ's id of an object.
func idOf(ref api.ObjectRef) manifest.ID {
	return manifest.ID{Group: ref.Group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

// inventoryObject returns an object of which only is known that we applied it. The fields that we applied
// last are in its managed fields, and the server's dry runs take them into account: a field
// that is no longer applied is removed, and a field of ours that others changed is a conflict.
// So no copy of the manifest has to be stored, which could only repeat the server's
// information, and may be outdated.
func inventoryObject(ref api.ObjectRef) map[string]any {
	version := ref.Version
	if ref.Group != "" {
		version = ref.Group + "/" + ref.Version
	}
	metadata := map[string]any{"name": ref.Name}
	if ref.Namespace != "" {
		metadata["namespace"] = ref.Namespace
	}
	return map[string]any{"apiVersion": version, "kind": ref.Kind, "metadata": metadata}
}

// report describes what an apply would do.
func (s *session) report(seen *dryRunSet) (*diff.Report, error) {
	var before, after, live, answers, again stream
	o := kubernetes.Options{
		ThreeWay: true, Plain: true, Manager: cluster.FieldManager,
		Findings: map[manifest.ID][]diff.Finding{}, Recreated: map[manifest.ID]string{},
		Secrets: s.secrets.Contains(), TagKey: s.env.Key.Derive("report tags").Reveal(),
	}
	for _, a := range seen.desired {
		after.addShown(a, a.Unstructured)
		live.addLive(a.live)
		answers.addShown(a, a.applied)
		again.addShown(a, a.appliedAgain)
		if s.isOwned(a.live) || seen.known[identity(a.ref)] {
			before.add(inventoryObject(a.ref))
		}
		id := idOf(a.ref)
		if found := findingsOf(a); len(found) > 0 {
			o.Findings[id] = found
		}
		if a.recreate != "" {
			o.Recreated[id] = a.recreate
		}
	}
	for _, l := range seen.removals {
		switch {
		case l.keepReason != "":
			o.Notes = append(o.Notes, fmt.Sprintf("%s stays as it is: %s.", cluster.DisplayName(l.ref), l.keepReason))
		default:
			before.add(inventoryObject(l.ref))
			live.addLive(l.live)
		}
	}
	for _, side := range []*stream{&before, &after, &live, &answers, &again} {
		if side.err != nil {
			return nil, fmt.Errorf("describe the plan: %w", side.err)
		}
	}
	o.Live, o.Answers, o.AnswersAgain = live.sources("the cluster"), answers.sources("the answers"),
		again.sources("the answers")
	made, err := kubernetes.Report(before.sources("what was applied"), after.sources("the manifest"), o)
	if err != nil {
		return nil, fmt.Errorf("describe the plan: %w", err)
	}
	return made, nil
}

// findingsOf returns the findings of the survey about an object.
func findingsOf(a *dryRunResult) (found []diff.Finding) {
	if a.unchecked != "" {
		found = append(found, kubernetes.Unchecked(a.unchecked))
	}
	if a.recreate != "" {
		found = append(found, kubernetes.Unchecked("it can be tried only when the old one is gone"))
	}
	if a.takenFrom != "" {
		found = append(found, kubernetes.TakenFrom(a.takenFrom))
	}
	for _, c := range a.conflicts {
		found = append(found, kubernetes.TakesOver(c.field, c.manager))
	}
	return found
}
