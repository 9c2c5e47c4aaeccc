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

// dryRunWorkers is the number of concurrent dry runs.
const dryRunWorkers = 8

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
	a, err := c.newDryRunner(ctx, request.Release, request.Decision)
	if err != nil {
		return nil, err
	}
	a.takeOwnership, a.rendered = request.TakeOwnership, request.Rendered
	a.expect(request.Rendered)
	var work []func() []DryRunResult
	for _, document := range documents(request.Rendered.Manifest) {
		for _, object := range flatten(document) {
			work = append(work, func() []DryRunResult { return []DryRunResult{a.dryRunObject(object)} })
		}
	}
	answers := a.runAll(work)
	work = nil
	for _, gone := range a.removedObjects(answers) {
		work = append(work, func() []DryRunResult { return a.dryRunDelete(gone) })
	}
	return append(append(answers, a.runAll(work)...), a.dryRunHooks(request.Rendered.Hooks)...), context.Cause(ctx)
}

// dryRunner is one round of dry runs. Its transport marks all requests as dry runs.
type dryRunner struct {
	*releaseClient
	decision      Decision
	takeOwnership bool
	rendered      *Rendered
	// namespaces are created by this change; templated are the kinds that its
	// templates, not its crds/ directories, define.
	namespaces, templated map[string]bool
}

func (c *Client) newDryRunner(ctx context.Context, name string, decision Decision) (*dryRunner, error) {
	d, err := c.newReleaseClient(ctx, c.cluster.WithTransport(bind(ctx)).WithTransport(dryRun), name)
	if err != nil {
		return nil, err
	}
	history, err := c.History(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := d.loadExisting(decision, history); err != nil {
		return nil, err
	}
	d.Log = func(string, ...any) {} // the SDK's log messages would read as if it changed something
	a := &dryRunner{releaseClient: d, decision: decision, namespaces: map[string]bool{c.namespace: true},
		templated: map[string]bool{}}
	return a, nil
}

// expect records the namespaces and kinds that this change creates for its own objects.
func (r *dryRunner) expect(rendered *Rendered) {
	for _, document := range documents(rendered.Manifest) {
		for _, o := range flatten(document) {
			switch o.GetKind() {
			case "Namespace":
				r.namespaces[o.GetName()] = true
			case "CustomResourceDefinition":
				group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
				kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
				r.templated[group+"/"+kind] = true
			}
		}
	}
}

// runAll runs work concurrently and returns the results in order.
func (r *dryRunner) runAll(work []func() []DryRunResult) []DryRunResult {
	answers := make([][]DryRunResult, len(work))
	var group errgroup.Group
	group.SetLimit(dryRunWorkers)
	for i, one := range work {
		group.Go(func() error {
			answers[i] = one()
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	return slices.Concat(answers...)
}

// dryRunObject dry-runs one object of the release.
func (r *dryRunner) dryRunObject(o *unstructured.Unstructured) DryRunResult {
	info, answer := r.info(o)
	if info == nil {
		return answer
	}
	if answer.Err = r.setOwner(info); answer.Err != nil {
		return answer
	}
	answer.Rendered = encode(info.Object)
	live, err := get(info)
	if err != nil {
		return r.withRejection(answer, err)
	}
	if live == nil {
		answer.Change = ChangeCreate
		_, err = r.Client.Create(kube.ResourceList{info})
		return r.withResponse(answer, info, err)
	}
	answer.Live, answer.Change = encode(live), ChangeUpdate
	from := r.existing.Get(info)
	// The SDK treats as foreign each object of an installation, and each object of an
	// upgrade that the previous revision does not have. An object that another
	// release took over since is foreign, too.
	if r.decision.Action == ActionInstall || !r.base.Contains(info) || r.ownedByOther(live) {
		if answer.Adopted = !r.owns(live); answer.Adopted && !r.takeOwnership {
			answer.Err = r.ownershipError(info, live)
			return answer
		}
	}
	if from == nil {
		same := *info
		same.Object = info.Object.DeepCopyObject()
		from = &same
	}
	threeWay := r.dirty || r.decision.Action == ActionInstall && r.takeOwnership
	if threeWay {
		_, err = r.Client.UpdateThreeWayMerge(kube.ResourceList{from}, kube.ResourceList{info}, false)
	} else {
		_, err = r.Client.Update(kube.ResourceList{from}, kube.ResourceList{info}, false)
	}
	answer = r.withResponse(answer, info, err)
	if wanted, ok := info.Object.(*unstructured.Unstructured); ok && answer.Err == nil && unchanged(live, wanted) {
		answer.Change = ChangeNone
	}
	return answer
}

// info returns the resource of an object, or an answer with the reason why there is none.
func (r *dryRunner) info(o *unstructured.Unstructured) (*resource.Info, DryRunResult) {
	kind := o.GroupVersionKind()
	answer := DryRunResult{Ref: cluster.RefOf(o), Rendered: encode(o), Change: ChangeCreate}
	mapping, err := r.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case meta.IsNoMatchError(err):
		switch {
		case slices.ContainsFunc(r.rendered.CRDs, func(c CRD) bool { return c.defines(kind.Group, kind.Kind) }):
			answer.Unchecked = "its definition (CRD) is created by this change"
		case r.templated[kind.Group+"/"+kind.Kind]:
			answer.Err = fmt.Errorf(
				"%s: its definition (CRD) is among the templates of the same chart, and Helm can create the two only one after "+
					"the other; "+
					"move the definition into the folder crds/ of the chart", cluster.DisplayName(answer.Ref))
		default:
			answer.Err = fmt.Errorf("%s: %w", cluster.DisplayName(answer.Ref), cluster.Explain(err))
		}
		return nil, answer
	case err != nil:
		return nil, r.withRejection(answer, err)
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		o.SetNamespace("")
	} else if o.GetNamespace() == "" {
		o.SetNamespace(r.namespace)
	}
	answer.Ref, answer.Rendered = cluster.RefOf(o), encode(o)
	made, err := r.Client.Build(bytes.NewReader(answer.Rendered), false)
	if err != nil || len(made) != 1 {
		return nil, r.withRejection(answer, err)
	}
	return made[0], answer
}

// withResponse sets the server's response to a creation or a change.
func (r *dryRunner) withResponse(answer DryRunResult, info *resource.Info, err error) DryRunResult {
	if err != nil {
		return r.withRejection(answer, err)
	}
	answer.Desired = encode(info.Object)
	return answer
}

// withRejection sets a refusal, or why it does not count: this change creates a
// prerequisite that does not exist yet.
func (r *dryRunner) withRejection(answer DryRunResult, err error) DryRunResult {
	var status apierrors.APIStatus
	if errors.As(err, &status) && apierrors.IsNotFound(err) {
		details := status.Status().Details
		if details != nil && details.Kind == "namespaces" && r.namespaces[details.Name] {
			answer.Unchecked = "its namespace " + details.Name + " is created by this change"
			return answer
		}
	}
	answer.Err = fmt.Errorf("%s: %w", cluster.DisplayName(answer.Ref), explain(r.ctx, unwrapSingle(err)))
	return answer
}

// unwrapSingle unwraps a list of one error, which the SDK makes of every error.
func unwrapSingle(err error) error {
	var list interface{ WrappedErrors() []error }
	if errors.As(err, &list) && len(list.WrappedErrors()) == 1 {
		return list.WrappedErrors()[0]
	}
	return err
}

// ownershipError returns the error for an existing object that does not belong to this release.
func (r *dryRunner) ownershipError(info *resource.Info, live *unstructured.Unstructured) error {
	whose := "was not made by Helm"
	if name := live.GetAnnotations()[releaseName]; name != "" {
		whose = fmt.Sprintf("belongs to the release %s in the namespace %s", boundedText(name, 80),
			boundedText(live.GetAnnotations()[releaseNamespace], 80))
	}
	return fmt.Errorf(
		"%s is there already and %s; set take_ownership = true to take it over, or let the chart name its object otherwise",
		cluster.DisplayName(ref(info)), whose)
}

// removedObjects returns the standing objects that the release will no longer have.
func (r *dryRunner) removedObjects(answers []DryRunResult) kube.ResourceList {
	wanted := map[string]bool{}
	for _, answer := range answers {
		wanted[answer.Ref.Group+"/"+answer.Ref.Kind+"/"+answer.Ref.Namespace+"/"+answer.Ref.Name] = true
	}
	return r.existing.Filter(func(o *resource.Info) bool { return !wanted[key(o)] })
}

// dryRunDelete dry-runs the deletion of one object; it returns nothing if the object does
// not exist, or this release would not delete it.
func (r *dryRunner) dryRunDelete(o *resource.Info) []DryRunResult {
	answer := DryRunResult{Ref: ref(o), Change: ChangeDelete}
	live, err := get(o)
	if err != nil {
		return []DryRunResult{r.withRejection(answer, err)}
	}
	if !r.mayDelete(o, live) {
		return nil
	}
	answer.Live = encode(live)
	if hasKeepPolicy(live) {
		answer.Change = ChangeKeep
		return []DryRunResult{answer}
	}
	if _, errs := r.Client.DeleteWithPropagationPolicy(kube.ResourceList{o},
		metav1.DeletePropagationBackground); len(errs) > 0 {
		return []DryRunResult{r.withRejection(answer, errs[0])}
	}
	return []DryRunResult{answer}
}

// dryRunHooks dry-runs the hooks that will run.
func (r *dryRunner) dryRunHooks(hooks []Hook) []DryRunResult {
	var work []func() []DryRunResult
	for _, h := range hooks {
		if !h.RunsAt(r.decision.Action) {
			continue
		}
		for _, o := range flatten(h.Manifest) {
			work = append(work, func() []DryRunResult { return []DryRunResult{r.dryRunHook(h, o)} })
		}
	}
	return r.runAll(work)
}

// dryRunHook dry-runs the creation of a hook. If an object of its name exists and will be
// deleted first, it creates a copy under another name.
func (r *dryRunner) dryRunHook(h Hook, o *unstructured.Unstructured) DryRunResult {
	info, answer := r.info(o)
	answer.Hook = true
	if info == nil {
		return answer
	}
	live, err := get(info)
	if err != nil {
		return r.withRejection(answer, err)
	}
	if live == nil {
		_, err = r.Client.Create(kube.ResourceList{info})
		return r.withResponse(answer, info, err)
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
	if _, err = r.Client.Create(kube.ResourceList{copied}); err != nil {
		return r.withRejection(answer, err)
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
