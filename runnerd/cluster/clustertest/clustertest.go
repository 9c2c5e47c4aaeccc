// Package clustertest gives tests a real cluster, and each a namespace of its own in it.
//
// It never starts a cluster: the variable NUON_TEST_KUBECONFIG names the file of one, which `make test` and `make cluster` start. A test
// that finds none fails, unless NUON_TEST_NO_CLUSTER says why there is none: then it is skipped with that reason, which `make test`
// lists at its end. Only tests use it.
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
	// Variable names the kubeconfig.
	Variable = "NUON_TEST_KUBECONFIG"
	// VariableNone holds the reason why there is no cluster.
	VariableNone = "NUON_TEST_NO_CLUSTER"
)

// Kubeconfig gives the path of the file by which tests reach their cluster.
func Kubeconfig(t testing.TB) string {
	t.Helper()
	path, none := os.Getenv(Variable), os.Getenv(VariableNone)
	if path == "" && none != "" {
		t.Skip("no Kubernetes: " + none)
	}
	if path == "" {
		t.Fatalf("%s names no kubeconfig; run `make test`, which starts a cluster, or `make cluster` in another terminal and set it to the file that is printed", Variable)
	}
	return path
}

// Open gives the cluster. Its log goes to the test's.
func Open(t testing.TB) *cluster.Cluster {
	t.Helper()
	c, err := cluster.FromFile(Kubeconfig(t), "", NewLog(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Name makes a name that no other test has.
func Name(prefix string) string { return fmt.Sprintf("%s-%08x", prefix, rand.Uint32()) } //nolint:gosec // it only has to be another one

// Namespace makes a namespace, which is deleted at the end of the test, without waiting for that.
func Namespace(t testing.TB, c *cluster.Cluster) string {
	t.Helper()
	name := Name("t")
	Create(t, c, "", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n")
	t.Cleanup(func() {
		Delete(t, c, api.ObjectRef{Version: "v1", Kind: "Namespace", Name: name})
	})
	return name
}

// Create makes the objects of a YAML text with documents, those that name no namespace in namespace, and gives their names.
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
		ref := cluster.Ref(object)
		resource, err := c.Resource(ref)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resource.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatalf("create %s: %v", cluster.Name(ref), err)
		}
		made = append(made, ref)
	}
	return made
}

// Delete deletes an object, which may be gone already.
func Delete(t testing.TB, c *cluster.Cluster, ref api.ObjectRef) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testtime.Limit)
	defer cancel()
	resource, err := c.Resource(ref)
	if err == nil {
		err = resource.Delete(ctx, ref.Name, metav1.DeleteOptions{})
	}
	if err != nil {
		t.Logf("delete %s: %v", cluster.Name(ref), err)
	}
}

// Get gives an object, nil when it is not there.
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

// Log keeps what is logged, and shows it with the test's own.
type Log struct {
	t     testing.TB
	mutex sync.Mutex
	lines []string
}

// NewLog gives a Log that is empty.
func NewLog(t testing.TB) *Log { return &Log{t: t} }

// Debug takes one line.
func (l *Log) Debug(format string, args ...any) { l.add("debug ", format, args) }

// Info takes one line.
func (l *Log) Info(format string, args ...any) { l.add("info ", format, args) }

// Warn takes one line.
func (l *Log) Warn(format string, args ...any) { l.add("warn ", format, args) }

func (l *Log) add(level, format string, args []any) {
	line := level + fmt.Sprintf(format, args...)
	l.mutex.Lock()
	l.lines = append(l.lines, line)
	l.mutex.Unlock()
	l.t.Log(line)
}

// Text gives all lines so far.
func (l *Log) Text() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Join(l.lines, "\n")
}
