package helmsdk

import (
	"context"
	"fmt"
	"maps"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// CRDState is how an object of a crds/ directory compares with the cluster.
type CRDState string

// The states of a CRD.
const (
	// CRDUnknown: there was no cluster to compare with.
	CRDUnknown CRDState = ""
	// CRDMissing will be created.
	CRDMissing CRDState = "missing"
	// CRDSame exists, with all that the chart specifies.
	CRDSame CRDState = "same"
	// CRDDiffers stays as it is in the cluster: Helm never changes definitions.
	CRDDiffers CRDState = "differs"
)

// CRD is an object of a crds/ directory of a chart or of a subchart that is switched on.
type CRD struct {
	Name, Kind string
	// Path starts with the name of the chart.
	Path string
	// Manifest is the YAML of the one object.
	Manifest string
	State    CRDState

	object *unstructured.Unstructured
}

// defines reports whether the object defines the kind.
func (c CRD) defines(group, kind string) bool {
	if c.Kind != "CustomResourceDefinition" {
		return false
	}
	g, _, _ := unstructured.NestedString(c.object.Object, "spec", "group")
	k, _, _ := unstructured.NestedString(c.object.Object, "spec", "names", "kind")
	return g == group && k == kind
}

// readCRDs reads the crds/ directories of the chart and of the subcharts that are switched on.
func readCRDs(loaded *chart.Chart) ([]CRD, error) {
	var made []CRD
	for _, file := range loaded.CRDObjects() {
		for _, document := range documents(string(file.File.Data)) {
			if err := guard(file.Filename, []byte(document)); err != nil {
				return nil, err
			}
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				return nil, fmt.Errorf("%s is not a Kubernetes object: %s; correct it in the chart", file.Filename, bounded(err))
			}
			if len(object.Object) == 0 {
				continue
			}
			if object.GetName() == "" || object.GetKind() == "" || object.GetAPIVersion() == "" {
				return nil, fmt.Errorf("%s has an object without apiVersion, kind or metadata.name; correct it in the chart",
					file.Filename)
			}
			made = append(made, CRD{Name: object.GetName(), Kind: object.GetKind(), Path: file.Filename, Manifest: document,
				object: object})
		}
	}
	return made, nil
}

// compareCRDs sets the states.
func (c *Client) compareCRDs(ctx context.Context, made *Rendered) error {
	for i := range made.CRDs {
		crd := &made.CRDs[i]
		client, err := c.crdClient(ctx, crd)
		if err != nil {
			return err
		}
		live, err := client.Get(ctx, crd.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			crd.State = CRDMissing
		case err != nil:
			return fmt.Errorf("look for %s %s of %s: %w", crd.Kind, crd.Name, crd.Path, explain(ctx, err))
		case containsAll(crd.object.Object["spec"], live.Object["spec"]):
			crd.State = CRDSame
		default:
			crd.State = CRDDiffers
		}
	}
	return nil
}

// containsAll reports whether the live object has all that a chart specifies. The cluster
// adds defaults and omits empty values.
func containsAll(wanted, live any) bool {
	switch w := wanted.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		for key := range maps.Keys(w) {
			if !containsAll(w[key], l[key]) {
				return false
			}
		}
		return ok || len(w) == 0
	case []any:
		l, _ := live.([]any)
		if len(w) != len(l) {
			return false
		}
		for i := range w {
			if !containsAll(w[i], l[i]) {
				return false
			}
		}
		return true
	case nil:
		return true
	}
	if live == nil {
		return wanted == false || wanted == "" || fmt.Sprint(wanted) == "0"
	}
	return fmt.Sprint(wanted) == fmt.Sprint(live)
}

func (c *Client) crdClient(ctx context.Context, crd *CRD) (dynamic.ResourceInterface, error) {
	mapper, err := c.cluster.Mapper()
	if err != nil {
		return nil, err
	}
	gvk := crd.object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf(
			"%s has a %s of %s, which this cluster does not know; let the chart have it in a version that the cluster has",
			crd.Path, crd.Kind, gvk.GroupVersion())
	}
	if err != nil {
		return nil, explain(ctx, err)
	}
	client, err := c.cluster.Dynamic()
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := crd.object.GetNamespace()
		if namespace == "" {
			namespace = c.namespace
		}
		return client.Resource(mapping.Resource).Namespace(namespace), nil
	}
	return client.Resource(mapping.Resource), nil
}

// establishTimeout bounds the time until the kind of a new definition is served.
const establishTimeout = time.Minute

// createCRDs creates what is missing, waits until the new kinds are served, and
// invalidates the cached kinds of the cluster.
func (c *Client) createCRDs(ctx context.Context, crds []CRD) error {
	var created []*CRD
	for i := range crds {
		client, err := c.crdClient(ctx, &crds[i])
		if err != nil {
			return err
		}
		_, err = client.Create(ctx, crds[i].object.DeepCopy(), metav1.CreateOptions{FieldManager: cluster.FieldManager})
		if apierrors.IsAlreadyExists(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("create %s %s of %s: %w", crds[i].Kind, crds[i].Name, crds[i].Path, explain(ctx, err))
		}
		c.log.Info("created %s %s", crds[i].Kind, crds[i].Name)
		if crds[i].Kind == "CustomResourceDefinition" {
			created = append(created, &crds[i])
		}
	}
	if len(created) == 0 {
		return nil
	}
	defer c.cluster.Invalidate()
	for _, crd := range created {
		if err := c.waitServed(ctx, crd); err != nil {
			return err
		}
	}
	return nil
}

// waitServed waits until the kind of a definition is served.
func (c *Client) waitServed(ctx context.Context, crd *CRD) error {
	client, err := c.crdClient(ctx, crd)
	if err != nil {
		return err
	}
	last := "the server says nothing yet"
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, establishTimeout, true,
		func(ctx context.Context) (bool, error) {
			live, err := client.Get(ctx, crd.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
			for _, condition := range conditions {
				about, _ := condition.(map[string]any)
				if about["type"] == "Established" && about["status"] == "True" {
					return true, nil
				}
				if about["status"] == "False" {
					last = boundedText(fmt.Sprint(about["message"]), 300)
				}
			}
			return false, nil
		})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf(
			"the definition %s was created, but its kind is not served after %s: %s; look at it with kubectl describe crd %s",
			crd.Name, establishTimeout, last, crd.Name)
	}
	if err != nil {
		return fmt.Errorf("wait for the definition %s: %w", crd.Name, explain(ctx, err))
	}
	return nil
}
