package helmsdk

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

// askers is the number of concurrent dry runs.
const askers = 8

// DryRunRequest describes a dry run of a rendering.
type DryRunRequest struct {
	// Release is the name.
	Release string
	// Rendered is what would be applied.
	Rendered *Rendered
	// Decision is the result of Decide for this change: install or upgrade.
	Decision Decision
	// TakeOwnership adopts existing objects without an owner or with another one.
	TakeOwnership bool
}

// Change is the effect of a request on an object.
type Change string

// The changes of an DryRunResult.
const (
	ChangeCreate Change = "create"
	ChangeUpdate Change = "update"
	ChangeDelete Change = "delete"
	// ChangeNone leaves the object as it is.
	ChangeNone Change = "none"
	// ChangeKeep keeps an object that the release no longer has, because of its annotation
	// helm.sh/resource-policy.
	ChangeKeep Change = "keep"
)

// DryRunResult is the API server's response to the dry run of one request.
type DryRunResult struct {
	Ref api.ObjectRef
	// Hook reports that the object is a hook; only hooks that will run are included.
	Hook bool
	// Rendered is the object as it will be sent, nil for a deletion. All three objects are JSON.
	Rendered []byte
	// Live is the object as it is, nil if it does not exist.
	Live []byte
	// Desired is the object as the server would store it; nil if the server was not
	// asked, refused, or will delete it. For a hook it is the new object with the
	// server's defaults; nil if an object of that name exists and will be deleted first.
	Desired []byte
	// Change is what will happen; it is set even if the server was not asked.
	Change Change
	// Adopted reports that the object exists, does not belong to this release, and
	// will be taken over.
	Adopted bool
	// Unchecked is why the server could not be asked, as the end of a sentence: "its
	// namespace … is created by this change".
	Unchecked string
	// Err is the refusal.
	Err error
}

// DryRun sends the same requests as Apply, each marked as a dry run, and returns the answers:
// first the objects in Helm's order, then the deletions, then the hooks that will run. It
// returns an error only if it could not ask at all; refusals are in the answers.
func (c *Client) DryRun(ctx context.Context, request DryRunRequest) ([]DryRunResult, error) {
	a, err := c.asking(ctx, request.Release, request.Decision)
	if err != nil {
		return nil, err
	}
	a.take, a.rendered = request.TakeOwnership, request.Rendered
	a.expect(request.Rendered)
	var work []func() []DryRunResult
	for _, document := range documents(request.Rendered.Manifest) {
		for _, object := range flatten(document) {
			work = append(work, func() []DryRunResult { return []DryRunResult{a.object(object)} })
		}
	}
	answers := a.all(work)
	work = nil
	for _, gone := range a.leaving(answers) {
		work = append(work, func() []DryRunResult { return a.leave(gone) })
	}
	return append(append(answers, a.all(work)...), a.hooks(request.Rendered.Hooks)...), context.Cause(ctx)
}

// asking is one round of dry runs. Its transport marks all requests as dry runs.
type asking struct {
	*delivery
	decision Decision
	take     bool
	rendered *Rendered
	// namespaces are created by this change; templated are the kinds that its
	// templates, not its crds/ directories, define.
	namespaces, templated map[string]bool
}

func (c *Client) asking(ctx context.Context, name string, decision Decision) (*asking, error) {
	d, err := c.deliver(ctx, c.cluster.WithTransport(bind(ctx)).WithTransport(dryRun), name)
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
	d.Log = func(string, ...any) {} // the SDK's log messages would read as if it changed something
	a := &asking{delivery: d, decision: decision, namespaces: map[string]bool{c.namespace: true},
		templated: map[string]bool{}}
	return a, nil
}

// expect records the namespaces and kinds that this change creates for its own objects.
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

// all runs work concurrently and returns the results in order.
func (a *asking) all(work []func() []DryRunResult) []DryRunResult {
	answers := make([][]DryRunResult, len(work))
	var group errgroup.Group
	group.SetLimit(askers)
	for i, one := range work {
		group.Go(func() error {
			answers[i] = one()
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	return slices.Concat(answers...)
}

// object dry-runs one object of the release.
func (a *asking) object(o *unstructured.Unstructured) DryRunResult {
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
	// The SDK treats as foreign each object of an installation, and each object of an
	// upgrade that the previous revision does not have. An object that another
	// release took over since is foreign, too.
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

// info returns the resource of an object, or an answer with the reason why there is none.
func (a *asking) info(o *unstructured.Unstructured) (*resource.Info, DryRunResult) {
	kind := o.GroupVersionKind()
	answer := DryRunResult{Ref: cluster.RefOf(o), Rendered: encode(o), Change: ChangeCreate}
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case meta.IsNoMatchError(err):
		switch {
		case slices.ContainsFunc(a.rendered.CRDs, func(c CRD) bool { return c.defines(kind.Group, kind.Kind) }):
			answer.Unchecked = "its definition (CRD) is created by this change"
		case a.templated[kind.Group+"/"+kind.Kind]:
			answer.Err = fmt.Errorf(
				"%s: its definition (CRD) is among the templates of the same chart, and Helm can create the two only one after the other; "+
					"move the definition into the folder crds/ of the chart", cluster.DisplayName(answer.Ref))
		default:
			answer.Err = fmt.Errorf("%s: %w", cluster.DisplayName(answer.Ref), cluster.Explain(err))
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
	answer.Ref, answer.Rendered = cluster.RefOf(o), encode(o)
	made, err := a.Client.Build(bytes.NewReader(answer.Rendered), false)
	if err != nil || len(made) != 1 {
		return nil, a.refused(answer, err)
	}
	return made[0], answer
}

// answered sets the server's response to a creation or a change.
func (a *asking) answered(answer DryRunResult, info *resource.Info, err error) DryRunResult {
	if err != nil {
		return a.refused(answer, err)
	}
	answer.Desired = encode(info.Object)
	return answer
}

// refused sets a refusal, or why it does not count: this change creates a
// prerequisite that does not exist yet.
func (a *asking) refused(answer DryRunResult, err error) DryRunResult {
	var status apierrors.APIStatus
	if errors.As(err, &status) && apierrors.IsNotFound(err) {
		details := status.Status().Details
		if details != nil && details.Kind == "namespaces" && a.namespaces[details.Name] {
			answer.Unchecked = "its namespace " + details.Name + " is created by this change"
			return answer
		}
	}
	answer.Err = fmt.Errorf("%s: %w", cluster.DisplayName(answer.Ref), explain(a.ctx, single(err)))
	return answer
}

// single unwraps a list of one error, which the SDK makes of every error.
func single(err error) error {
	var list interface{ WrappedErrors() []error }
	if errors.As(err, &list) && len(list.WrappedErrors()) == 1 {
		return list.WrappedErrors()[0]
	}
	return err
}

// stranger returns the error for an existing object that does not belong to this release.
func (a *asking) stranger(info *resource.Info, live *unstructured.Unstructured) error {
	whose := "was not made by Helm"
	if name := live.GetAnnotations()[releaseName]; name != "" {
		whose = fmt.Sprintf("belongs to the release %s in the namespace %s", boundedText(name, 80),
			boundedText(live.GetAnnotations()[releaseNamespace], 80))
	}
	return fmt.Errorf(
		"%s is there already and %s; set take_ownership = true to take it over, or let the chart name its object otherwise",
		cluster.DisplayName(ref(info)), whose)
}

// leaving returns the standing objects that the release will no longer have.
func (a *asking) leaving(answers []DryRunResult) kube.ResourceList {
	wanted := map[string]bool{}
	for _, answer := range answers {
		wanted[answer.Ref.Group+"/"+answer.Ref.Kind+"/"+answer.Ref.Namespace+"/"+answer.Ref.Name] = true
	}
	return a.standing.Filter(func(o *resource.Info) bool { return !wanted[key(o)] })
}

// leave dry-runs the deletion of one object; it returns nothing if the object does
// not exist, or this release would not delete it.
func (a *asking) leave(o *resource.Info) []DryRunResult {
	answer := DryRunResult{Ref: ref(o), Change: ChangeDelete}
	live, err := get(o)
	if err != nil {
		return []DryRunResult{a.refused(answer, err)}
	}
	if !a.mayDelete(o, live) {
		return nil
	}
	answer.Live = encode(live)
	if keeps(live) {
		answer.Change = ChangeKeep
		return []DryRunResult{answer}
	}
	if _, errs := a.Client.DeleteWithPropagationPolicy(kube.ResourceList{o},
		metav1.DeletePropagationBackground); len(errs) > 0 {
		return []DryRunResult{a.refused(answer, errs[0])}
	}
	return []DryRunResult{answer}
}

// hooks dry-runs the hooks that will run.
func (a *asking) hooks(hooks []Hook) []DryRunResult {
	var work []func() []DryRunResult
	for _, h := range hooks {
		if !h.runsAt(hookEvents(a.decision.Action)...) {
			continue
		}
		for _, o := range flatten(h.Manifest) {
			work = append(work, func() []DryRunResult { return []DryRunResult{a.hook(h, o)} })
		}
	}
	return a.all(work)
}

// hook dry-runs the creation of a hook. If an object of its name exists and will be
// deleted first, it creates a copy under another name.
func (a *asking) hook(h Hook, o *unstructured.Unstructured) DryRunResult {
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
		answer.Err = fmt.Errorf(
			"the hook %s is there already, left by an earlier run: the chart does not let Helm delete it before it is created; "+
				"add before-hook-creation to its helm.sh/hook-delete-policy, or delete it", cluster.DisplayName(answer.Ref))
		return answer
	}
	other := o.DeepCopy()
	other.SetName(boundedName(o.GetName()))
	copied := &resource.Info{Client: info.Client, Mapping: info.Mapping, Namespace: info.Namespace, Name: other.GetName(),
		Object: other}
	if _, err = a.Client.Create(kube.ResourceList{copied}); err != nil {
		return a.refused(answer, err)
	}
	return answer
}

// boundedName returns an unused name, of a length that all kinds allow.
func boundedName(name string) string {
	return strings.TrimRight(name[:min(len(name), 50)], "-.") + "-nuon-check"
}

// flatten parses one document, and a list as its items, as Helm does: every object
// with items is a list, and items of a typed list have its kind. Documents and items
// that are not objects were refused when they were rendered.
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

// encode returns the JSON of an object.
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

// unchanged compares an object with the result of a dry run, without the fields that
// every write changes.
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
