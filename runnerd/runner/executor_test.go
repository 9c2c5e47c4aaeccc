package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
)

// onEachExecutor runs a test with jobs as processes and with jobs as pods. newDir makes the directory of a runner whose
// file says which.
func onEachExecutor(t *testing.T, test func(t *testing.T, newDir func(*testing.T) string)) {
	t.Parallel()
	t.Run("process", func(t *testing.T) {
		t.Parallel()
		test(t, func(t *testing.T) string { return t.TempDir() })
	})
	t.Run("kubernetes", func(t *testing.T) {
		t.Parallel()
		clustertest.Kubeconfig(t)
		test(t, func(t *testing.T) string { return newPlace(t).dir })
	})
}

// kubeconfigIn returns the file in a runner's directory by which it finds the cluster of its jobs.
func kubeconfigIn(dir string) string { return filepath.Join(dir, "kubeconfig") }

// runsPods reports whether the jobs of the runner in a directory are pods.
func runsPods(dir string) bool { _, err := os.Stat(kubeconfigIn(dir)); return err == nil }

// place is a namespace for the jobs of one runner.
type place struct {
	*kubernetes.Clientset
	dir, namespace, image string
}

// newPlace makes a namespace with a claim, and the directory of a runner whose jobs are pods there. The cluster of the
// tests mounts no volumes: its pods find the directory at the same path of the same machine.
func newPlace(t testing.TB) *place {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", clustertest.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	p := &place{Clientset: client, dir: t.TempDir(), namespace: clustertest.Name("t"),
		image: "registry.test/runner"}
	ctx := t.Context()
	if _, err := p.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.remove(t) })
	if _, err := p.CoreV1().PersistentVolumeClaims(p.namespace).Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "runner"},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse("1Gi")}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	testtime.UntilNoError(t, "the namespace takes pods", func() error {
		_, err := p.CoreV1().ServiceAccounts(p.namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	content, err := os.ReadFile(clustertest.Kubeconfig(t))
	if err == nil {
		err = os.WriteFile(kubeconfigIn(p.dir), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, "")
	return p
}

// write writes the runner file, with more lines of its section about the executor.
func (p *place) write(t testing.TB, more string) {
	t.Helper()
	writeRules(t, p.dir, fmt.Sprintf("[executor]\nkind = \"kubernetes\"\nnamespace = %q\nclaim = \"runner\"\n"+
		"image = %q\n%s", p.namespace, p.image, more))
}

// remove deletes the namespace. The context of the test has ended.
func (p *place) remove(t testing.TB) {
	ctx := context.Background()
	pods := p.CoreV1().Pods(p.namespace)
	left, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Error(err)
		return
	}
	for i := range left.Items { // those of a test that failed must not keep it forever
		_, _ = pods.Patch(ctx, left.Items[i].Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
			metav1.PatchOptions{})
	}
	if err := p.CoreV1().Namespaces().Delete(ctx, p.namespace, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// pods returns the pods of the namespace.
func (p *place) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	all, err := p.CoreV1().Pods(p.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return all.Items
}

// pod returns the only pod of the namespace; nil if there is none.
func (p *place) pod(t *testing.T) *corev1.Pod {
	t.Helper()
	switch all := p.pods(t); len(all) {
	case 0:
		return nil
	case 1:
		return &all[0]
	default:
		t.Fatalf("there are %d pods", len(all))
		return nil
	}
}

// awaitPod waits for the pod of the only job.
func (p *place) awaitPod(t *testing.T) (pod *corev1.Pod) {
	t.Helper()
	testtime.Until(t, "there is a pod", func() bool { pod = p.pod(t); return pod != nil })
	return pod
}

// update changes the pod as the kubelet of its node or a person would.
func (p *place) update(t *testing.T, pod *corev1.Pod, status bool, change func(*corev1.Pod)) {
	t.Helper()
	testtime.UntilNoError(t, "the pod is changed", func() error {
		now, err := p.CoreV1().Pods(p.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(now)
		if status {
			_, err = p.CoreV1().Pods(p.namespace).UpdateStatus(t.Context(), now, metav1.UpdateOptions{})
		} else {
			_, err = p.CoreV1().Pods(p.namespace).Update(t.Context(), now, metav1.UpdateOptions{})
		}
		if apierrors.IsInvalid(err) {
			t.Fatal(err)
		}
		return err
	})
}
