package helmsdk

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// StaleRelease is a release that a component created under another name, in another
// namespace or with another driver than its current settings. After a change of
// settings, only its labels identify it.
type StaleRelease struct {
	Release, Namespace, Driver string
}

// String returns the release, and how to remove it.
func (s StaleRelease) String() string {
	return fmt.Sprintf("the release %s in the namespace %s; remove it with: HELM_DRIVER=%s helm uninstall %s -n %s",
		s.Release, s.Namespace, s.Driver, s.Release, s.Namespace)
}

// StaleReleases returns the releases of a component other than name, by the labels of all records. If
// the runner may not list records in all namespaces, it lists those of the client's namespace.
func (c *Client) StaleReleases(ctx context.Context, component, name string) ([]StaleRelease, error) {
	client, err := metadata.NewForConfig(c.cluster.WithTransport(bind(ctx)).RESTConfig())
	if err != nil {
		return nil, err
	}
	var found []StaleRelease
	for driver, resource := range map[string]string{"configmap": "configmaps", "secret": "secrets"} {
		kind := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource})
		newest, err := newestRecords(ctx, kind)
		if apierrors.IsForbidden(err) {
			newest, err = newestRecords(ctx, kind.Namespace(c.namespace))
		}
		if apierrors.IsForbidden(err) {
			continue // without read permission it cannot have created one there
		}
		if err != nil {
			return nil, fmt.Errorf("look for other releases of the component: %w", explain(ctx, err))
		}
		for _, r := range newest {
			s := StaleRelease{Release: r.Labels["name"], Namespace: r.Namespace, Driver: driver}
			if r.Labels[LabelComponent] == component && r.Labels["status"] != string(release.StatusUninstalled) &&
				s != (StaleRelease{name, c.namespace, c.driver}) {
				found = append(found, s)
			}
		}
	}
	slices.SortFunc(found, func(a, b StaleRelease) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Release, b.Release),
			cmp.Compare(a.Driver, b.Driver))
	})
	return found, nil
}

// page is the number of records per request.
const page = 500

// newestRecords returns the metadata of the newest record of each release that any
// component created.
func newestRecords(ctx context.Context, records metadata.ResourceInterface) (map[string]metav1.PartialObjectMetadata,
	error) {
	newest := map[string]metav1.PartialObjectMetadata{}
	options := metav1.ListOptions{LabelSelector: "owner=helm," + LabelComponent, Limit: page}
	for {
		list, err := records.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for _, r := range list.Items {
			key := r.Namespace + "/" + r.Labels["name"]
			if there, has := newest[key]; !has || revisionOf(there) < revisionOf(r) {
				newest[key] = r
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return newest, nil
		}
	}
}

// revisionOf returns the revision of a record; 0 if it is not set.
func revisionOf(record metav1.PartialObjectMetadata) int {
	made, err := strconv.Atoi(record.Labels["version"])
	if err != nil {
		return 0
	}
	return made
}
