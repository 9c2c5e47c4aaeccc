package helm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// askers is how many objects are asked about at a time.
const askers = 8

// AskRequest asks what the API server would make of a rendering.
type AskRequest struct {
	// Release is the name.
	Release string
	// Rendered is what would be applied.
	Rendered *Rendered
	// Decision is that of Decide for this very change: install or upgrade.
	Decision Decision
	// TakeOwnership adopts objects that are there and belong to nobody or somebody else.
	TakeOwnership bool
}

// Change is what a request does to an object.
type Change string

// The changes of an Answer.
const (
	ChangeCreate Change = "create"
	ChangeUpdate Change = "update"
	ChangeDelete Change = "delete"
	// ChangeNone leaves the object as it is.
	ChangeNone Change = "none"
	// ChangeKeep leaves an object that the release no longer has, because its annotation helm.sh/resource-policy says so.
	ChangeKeep Change = "keep"
)

// Answer is what the API server says to one request, which it checked but did not carry out.
type Answer struct {
	Ref api.ObjectRef
	// Hook says that the object is a hook; only those that will run are asked about.
	Hook bool
	// Rendered is the object as it will be sent, nil for a deletion. All three are JSON.
	Rendered []byte
	// Live is the object as it is, nil when it is not there.
	Live []byte
	// Wanted is the object as the server says it would be; nil when it was not asked, refused, or will delete it. Of a hook it is what would be
	// created anew, with the defaults of the server; nil also when one of its name is there and will be deleted first.
	Wanted []byte
	// Change is what will happen; also when the server was not asked.
	Change Change
	// Adopted says that the object is there, is not of this release, and becomes so.
	Adopted bool
	// Unchecked says why the server could not be asked, as the end of a sentence: "its namespace … is created by this change".
	Unchecked string
	// Err is the refusal, in words.
	Err error
}

// Ask sends the very requests that Apply will send, each marked as a dry run, and gives the answers: first the objects in Helm's order, then what
// will be deleted, then the hooks that will run. The error is for what kept it from asking at all; refusals are in the answers.
func (c *Client) Ask(ctx context.Context, request AskRequest) ([]Answer, error) {
	a, err := c.asking(ctx, request.Release, request.Decision)
	if err != nil {
		return nil, err
	}
	a.take, a.rendered = request.TakeOwnership, request.Rendered
	a.expect(request.Rendered)
	var work []func() []Answer
	for _, document := range documents(request.Rendered.Manifest) {
		for _, object := range flatten(document) {
			work = append(work, func() []Answer { return []Answer{a.object(object)} })
		}
	}
	answers := a.all(work)
	work = nil
	for _, gone := range a.leaving(answers) {
		work = append(work, func() []Answer { return a.leave(gone) })
	}
	return append(append(answers, a.all(work)...), a.hooks(request.Rendered.Hooks)...), context.Cause(ctx)
}

// asking is one round of questions. All of its requests are dry runs, by their transport.
type asking struct {
	*delivery
	decision Decision
	take     bool
	rendered *Rendered
	// namespaces are created by this change; templated are the kinds that its templates, not its folders crds/, define.
	namespaces, templated map[string]bool
}

func (c *Client) asking(ctx context.Context, name string, decision Decision) (*asking, error) {
	d, err := c.deliver(ctx, c.cluster.Wrapped(bind(ctx)).Wrapped(dryRun), name)
	if err != nil {
		return nil, err
	}
	history, err := c.History(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := d.stand(decision, history); err != nil {
		return nil, err
	}
	d.Log = func(string, ...any) {} // what the SDK tells of dry runs reads as if it did something
	a := &asking{delivery: d, decision: decision, namespaces: map[string]bool{c.namespace: true}, templated: map[string]bool{}}
	return a, nil
}

// expect notes what this change creates for its own objects.
func (a *asking) expect(rendered *Rendered) {
	for _, document := range documents(rendered.Manifest) {
		for _, o := range flatten(document) {
			switch o.GetKind() {
			case "Namespace":
				a.namespaces[o.GetName()] = true
			case "CustomResourceDefinition":
				group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
				kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
				a.templated[group+"/"+kind] = true
			}
		}
	}
}

// all does work by several workers and gives what comes of it in order.
func (a *asking) all(work []func() []Answer) []Answer {
	answers := make([][]Answer, len(work))
	var group errgroup.Group
	group.SetLimit(askers)
	for i, one := range work {
		group.Go(func() error {
			answers[i] = one()
			return nil
		})
	}
	_ = group.Wait() // nothing gives one
	return slices.Concat(answers...)
}

// object asks about one object of the release.
func (a *asking) object(o *unstructured.Unstructured) Answer {
	info, answer := a.info(o)
	if info == nil {
		return answer
	}
	if answer.Err = a.sign(info); answer.Err != nil {
		return answer
	}
	answer.Rendered = encode(info.Object)
	live, err := get(info)
	if err != nil {
		return a.refused(answer, err)
	}
	if live == nil {
		answer.Change = ChangeCreate
		_, err = a.Client.Create(kube.ResourceList{info})
		return a.answered(answer, info, err)
	}
	answer.Live, answer.Change = encode(live), ChangeUpdate
	from := a.standing.Get(info)
	// The SDK takes each object of an installation for a stranger, and those of an upgrade that the revision before does not have.
	// What another release took over since is a stranger, too.
	if a.decision.Action == ActionInstall || !a.based.Contains(info) || a.taken(live) {
		if answer.Adopted = !a.owns(live); answer.Adopted && !a.take {
			answer.Err = a.stranger(info, live)
			return answer
		}
	}
	if from == nil {
		same := *info
		same.Object = info.Object.DeepCopyObject()
		from = &same
	}
	threeWay := a.dirty || a.decision.Action == ActionInstall && a.take
	if threeWay {
		_, err = a.Client.UpdateThreeWayMerge(kube.ResourceList{from}, kube.ResourceList{info}, false)
	} else {
		_, err = a.Client.Update(kube.ResourceList{from}, kube.ResourceList{info}, false)
	}
	answer = a.answered(answer, info, err)
	if wanted, ok := info.Object.(*unstructured.Unstructured); ok && answer.Err == nil && unchanged(live, wanted) {
		answer.Change = ChangeNone
	}
	return answer
}

// info finds the way to an object, or answers why there is none.
func (a *asking) info(o *unstructured.Unstructured) (*resource.Info, Answer) {
	kind := o.GroupVersionKind()
	answer := Answer{Ref: cluster.Ref(o), Rendered: encode(o), Change: ChangeCreate}
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case meta.IsNoMatchError(err):
		switch {
		case slices.ContainsFunc(a.rendered.CRDs, func(c CRD) bool { return c.defines(kind.Group, kind.Kind) }):
			answer.Unchecked = "its definition (CRD) is created by this change"
		case a.templated[kind.Group+"/"+kind.Kind]:
			answer.Err = fmt.Errorf("%s: its definition (CRD) is among the templates of the same chart, and Helm can create the two only one after the other; "+
				"move the definition into the folder crds/ of the chart", cluster.Name(answer.Ref))
		default:
			answer.Err = fmt.Errorf("%s: %w", cluster.Name(answer.Ref), cluster.Explain(err))
		}
		return nil, answer
	case err != nil:
		return nil, a.refused(answer, err)
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		o.SetNamespace("")
	} else if o.GetNamespace() == "" {
		o.SetNamespace(a.namespace)
	}
	answer.Ref, answer.Rendered = cluster.Ref(o), encode(o)
	made, err := a.Client.Build(bytes.NewReader(answer.Rendered), false)
	if err != nil || len(made) != 1 {
		return nil, a.refused(answer, err)
	}
	return made[0], answer
}

// answered fills in what the server said to a creation or a change.
func (a *asking) answered(answer Answer, info *resource.Info, err error) Answer {
	if err != nil {
		return a.refused(answer, err)
	}
	answer.Wanted = encode(info.Object)
	return answer
}

// refused fills in a refusal, or why it is none: what this change creates first is not there yet.
func (a *asking) refused(answer Answer, err error) Answer {
	var status apierrors.APIStatus
	if errors.As(err, &status) && apierrors.IsNotFound(err) {
		details := status.Status().Details
		if details != nil && details.Kind == "namespaces" && a.namespaces[details.Name] {
			answer.Unchecked = "its namespace " + details.Name + " is created by this change"
			return answer
		}
	}
	answer.Err = fmt.Errorf("%s: %w", cluster.Name(answer.Ref), explain(a.ctx, single(err)))
	return answer
}

// single gives the one error of a list of one, which the SDK makes of every error.
func single(err error) error {
	var list interface{ WrappedErrors() []error }
	if errors.As(err, &list) && len(list.WrappedErrors()) == 1 {
		return list.WrappedErrors()[0]
	}
	return err
}

// stranger says that an object is there that is not of this release.
func (a *asking) stranger(info *resource.Info, live *unstructured.Unstructured) error {
	whose := "was not made by Helm"
	if name := live.GetAnnotations()[releaseName]; name != "" {
		whose = fmt.Sprintf("belongs to the release %s in the namespace %s", boundedText(name, 80), boundedText(live.GetAnnotations()[releaseNamespace], 80))
	}
	return fmt.Errorf("%s is there already and %s; set take_ownership = true to take it over, or let the chart name its object otherwise", cluster.Name(ref(info)), whose)
}

// leaving are the objects that stand and that the release will not have any more.
func (a *asking) leaving(answers []Answer) kube.ResourceList {
	wanted := map[string]bool{}
	for _, answer := range answers {
		wanted[answer.Ref.Group+"/"+answer.Ref.Kind+"/"+answer.Ref.Namespace+"/"+answer.Ref.Name] = true
	}
	return a.standing.Filter(func(o *resource.Info) bool { return !wanted[key(o)] })
}

// leave asks about the deletion of one object; it gives nothing when the object is gone, or is not what this release would delete.
func (a *asking) leave(o *resource.Info) []Answer {
	answer := Answer{Ref: ref(o), Change: ChangeDelete}
	live, err := get(o)
	if err != nil {
		return []Answer{a.refused(answer, err)}
	}
	if !a.mayDelete(o, live) {
		return nil
	}
	answer.Live = encode(live)
	if keeps(live) {
		answer.Change = ChangeKeep
		return []Answer{answer}
	}
	if _, errs := a.Client.DeleteWithPropagationPolicy(kube.ResourceList{o}, metav1.DeletePropagationBackground); len(errs) > 0 {
		return []Answer{a.refused(answer, errs[0])}
	}
	return []Answer{answer}
}

// hooks asks about the hooks that will run.
func (a *asking) hooks(hooks []Hook) []Answer {
	var work []func() []Answer
	for _, h := range hooks {
		if !h.runsAt(hookEvents(a.decision.Action)...) {
			continue
		}
		for _, o := range flatten(h.Manifest) {
			work = append(work, func() []Answer { return []Answer{a.hook(h, o)} })
		}
	}
	return a.all(work)
}

// hook asks whether a hook can be created. Where one of its name is there and will be deleted first, a copy of another name is asked about.
func (a *asking) hook(h Hook, o *unstructured.Unstructured) Answer {
	info, answer := a.info(o)
	answer.Hook = true
	if info == nil {
		return answer
	}
	live, err := get(info)
	if err != nil {
		return a.refused(answer, err)
	}
	if live == nil {
		_, err = a.Client.Create(kube.ResourceList{info})
		return a.answered(answer, info, err)
	}
	answer.Live = encode(live)
	if !h.deletedAt(release.HookBeforeHookCreation) || h.Kind == "CustomResourceDefinition" {
		answer.Err = fmt.Errorf("the hook %s is there already, left by an earlier run: the chart does not let Helm delete it before it is created; "+
			"add before-hook-creation to its helm.sh/hook-delete-policy, or delete it", cluster.Name(answer.Ref))
		return answer
	}
	other := o.DeepCopy()
	other.SetName(boundedName(o.GetName()))
	copied := &resource.Info{Client: info.Client, Mapping: info.Mapping, Namespace: info.Namespace, Name: other.GetName(), Object: other}
	if _, err = a.Client.Create(kube.ResourceList{copied}); err != nil {
		return a.refused(answer, err)
	}
	return answer
}

// boundedName makes a name that nothing has, of the length that all kinds allow.
func boundedName(name string) string {
	return strings.TrimRight(name[:min(len(name), 50)], "-.") + "-nuon-check"
}

// flatten reads one document, a list as its items, as Helm does: every object with items is one, and items of a typed list have its kind.
// Documents and items that are no objects were refused when they were rendered.
func flatten(document string) []*unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	if yaml.Unmarshal([]byte(document), &object.Object) != nil || len(object.Object) == 0 {
		return nil
	}
	list, isList := object.Object["items"]
	if !isList {
		return []*unstructured.Unstructured{object}
	}
	items, _ := list.([]any)
	var made []*unstructured.Unstructured
	for _, item := range items {
		content, ok := item.(map[string]any)
		if !ok {
			continue
		}
		o := &unstructured.Unstructured{Object: content}
		if o.GetKind() == "" && o.GetAPIVersion() == "" {
			o.SetKind(strings.TrimSuffix(object.GetKind(), "List"))
			o.SetAPIVersion(object.GetAPIVersion())
		}
		made = append(made, o)
	}
	return made
}

// encode gives the JSON of an object.
func encode(o runtime.Object) []byte {
	object, ok := o.(*unstructured.Unstructured)
	if !ok || object == nil {
		return nil
	}
	made, err := object.MarshalJSON()
	if err != nil {
		return nil
	}
	return made
}

// unchanged compares an object with what a dry run made of it, but for what every write touches.
func unchanged(live, wanted *unstructured.Unstructured) bool {
	bare := func(o *unstructured.Unstructured) *unstructured.Unstructured {
		o = o.DeepCopy()
		for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		return o
	}
	return string(encode(bare(live))) == string(encode(bare(wanted)))
}
