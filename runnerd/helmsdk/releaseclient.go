package helmsdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cli-runtime/pkg/resource"
	sigsyaml "sigs.k8s.io/yaml"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// releaseClient is the SDK's API client with additions: it ends with a context, it
// accounts for what failed attempts may have left, and it tolerates kinds that the
// cluster no longer has. Its requests for an object are those of the SDK.
type releaseClient struct {
	*kube.Client
	ctx context.Context
	// plain is the cluster without our transports, for waiting and for diagnosis
	// after ctx has ended.
	plain   *cluster.Cluster
	mapper  meta.RESTMapper
	log     Log
	release string
	// namespace is the namespace of the release.
	namespace string
	// existing are the objects of the release that may be in the cluster: those of
	// Base and Later, each with all fields that any of these revisions set.
	existing kube.ResourceList
	// base are the objects of Base only.
	base kube.ResourceList
	// dirty reports that there are Later revisions, so no single manifest describes an object.
	dirty bool
	// objects are the keys of the main objects to create, without hooks; Apply sets them.
	objects map[string]bool

	// waitTimeout bounds the wait for the objects, separately from the hooks.
	waitTimeout time.Duration

	mutex  sync.Mutex
	errors []error

	// deleted reports that the SDK has deleted the release's objects, and leaving are
	// the objects being deleted.
	deleted  bool
	deleting kube.ResourceList
	// saveErr is the error of the last write of the new revision's record.
	saveErr error
}

// newReleaseClient returns a delivery over a transport.
func (c *Client) newReleaseClient(ctx context.Context, through *cluster.Cluster, name string) (*releaseClient, error) {
	silenceSDK()
	mapper, err := through.Mapper()
	if err != nil {
		return nil, explain(ctx, err)
	}
	made := kube.New(through.RESTClientGetter(c.namespace))
	made.Namespace, made.Log = c.namespace, c.log.Debug
	return &releaseClient{Client: made, ctx: ctx, plain: c.cluster, mapper: mapper, log: c.log, release: name,
		namespace: c.namespace, objects: map[string]bool{}}, nil
}

// loadExisting reads the objects that may exist according to the records of a decision.
func (d *releaseClient) loadExisting(decision Decision, history []Release) error {
	for _, revision := range append([]int{decision.Base}, decision.Later...) {
		r := (Decision{Base: revision}).Before(history)
		if r == nil {
			if revision != 0 {
				return fmt.Errorf("the record of revision %d of the release %s is gone; plan again", revision, d.release)
			}
			continue
		}
		objects, err := d.Build(strings.NewReader(r.Manifest), false)
		if err != nil {
			return fmt.Errorf(
				"read the objects of revision %d of the release %s: %s; its record is damaged: roll back to an older revision "+
					"with helm rollback", revision, d.release, bounded(err))
		}
		if revision == decision.Base {
			d.base = objects
		} else {
			d.dirty = true
		}
		for _, o := range objects {
			if d.existing, err = mergeIntoList(d.existing, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// locate returns the identity of an object to be created, with the namespace that it gets.
func (d *releaseClient) locate(o *unstructured.Unstructured) (string, error) {
	kind := o.GroupVersionKind()
	mapping, err := d.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return "", err
	}
	namespace := ""
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if namespace = o.GetNamespace(); namespace == "" {
			namespace = d.namespace
		}
	}
	return key(&resource.Info{Mapping: mapping, Namespace: namespace, Name: o.GetName()}), nil
}

// mergeIntoList adds an object to a list, or merges it into the one that is already in the
// list. A three-way patch removes what this list has and the new manifest does not,
// so the list must have every field that any attempt may have set.
func mergeIntoList(list kube.ResourceList, o *resource.Info) (kube.ResourceList, error) {
	there := list.Get(o)
	if there == nil {
		added := *o
		return append(list, &added), nil
	}
	older, err := json.Marshal(there.Object)
	if err != nil {
		return nil, err
	}
	newer, err := json.Marshal(o.Object)
	if err != nil {
		return nil, err
	}
	var both []byte
	if typed := kube.AsVersioned(o); isTyped(typed) {
		both, err = strategicpatch.StrategicMergePatch(older, newer, typed)
	} else {
		both, err = jsonpatch.MergePatch(older, newer)
	}
	if err != nil {
		return nil, fmt.Errorf("put %s of two revisions together: %w", cluster.DisplayName(ref(o)), err)
	}
	united := &unstructured.Unstructured{}
	if err := united.UnmarshalJSON(both); err != nil {
		return nil, err
	}
	united.SetGroupVersionKind(o.Mapping.GroupVersionKind)
	there.Object, there.Mapping, there.Client = united, o.Mapping, o.Client
	return list, nil
}

// isTyped reports whether the API server accepts strategic merge patches for a kind.
func isTyped(o runtime.Object) bool {
	_, loose := o.(runtime.Unstructured)
	return !loose
}

// Build parses objects. The kinds of objects to be created (validate) must exist. Recorded
// objects of kinds that no longer exist are left out, since none of them can exist.
func (d *releaseClient) Build(reader io.Reader, validate bool) (kube.ResourceList, error) {
	text, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	if validate {
		// For the SDK's own check it would read all schemas of the server, only to
		// find that the server itself checks.
		return d.Client.Build(bytes.NewReader(text), false)
	}
	var known strings.Builder
	for _, document := range documents(string(text)) {
		if document = d.servedVersion(document); document != "" {
			known.WriteString("---\n" + document + "\n")
		}
	}
	return d.Client.Build(strings.NewReader(known.String()), false)
}

// servedVersion returns a recorded document as the cluster can read it now: in another
// version if the recorded one is no longer served, because the object still exists;
// "" if the whole kind no longer exists.
func (d *releaseClient) servedVersion(document string) string {
	object := unstructured.Unstructured{}
	if sigsyaml.Unmarshal([]byte(document), &object.Object) != nil || object.GetKind() == "" || object.IsList() {
		return document
	}
	kind := object.GroupVersionKind()
	if _, err := d.mapper.RESTMapping(kind.GroupKind(), kind.Version); !meta.IsNoMatchError(err) {
		return document
	}
	name := boundedText(object.GetKind()+" "+object.GetName(), 300)
	served, err := d.mapper.RESTMapping(kind.GroupKind())
	if err != nil {
		d.log.Info("%s is of a kind that the cluster does not have any more: it counts as deleted", name)
		return ""
	}
	object.SetAPIVersion(served.GroupVersionKind.GroupVersion().String())
	text, err := sigsyaml.Marshal(object.Object)
	if err != nil {
		return document
	}
	d.log.Debug("%s was recorded as %s, which the cluster does not serve any more; it is read as %s", name,
		kind.GroupVersion(), object.GetAPIVersion())
	return string(text)
}

// Create creates hooks, and the objects of a first installation. If an earlier
// attempt may have left some, they are patched.
func (d *releaseClient) Create(resources kube.ResourceList) (*kube.Result, error) {
	if d.dirty && d.isMain(resources) {
		return d.change(nil, resources, false)
	}
	made, err := d.Client.Create(resources)
	if err != nil {
		d.recordErrors([]error{err})
	}
	return made, err
}

// isMain reports whether all are main objects of the release, not hooks.
func (d *releaseClient) isMain(resources kube.ResourceList) bool {
	for _, r := range resources {
		if !d.objects[key(r)] {
			return false
		}
	}
	return len(resources) > 0
}

// Update patches objects as an upgrade does.
func (d *releaseClient) Update(original, target kube.ResourceList, _ bool) (*kube.Result, error) {
	return d.change(original, target, false)
}

// UpdateThreeWayMerge patches objects as an installation does that takes objects over.
func (d *releaseClient) UpdateThreeWayMerge(original, target kube.ResourceList, _ bool) (*kube.Result, error) {
	return d.change(original, target, true)
}

// change patches existing objects, creates missing ones, and deletes those that the
// release no longer has.
func (d *releaseClient) change(original, target kube.ResourceList, threeWay bool) (*kube.Result, error) {
	from, err := d.patchBase(original, target)
	if err != nil {
		return &kube.Result{}, err
	}
	send := d.Client.Update
	if d.dirty || threeWay {
		send = d.Client.UpdateThreeWayMerge
	}
	result, err := send(from, target, false)
	if err != nil {
		return result, err
	}
	return result, d.checkPruned(from.Difference(target))
}

// checkPruned verifies that objects which the release no longer has are being deleted: if
// the server refuses that or does not respond, the SDK only logs it. An object that no
// record names would stay forever; after a failed upgrade the next attempt deletes it.
func (d *releaseClient) checkPruned(left kube.ResourceList) error {
	for _, o := range left {
		live, err := get(o)
		if err != nil {
			return fmt.Errorf("look whether %s is gone: %w", cluster.DisplayName(ref(o)), err)
		}
		if live != nil && live.GetDeletionTimestamp() == nil && !hasKeepPolicy(live) {
			return fmt.Errorf(
				"%s is not in the chart any more, and could not be deleted; see that the runner may delete it, and deploy again",
				cluster.DisplayName(ref(o)))
		}
	}
	return nil
}

// patchBase returns the base of patches and the objects that may be deleted: the standing
// objects, and the SDK's for those that are not among them. Objects that another
// release took over are not deleted.
func (d *releaseClient) patchBase(original, target kube.ResourceList) (kube.ResourceList, error) {
	var mine kube.ResourceList
	for _, o := range original {
		if !target.Contains(o) {
			live, err := get(o)
			if err != nil {
				return nil, err
			}
			if d.ownedByOther(live) {
				d.log.Info("%s stays: another release took it over", cluster.DisplayName(ref(o)))
				continue
			}
		}
		mine = append(mine, o)
	}
	if original = mine; !d.dirty {
		return original, nil
	}
	var from kube.ResourceList
	for _, o := range d.existing {
		if !target.Contains(o) {
			live, err := get(o)
			if err != nil {
				return nil, err
			}
			if !d.mayDelete(o, live) {
				continue
			}
		}
		from = append(from, o)
	}
	for _, o := range original {
		if !d.existing.Contains(o) {
			from = append(from, o)
		}
	}
	return from, nil
}

// get reads the live object without storing it in the info; nil if it does not exist.
func get(o *resource.Info) (*unstructured.Unstructured, error) {
	live, err := resource.NewHelper(o.Client, o.Mapping).Get(o.Namespace, o.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nothing is there
	}
	if err != nil {
		return nil, err
	}
	object, ok := live.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the server gives %T for %s", live, cluster.DisplayName(ref(o)))
	}
	return object, nil
}

// The labels and annotations by which Helm identifies its objects.
const (
	managedBy        = "app.kubernetes.io/managed-by"
	managedByHelm    = "Helm"
	releaseName      = "meta.helm.sh/release-name"
	releaseNamespace = "meta.helm.sh/release-namespace"
)

// owns reports whether an object belongs to this release.
func (d *releaseClient) owns(live *unstructured.Unstructured) bool {
	if live == nil {
		return false
	}
	notes := live.GetAnnotations()
	return live.GetLabels()[managedBy] == managedByHelm && notes[releaseName] == d.release &&
		notes[releaseNamespace] == d.namespace
}

// ownedByOther reports whether an object's annotations name another release as its owner.
func (d *releaseClient) ownedByOther(live *unstructured.Unstructured) bool {
	return live != nil && live.GetAnnotations()[releaseName] != "" && !d.owns(live)
}

// mayDelete reports whether a standing object may be deleted: not if another release
// took it over since. An object that only failed attempts have recorded must be owned
// by this release, since somebody else may have created it.
func (d *releaseClient) mayDelete(o *resource.Info, live *unstructured.Unstructured) bool {
	if d.base.Contains(o) {
		return live != nil && !d.ownedByOther(live)
	}
	return d.owns(live)
}

// setOwner marks an object as owned by this release, as the SDK does before it sends it.
func (d *releaseClient) setOwner(o *resource.Info) error {
	object, ok := o.Object.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("%s is not in a form that can be changed", cluster.DisplayName(ref(o)))
	}
	labels, notes := object.GetLabels(), object.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if notes == nil {
		notes = map[string]string{}
	}
	labels[managedBy], notes[releaseName], notes[releaseNamespace] = managedByHelm, d.release, d.namespace
	object.SetLabels(labels)
	object.SetAnnotations(notes)
	return nil
}

// Wait waits until objects are ready.
func (d *releaseClient) Wait(resources kube.ResourceList, _ time.Duration) error {
	_, err := d.plain.Wait(d.ctx, refs(resources), d.waitTimeout)
	return err
}

// WaitWithJobs waits until objects are ready, and Jobs complete.
func (d *releaseClient) WaitWithJobs(resources kube.ResourceList, timeout time.Duration) error {
	return d.Wait(resources, timeout)
}

// DeleteWithPropagationPolicy deletes the objects of an uninstalled release, and what
// failed attempts may have left. It records the errors, which the SDK does not return.
func (d *releaseClient) DeleteWithPropagationPolicy(resources kube.ResourceList, policy metav1.DeletionPropagation) (
	*kube.Result, []error) {
	left, err := d.leftovers(resources)
	if err != nil {
		return nil, d.recordErrors([]error{err})
	}
	d.deleted = true
	resources = resources.Filter(func(o *resource.Info) bool {
		live, err := get(o)
		return err != nil || d.mayDelete(o, live)
	})
	if resources = append(resources, left...); len(resources) == 0 {
		return &kube.Result{}, nil // the SDK returns an error if there is nothing to delete
	}
	d.deleting = resources
	result, errs := d.Client.DeleteWithPropagationPolicy(resources, policy)
	return result, d.recordErrors(errs)
}

// finish is called before the records of a release are deleted. The SDK deletes them even
// if objects still exist or a hook failed, and then the list of objects to delete is
// lost. It also ignores what older revisions left if the newest has nothing to delete.
func (d *releaseClient) finish() error {
	if !d.deleted && len(d.errors) == 0 {
		_, _ = d.DeleteWithPropagationPolicy(nil, metav1.DeletePropagationBackground) // it records its errors
	}
	if len(d.errors) == 0 && len(d.deleting) > 0 {
		_ = d.WaitForDelete(d.deleting, d.waitTimeout) // so does this
	}
	d.deleting = nil
	return errors.Join(d.errors...)
}

// recordErrors records errors.
func (d *releaseClient) recordErrors(errs []error) []error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.errors = append(d.errors, errs...)
	return errs
}

// leftovers returns the standing objects that are not among resources, still belong
// to this release and are not to be kept.
func (d *releaseClient) leftovers(resources kube.ResourceList) (kube.ResourceList, error) {
	var left kube.ResourceList
	for _, o := range d.existing.Difference(resources) {
		live, err := get(o)
		if err != nil {
			return nil, err
		}
		if d.owns(live) && !hasKeepPolicy(live) && !hasPolicy(o.Object) {
			left = append(left, o)
		}
	}
	return left, nil
}

// hasKeepPolicy reports whether an object is to outlive its release.
func hasKeepPolicy(o *unstructured.Unstructured) bool {
	return strings.EqualFold(strings.TrimSpace(o.GetAnnotations()[kube.ResourcePolicyAnno]), kube.KeepPolicy)
}

// hasPolicy reports whether a manifest sets a policy for an object: the SDK then
// never deletes it, whichever policy it is.
func hasPolicy(o runtime.Object) bool {
	object, ok := o.(*unstructured.Unstructured)
	if !ok {
		return false
	}
	_, has := object.GetAnnotations()[kube.ResourcePolicyAnno]
	return has
}

// HookEvents returns the events whose hooks run for an action.
func HookEvents(action Action) []string {
	switch action {
	case ActionInstall:
		return []string{string(release.HookPreInstall), string(release.HookPostInstall)}
	case ActionUpgrade:
		return []string{string(release.HookPreUpgrade), string(release.HookPostUpgrade)}
	case ActionUninstall:
		return []string{string(release.HookPreDelete), string(release.HookPostDelete)}
	}
	return nil
}

func ref(o *resource.Info) api.ObjectRef {
	kind := o.Mapping.GroupVersionKind
	return api.ObjectRef{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: o.Namespace, Name: o.Name}
}

func refs(list kube.ResourceList) []api.ObjectRef {
	made := make([]api.ObjectRef, len(list))
	for i, o := range list {
		made[i] = ref(o)
	}
	return made
}

// key returns the identity of an object.
func key(o *resource.Info) string {
	kind := o.Mapping.GroupVersionKind
	return kind.Group + "/" + kind.Kind + "/" + o.Namespace + "/" + o.Name
}
