package helm

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

// delivery is the SDK's client of the API server with what the SDK lacks: it ends with a context, it knows what attempts that failed may have left, and it
// gets over kinds that the cluster has no more. What it sends for an object is what the SDK sends.
type delivery struct {
	*kube.Client
	ctx context.Context
	// plain is the cluster through no transport of ours, for waiting and for asking what went wrong when ctx is over.
	plain   *cluster.Cluster
	mapper  meta.RESTMapper
	log     Log
	release string
	// namespace is that of the release.
	namespace string
	// standing is what may be in the cluster of the release: the objects of Base and of Later, each with all that any of them said of it.
	standing kube.ResourceList
	// based are the objects of Base alone.
	based kube.ResourceList
	// dirty says that there is a Later, so that no single manifest says what an object is like.
	dirty bool
	// objects are the main objects that are being made, not hooks; set by the SDK's own reading of them.
	objects map[string]bool

	// waitAtMost bounds the wait for the objects; their own time, not that of the hooks.
	waitAtMost time.Duration

	mutex  sync.Mutex
	errors []error

	// deleted says that the SDK asked for the deletion of the release's objects, and leaving are those that go.
	deleted bool
	leaving kube.ResourceList
	// unsaved is what kept the record of the revision that is made from being written the last time.
	unsaved error
}

// deliver gives a delivery over a transport.
func (c *Client) deliver(ctx context.Context, through *cluster.Cluster, name string) (*delivery, error) {
	quiet()
	mapper, err := through.Mapper()
	if err != nil {
		return nil, explain(ctx, err)
	}
	made := kube.New(through.Getter(c.namespace))
	made.Namespace, made.Log = c.namespace, c.log.Debug
	return &delivery{Client: made, ctx: ctx, plain: c.cluster, mapper: mapper, log: c.log, release: name, namespace: c.namespace, objects: map[string]bool{}}, nil
}

// stand reads what the records of a decision say is there.
func (d *delivery) stand(decision Decision, history []Release) error {
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
			return fmt.Errorf("read the objects of revision %d of the release %s: %s; its record is damaged: roll back to an older revision with helm rollback", revision, d.release, bounded(err))
		}
		if revision == decision.Base {
			d.based = objects
		} else {
			d.dirty = true
		}
		for _, o := range objects {
			if d.standing, err = unite(d.standing, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// locate gives the identity of an object that is to be made, with the namespace that it gets.
func (d *delivery) locate(o *unstructured.Unstructured) (string, error) {
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

// unite adds an object to a list, or all that it says to the one that is there. A three-way patch takes away what this list knows and the new manifest
// does not have, so a field that any attempt may have set must be known.
func unite(list kube.ResourceList, o *resource.Info) (kube.ResourceList, error) {
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
		return nil, fmt.Errorf("put %s of two revisions together: %w", cluster.Name(ref(o)), err)
	}
	united := &unstructured.Unstructured{}
	if err := united.UnmarshalJSON(both); err != nil {
		return nil, err
	}
	united.SetGroupVersionKind(o.Mapping.GroupVersionKind)
	there.Object, there.Mapping, there.Client = united, o.Mapping, o.Client
	return list, nil
}

// isTyped says whether the API server takes strategic patches for a kind.
func isTyped(o runtime.Object) bool {
	_, loose := o.(runtime.Unstructured)
	return !loose
}

// Build reads objects. Those to be made (validate) must be of kinds that the cluster has; of those that were made once and are of a kind that is gone, nothing
// can be there.
func (d *delivery) Build(reader io.Reader, validate bool) (kube.ResourceList, error) {
	text, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	if validate {
		// For the SDK's own check it would read all schemas of the server, only to find that the server checks by itself.
		return d.Client.Build(bytes.NewReader(text), false)
	}
	var known strings.Builder
	for _, document := range documents(string(text)) {
		if document = d.current(document); document != "" {
			known.WriteString("---\n" + document + "\n")
		}
	}
	return d.Client.Build(strings.NewReader(known.String()), false)
}

// current gives a document that was recorded once as the cluster can read it now: in another version where that of the record is not served any more, because the
// object is still there; "" where the whole kind is gone.
func (d *delivery) current(document string) string {
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
	d.log.Debug("%s was recorded as %s, which the cluster does not serve any more; it is read as %s", name, kind.GroupVersion(), object.GetAPIVersion())
	return string(text)
}

// Create creates hooks, and the objects of a first installation. When an earlier attempt may have left some, they are patched.
func (d *delivery) Create(resources kube.ResourceList) (*kube.Result, error) {
	if d.dirty && d.isMain(resources) {
		return d.change(nil, resources, false)
	}
	made, err := d.Client.Create(resources)
	if err != nil {
		d.note([]error{err})
	}
	return made, err
}

// isMain tells the objects of a release from its hooks.
func (d *delivery) isMain(resources kube.ResourceList) bool {
	for _, r := range resources {
		if !d.objects[key(r)] {
			return false
		}
	}
	return len(resources) > 0
}

// Update patches as an upgrade does.
func (d *delivery) Update(original, target kube.ResourceList, _ bool) (*kube.Result, error) {
	return d.change(original, target, false)
}

// UpdateThreeWayMerge patches as an installation does that takes objects over.
func (d *delivery) UpdateThreeWayMerge(original, target kube.ResourceList, _ bool) (*kube.Result, error) {
	return d.change(original, target, true)
}

// change patches objects that are there, creates those that are not, and deletes what the release no longer has.
func (d *delivery) change(original, target kube.ResourceList, threeWay bool) (*kube.Result, error) {
	from, err := d.from(original, target)
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
	return result, d.pruned(from.Difference(target))
}

// pruned makes sure that what the release no longer has is going: where the server refuses that, or does not answer, the SDK only logs it. An object that no
// record names any more would stay for ever; of an upgrade that failed the next attempt takes it away.
func (d *delivery) pruned(left kube.ResourceList) error {
	for _, o := range left {
		live, err := get(o)
		if err != nil {
			return fmt.Errorf("look whether %s is gone: %w", cluster.Name(ref(o)), err)
		}
		if live != nil && live.GetDeletionTimestamp() == nil && !keeps(live) {
			return fmt.Errorf("%s is not in the chart any more, and could not be deleted; see that the runner may delete it, and deploy again", cluster.Name(ref(o)))
		}
	}
	return nil
}

// from is what patches start from and what may be deleted: what stands, and of what stands not, what the SDK says. What another release took over is
// not deleted.
func (d *delivery) from(original, target kube.ResourceList) (kube.ResourceList, error) {
	var mine kube.ResourceList
	for _, o := range original {
		if !target.Contains(o) {
			live, err := get(o)
			if err != nil {
				return nil, err
			}
			if d.taken(live) {
				d.log.Info("%s stays: another release took it over", cluster.Name(ref(o)))
				continue
			}
		}
		mine = append(mine, o)
	}
	if original = mine; !d.dirty {
		return original, nil
	}
	var from kube.ResourceList
	for _, o := range d.standing {
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
		if !d.standing.Contains(o) {
			from = append(from, o)
		}
	}
	return from, nil
}

// get reads an object as it is, without putting it into the info; nil when it is not there.
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
		return nil, fmt.Errorf("the server gives %T for %s", live, cluster.Name(ref(o)))
	}
	return object, nil
}

// What Helm writes on objects to know them again.
const (
	managedBy        = "app.kubernetes.io/managed-by"
	managedByHelm    = "Helm"
	releaseName      = "meta.helm.sh/release-name"
	releaseNamespace = "meta.helm.sh/release-namespace"
)

// owns says whether an object is of this release.
func (d *delivery) owns(live *unstructured.Unstructured) bool {
	if live == nil {
		return false
	}
	notes := live.GetAnnotations()
	return live.GetLabels()[managedBy] == managedByHelm && notes[releaseName] == d.release && notes[releaseNamespace] == d.namespace
}

// taken says that another release says of an object that it is its own.
func (d *delivery) taken(live *unstructured.Unstructured) bool {
	return live != nil && live.GetAnnotations()[releaseName] != "" && !d.owns(live)
}

// mayDelete says whether an object that stands may be deleted when it is there: not what another release took over since, and of what only attempts that failed
// know not what somebody else may have made under that name.
func (d *delivery) mayDelete(o *resource.Info, live *unstructured.Unstructured) bool {
	if d.based.Contains(o) {
		return live != nil && !d.taken(live)
	}
	return d.owns(live)
}

// sign writes on an object that it is of this release, as the SDK does before it sends it.
func (d *delivery) sign(o *resource.Info) error {
	object, ok := o.Object.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("%s is not in a form that can be changed", cluster.Name(ref(o)))
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
func (d *delivery) Wait(resources kube.ResourceList, _ time.Duration) error {
	_, err := d.plain.Wait(d.ctx, refs(resources), d.waitAtMost)
	return err
}

// WaitWithJobs waits until objects are ready, and Jobs complete.
func (d *delivery) WaitWithJobs(resources kube.ResourceList, timeout time.Duration) error {
	return d.Wait(resources, timeout)
}

// DeleteWithPropagationPolicy deletes the objects of a release that is uninstalled, and what failed attempts may have left. It keeps the errors, of which the SDK
// tells nothing.
func (d *delivery) DeleteWithPropagationPolicy(resources kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	left, err := d.leftovers(resources)
	if err != nil {
		return nil, d.note([]error{err})
	}
	d.deleted = true
	resources = resources.Filter(func(o *resource.Info) bool {
		live, err := get(o)
		return err != nil || d.mayDelete(o, live)
	})
	if resources = append(resources, left...); len(resources) == 0 {
		return &kube.Result{}, nil // for the SDK nothing to delete is an error
	}
	d.leaving = resources
	result, errs := d.Client.DeleteWithPropagationPolicy(resources, policy)
	return result, d.note(errs)
}

// finish is called before the records of a release go. The SDK drops them although objects are still there or a hook failed, and then nobody knows any more what
// was to go; and it does not think of what older revisions left where the newest has nothing to delete.
func (d *delivery) finish() error {
	if !d.deleted && len(d.errors) == 0 {
		_, _ = d.DeleteWithPropagationPolicy(nil, metav1.DeletePropagationBackground) // it notes the errors
	}
	if len(d.errors) == 0 && len(d.leaving) > 0 {
		_ = d.WaitForDelete(d.leaving, d.waitAtMost) // it too
	}
	d.leaving = nil
	return errors.Join(d.errors...)
}

// note keeps errors.
func (d *delivery) note(errs []error) []error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.errors = append(d.errors, errs...)
	return errs
}

// leftovers are the objects that stand, are not among resources, are still this release's and are not to be kept.
func (d *delivery) leftovers(resources kube.ResourceList) (kube.ResourceList, error) {
	var left kube.ResourceList
	for _, o := range d.standing.Difference(resources) {
		live, err := get(o)
		if err != nil {
			return nil, err
		}
		if d.owns(live) && !keeps(live) && !hasPolicy(o.Object) {
			left = append(left, o)
		}
	}
	return left, nil
}

// keeps says whether an object is to outlive its release.
func keeps(o *unstructured.Unstructured) bool {
	return strings.EqualFold(strings.TrimSpace(o.GetAnnotations()[kube.ResourcePolicyAnno]), kube.KeepPolicy)
}

// hasPolicy says whether a manifest has a policy for an object: the SDK then never deletes it, whatever the policy is.
func hasPolicy(o runtime.Object) bool {
	object, ok := o.(*unstructured.Unstructured)
	if !ok {
		return false
	}
	_, has := object.GetAnnotations()[kube.ResourcePolicyAnno]
	return has
}

// hookEvents are when hooks run for an action.
func hookEvents(action Action) []string {
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

// key is the identity of an object.
func key(o *resource.Info) string {
	kind := o.Mapping.GroupVersionKind
	return kind.Group + "/" + kind.Kind + "/" + o.Namespace + "/" + o.Name
}
