// Package clustertest gives each test a real cluster and a separate namespace in it.
//
// It never starts a cluster: the variable NUON_TEST_KUBECONFIG names the kubeconfig
// of one, which `make test` and `make cluster` start. Without it a test fails,
// unless NUON_TEST_NO_CLUSTER holds the reason: then the test is skipped with that reason,
// which `make test` lists at its end. Only tests use it.
package clustertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

const (
	// Variable is the environment variable with the path of the kubeconfig.
	Variable = "NUON_TEST_KUBECONFIG"
	// VariableNone is the environment variable with the reason why there is no cluster.
	VariableNone = "NUON_TEST_NO_CLUSTER"
)

// Kubeconfig returns the path of the kubeconfig of the tests' cluster.
func Kubeconfig(t testing.TB) string {
	t.Helper()
	path, none := os.Getenv(Variable), os.Getenv(VariableNone)
	if path == "" && none != "" {
		t.Skip("no Kubernetes: " + none)
	}
	if path == "" {
		t.Fatalf("%s names no kubeconfig; run `make test`, which starts a cluster, or `make cluster` in another terminal "+
			"and set it to the file that is printed", Variable)
	}
	return path
}

// Open returns the cluster. Its log goes to the test's log.
func Open(t testing.TB) *cluster.Cluster {
	t.Helper()
	c, err := cluster.FromFile(Kubeconfig(t), "", NewLog(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Name returns a name that no other test has.
func Name(prefix string) string { return fmt.Sprintf("%s-%08x", prefix, rand.Uint32()) } //nolint:gosec // it only has to be another one

// Namespace creates a namespace. It is deleted at the end of the test, without
// waiting for the deletion.
func Namespace(t testing.TB, c *cluster.Cluster) string {
	t.Helper()
	name := Name("t")
	Create(t, c, "", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n")
	t.Cleanup(func() {
		Delete(t, c, api.ObjectRef{Version: "v1", Kind: "Namespace", Name: name})
	})
	return name
}

// Create creates the objects of a YAML text with one or more documents, and returns their
// references. Objects without a namespace are created in namespace.
func Create(t testing.TB, c *cluster.Cluster, namespace, text string) []api.ObjectRef {
	t.Helper()
	var made []api.ObjectRef
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		if object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		ref := cluster.RefOf(object)
		resource, err := c.Resource(ref)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resource.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatalf("create %s: %v", cluster.DisplayName(ref), err)
		}
		made = append(made, ref)
	}
	return made
}

// AwaitPermission waits until a user may do something in a namespace: the server takes a while to know of a new Role
// or RoleBinding.
func AwaitPermission(t testing.TB, c *cluster.Cluster, user, verb, resource, namespace string) {
	t.Helper()
	reviews, err := c.Resource(api.ObjectRef{Group: "authorization.k8s.io", Version: "v1", Kind: "SubjectAccessReview"})
	if err != nil {
		t.Fatal(err)
	}
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
		"spec": map[string]any{"user": user, "resourceAttributes": map[string]any{
			"namespace": namespace, "verb": verb, "resource": resource}},
	}}
	testtime.Until(t, fmt.Sprintf("%s may %s %s", user, verb, resource), func() bool {
		answer, err := reviews.Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
		return allowed
	})
}

// Delete deletes an object; the object may already be deleted.
func Delete(t testing.TB, c *cluster.Cluster, ref api.ObjectRef) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testtime.Limit)
	defer cancel()
	resource, err := c.Resource(ref)
	if err == nil {
		err = resource.Delete(ctx, ref.Name, metav1.DeleteOptions{})
	}
	if err != nil {
		t.Logf("delete %s: %v", cluster.DisplayName(ref), err)
	}
}

// Get returns an object, or nil when it does not exist.
func Get(t testing.TB, c *cluster.Cluster, ref api.ObjectRef) *unstructured.Unstructured {
	t.Helper()
	found, err := c.Objects(t.Context(), []api.ObjectRef{ref})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

// Log stores log lines, and also writes them to the test's log.
type Log struct {
	t     testing.TB
	mutex sync.Mutex
	lines []string
}

// NewLog returns an empty Log.
func NewLog(t testing.TB) *Log { return &Log{t: t} }

// Debug adds one line.
func (l *Log) Debug(format string, args ...any) { l.add("debug ", format, args) }

// Info adds one line.
func (l *Log) Info(format string, args ...any) { l.add("info ", format, args) }

// Warn adds one line.
func (l *Log) Warn(format string, args ...any) { l.add("warn ", format, args) }

func (l *Log) add(level, format string, args []any) {
	line := level + fmt.Sprintf(format, args...)
	l.mutex.Lock()
	l.lines = append(l.lines, line)
	l.mutex.Unlock()
	l.t.Log(line)
}

// Text returns all lines so far.
func (l *Log) Text() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Join(l.lines, "\n")
}
