package secretsync

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

const (
	labelInstall       = "nuon.co/copies-of-install"
	annotationVersions = "nuon.co/secret-versions"
	fieldManager       = "nuon-secrets"
	managedBy          = "app.kubernetes.io/managed-by"
	maxNamespace       = 63
	maxObjectName      = 253
)

var (
	secretsResource    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	namespacesResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

	validNamespace = lazyregexp.New(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	validName      = lazyregexp.New(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	validKey       = lazyregexp.New(`^[-._a-zA-Z0-9]{1,253}$`)
)

// checkCopy returns an error for a destination that Kubernetes does not accept, and for namespaces of the cluster
// itself.
func checkCopy(c api.SecretCopy) error {
	switch {
	case len(c.Namespace) > maxNamespace || !validNamespace.MatchString(c.Namespace):
		return fmt.Errorf("%.80q is no name of a namespace", c.Namespace)
	case strings.HasPrefix(c.Namespace, "kube-"):
		return fmt.Errorf("no secret is copied into %s, a namespace of Kubernetes itself", c.Namespace)
	case len(c.Name) > maxObjectName || !validName.MatchString(c.Name):
		return fmt.Errorf("%.80q is no name of a Secret", c.Name)
	case !validKey.MatchString(c.Key):
		return fmt.Errorf("%.80q is no key of a Secret", c.Key)
	}
	return nil
}

// destination is one Secret that secrets are copied to.
type destination struct {
	namespace, name string
	entries         []entry
}

// entry is one key of a destination.
type entry struct {
	key    string
	secret *secret
}

// sync makes the copies. Problems are in the statuses of the secrets that they concern.
func (r *run) sync(ctx context.Context) {
	all := r.destinations()
	failed := map[*secret]bool{}
	fail := func(d *destination, err error) {
		for _, e := range d.entries {
			failed[e.secret] = true
			e.secret.addProblem(r, fmt.Errorf("copy it to %s/%s: %w", d.namespace, d.name, err))
		}
	}
	client, err := r.client()
	for _, d := range all {
		if err != nil {
			fail(d, err)
			continue
		}
		if err := r.copy(ctx, client, d); err != nil {
			fail(d, err)
		}
	}
	for _, s := range r.all {
		s.status.Copied = s.status.State == api.SecretStatusStatePresent && len(s.status.Copies) > 0 && !failed[s]
	}
	installs := r.env.Policy.Secrets.Installs
	if isListed := installs == nil || slices.Contains(installs, r.spec.InstallID); err == nil && isListed {
		r.deleteOthers(ctx, client, all)
	}
}

func (r *run) client() (dynamic.Interface, error) {
	found, err := cluster.Open(r.env, r.spec.Cluster, r.values)
	if err != nil {
		return nil, err
	}
	return found.Dynamic()
}

// copy writes one Secret, if a key of it is missing or has another version.
func (r *run) copy(ctx context.Context, client dynamic.Interface, d *destination) error {
	secrets := client.Resource(secretsResource).Namespace(d.namespace)
	live, err := secrets.Get(ctx, d.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		live = nil
	case err != nil:
		return cluster.Explain(err)
	case live.GetLabels()[labelInstall] != r.spec.InstallID:
		return errors.New("the Secret exists, and nuon did not make it for this install; delete it, or copy to another " +
			"name")
	}
	data, versions, changed := liveContent(live, d)
	for _, e := range d.entries {
		version := e.secret.Name + "@" + e.secret.status.Version
		if e.secret.status.State != api.SecretStatusStatePresent || data[e.key] != "" && versions[e.key] == version {
			continue
		}
		value, err := r.read(ctx, e.secret)
		if err != nil {
			return err
		}
		data[e.key], versions[e.key], changed = base64.StdEncoding.EncodeToString(value), version, true
	}
	if !changed || len(data) == 0 {
		return nil
	}
	if err := r.write(ctx, client, d, data, versions); err != nil {
		return err
	}
	r.env.Log.Info("copied secrets to Secret %s/%s", d.namespace, d.name)
	return nil
}

// liveContent returns the declared keys of a copy as the cluster has them, and the version of each. changed is set
// if the copy has other keys, which are to be removed.
func liveContent(live *unstructured.Unstructured, d *destination) (data, versions map[string]string, changed bool) {
	data, versions = map[string]string{}, map[string]string{}
	if live == nil {
		return data, versions, false
	}
	found, _, _ := unstructured.NestedStringMap(live.Object, "data")
	noted := map[string]string{}
	_ = json.Unmarshal([]byte(live.GetAnnotations()[annotationVersions]), &noted) // a damaged one notes nothing
	for _, e := range d.entries {
		if found[e.key] == "" {
			continue
		}
		data[e.key] = found[e.key]
		if noted[e.key] != "" {
			versions[e.key] = noted[e.key]
		}
	}
	return data, versions, len(data) < len(found)
}

// read returns the value of a secret as its copies have it.
func (r *run) read(ctx context.Context, s *secret) ([]byte, error) {
	found, err := r.store.Get(ctx, s.name)
	if err != nil {
		return nil, err
	}
	if err := audit.Append(r.env.Root, audit.Event{What: audit.SecretRead, Secret: s.Name, Job: r.env.Spec.Job,
		Attempt: r.env.Spec.Attempt, Install: r.spec.InstallID, Operation: "copy"}); err != nil {
		return nil, err
	}
	value := found.Secret.Reveal()
	r.env.Redact.Add(value)
	// The version that was read counts: it may have changed since the check.
	s.status.Version = found.Version
	if !s.Base64 {
		return value, nil
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(value)))
	if err != nil {
		return nil, errors.New("its value is not base64, and secrets.toml has format = \"base64\"")
	}
	r.env.Redact.Add(decoded)
	return decoded, nil
}

func (r *run) write(ctx context.Context, client dynamic.Interface, d *destination,
	data, versions map[string]string) error {
	noted, err := json.Marshal(versions)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{
			"name": d.name, "namespace": d.namespace,
			"labels":      map[string]any{labelInstall: r.spec.InstallID, managedBy: "nuon"},
			"annotations": map[string]any{annotationVersions: string(noted)},
		},
		"data": toAny(data),
	}}
	apply := func() error {
		_, err := client.Resource(secretsResource).Namespace(d.namespace).Apply(ctx, d.name, object,
			metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		return err
	}
	err = apply()
	if apierrors.IsNotFound(err) {
		if err := r.createNamespace(ctx, client, d.namespace); err != nil {
			return err
		}
		err = apply()
	}
	if err != nil {
		return cluster.Explain(err)
	}
	return nil
}

func toAny(texts map[string]string) map[string]any {
	made := make(map[string]any, len(texts))
	for key := range maps.Keys(texts) {
		made[key] = texts[key]
	}
	return made
}

// createNamespace creates the namespace of a copy, which the component that reads it would create later.
func (r *run) createNamespace(ctx context.Context, client dynamic.Interface, name string) error {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": name}}}
	_, err := client.Resource(namespacesResource).Create(ctx, object, metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return cluster.Explain(err)
	}
	r.env.Log.Info("created namespace %s", name)
	return nil
}

// deleteOthers deletes the copies of the install that are no longer declared. A failure is only logged.
func (r *run) deleteOthers(ctx context.Context, client dynamic.Interface, declared []*destination) {
	found, err := client.Resource(secretsResource).List(ctx, metav1.ListOptions{
		LabelSelector: labelInstall + "=" + r.spec.InstallID})
	if err != nil {
		r.env.Log.Warn("copies that are no longer declared are not looked for: %v", cluster.Explain(err))
		return
	}
	keep := map[string]bool{}
	for _, d := range declared {
		keep[d.namespace+"/"+d.name] = true
	}
	for i := range found.Items {
		namespace, name := found.Items[i].GetNamespace(), found.Items[i].GetName()
		if keep[namespace+"/"+name] {
			continue
		}
		err := client.Resource(secretsResource).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			r.env.Log.Warn("delete the copy %s/%s, which is no longer declared: %v", namespace, name, cluster.Explain(err))
			continue
		}
		r.env.Log.Info("deleted the copy %s/%s, which is no longer declared", namespace, name)
	}
}
