package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// envChild turns this test binary into the cluster program, so that the tests need no second build.
const envChild = "NUON_CLUSTER_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(envChild) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// child is a cluster in a separate process.
type child struct {
	*kubernetes.Clientset
	cmd   *exec.Cmd
	stdin io.Closer
	done  chan error
}

func launch(t *testing.T, dir string, args ...string) *child {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(program, append([]string{"-dir", dir}, args...)...), done: make(chan error, 1)}
	c.cmd.Env = append(os.Environ(), envChild+"=1")
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the child has it too
	c.cmd.Stderr = log
	c.stdin, _ = c.cmd.StdinPipe()
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	lines, ready := bufio.NewScanner(out), false
	for !ready && lines.Scan() {
		ready = lines.Text() == "ready"
	}
	go func() { c.done <- c.cmd.Wait() }()
	if !ready {
		said, _ := os.ReadFile(log.Name())
		t.Fatalf("it ended at its start: %s", said)
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, kubeconfigName))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	c.Clientset = kubernetes.NewForConfigOrDie(config)
	return c
}

// ends waits for the process to exit with success and in time.
func (c *child) ends(t *testing.T) {
	t.Helper()
	select {
	case err := <-c.done:
		if err != nil {
			t.Errorf("it ended badly: %v", err)
		}
	case <-time.After(8 * time.Minute): //walltime: only ends a hang; this module does not link pkg/testtime
		t.Fatal("it does not end")
	}
}

// eventually polls until there is no error.
func eventually(t *testing.T, look func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) //walltime: only ends a hang
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var err error
	for {
		if now := look(ctx); now == nil {
			return
		} else if ctx.Err() == nil {
			err = now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

const space = corev1.NamespaceDefault

// TestCluster starts one cluster, stops it, starts it again, and closes its input while it is tied.
func TestCluster(t *testing.T) {
	// longer than the path of a socket may be
	dir := filepath.Join(t.TempDir(), strings.Repeat("a-long-name-", 12))
	c := launch(t, dir)
	for name, test := range map[string]func(*testing.T, *child){
		"job": testJob, "job that fails": testJobFails, "job on failure": testJobOnFailure, "job killed": testJobKilled,
		"deployment": testDeployment, "missing": testMissing, "crash": testCrash, "volumes": testVolumes,
		"load balancer":    testBalancer,
		"closed to others": func(t *testing.T, _ *child) { testClosed(t, dir) },
		"kubectl":          func(t *testing.T, _ *child) { testKubectl(t, filepath.Join(dir, kubeconfigName)) },
	} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
	if t.Failed() {
		return
	}
	second := exec.Command(os.Args[0], "-dir", dir)
	second.Env = append(os.Environ(), envChild+"=1")
	if said, err := second.CombinedOutput(); err == nil || !strings.Contains(string(said), "in use by another cluster") {
		t.Errorf("a second one in the same directory: %v, %s", err, said)
	}
	port := read(t, filepath.Join(dir, portName))
	// an open watch must not delay the shutdown
	watch, err := c.CoreV1().Pods(space).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.ends(t)
	c = launch(t, dir, "-tied")
	if again := read(t, filepath.Join(dir, portName)); again != port {
		t.Errorf("the port is %s after %s", again, port)
	}
	if _, err := c.AppsV1().Deployments(space).Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	_ = c.stdin.Close()
	c.ends(t)
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func testClosed(t *testing.T, dir string) {
	for _, name := range []string{"", kubeconfigName, tokensName, accountKey, etcdSocket, logsName} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if name != etcdSocket && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%q is open to others: %s", name, info.Mode())
		}
	}
}

func (c *child) job(t *testing.T, name string, policy corev1.RestartPolicy, change func(*batchv1.JobSpec),
	command ...string) {
	t.Helper()
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}}
	j.Spec.BackoffLimit = new(int32(0))
	j.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: policy,
		Containers: []corev1.Container{{Name: "c", Image: "tools", Command: command}}}
	if change != nil {
		change(&j.Spec)
	}
	if _, err := c.BatchV1().Jobs(space).Create(t.Context(), j, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// finished waits for the end of a job and returns its condition.
func (c *child) finished(t *testing.T, name string) (end batchv1.JobConditionType) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		j, err := c.BatchV1().Jobs(space).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, cond := range j.Status.Conditions {
			if cond.Status == corev1.ConditionTrue && (cond.Type == batchv1.JobComplete || cond.Type == batchv1.JobFailed) {
				end = cond.Type
				return nil
			}
		}
		return fmt.Errorf("the job has not ended: %+v", j.Status)
	})
	return end
}

// pod returns the only pod with a label, once it is as wanted.
func (c *child) pod(t *testing.T, label string, wanted func(*corev1.Pod) bool) (pod *corev1.Pod) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		list, err := c.CoreV1().Pods(space).List(ctx, metav1.ListOptions{LabelSelector: label})
		if err != nil || len(list.Items) != 1 {
			return fmt.Errorf("%d pods: %w", len(list.Items), err)
		}
		if pod = &list.Items[0]; !wanted(pod) {
			return fmt.Errorf("the pod is not as wanted: %+v", pod.Status)
		}
		return nil
	})
	return pod
}

func (c *child) log(t *testing.T, pod string, o corev1.PodLogOptions) string {
	t.Helper()
	said, err := c.CoreV1().Pods(space).GetLogs(pod, &o).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}

func testJob(t *testing.T, c *child) {
	for _, err := range []error{
		second(c.CoreV1().Secrets(space).Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"k": "from a secret"},
		}, metav1.CreateOptions{})),
		second(c.CoreV1().ConfigMaps(space).Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "m"}, Data: map[string]string{"K": "from a map"},
		}, metav1.CreateOptions{})),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c.job(t, "works", corev1.RestartPolicyNever, func(s *batchv1.JobSpec) {
		in := &s.Template.Spec.Containers[0]
		in.Args = []string{"echo 1 $(S)\necho 2 $P_K\necho 3 $NS $HOME"}
		in.EnvFrom = []corev1.EnvFromSource{{Prefix: "P_",
			ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}}}}
		in.Env = []corev1.EnvVar{
			{Name: "S", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k",
			}}},
			{Name: "NS", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"},
			}},
			{Name: "HOME", Value: "/there"},
		}
	}, "/bin/sh", "-c")
	if end := c.finished(t, "works"); end != batchv1.JobComplete {
		t.Errorf("it ended %s", end)
	}
	pod := c.pod(t, "job-name=works", func(*corev1.Pod) bool { return true })
	for _, test := range []struct {
		options corev1.PodLogOptions
		want    string
	}{
		{corev1.PodLogOptions{}, "1 from a secret\n2 from a map\n3 default /there\n"},
		{corev1.PodLogOptions{Follow: true}, "1 from a secret\n2 from a map\n3 default /there\n"},
		{corev1.PodLogOptions{TailLines: new(int64(1))}, "3 default /there\n"},
		{corev1.PodLogOptions{LimitBytes: new(int64(5))}, "1 fro"},
	} {
		if got := c.log(t, pod.Name, test.options); got != test.want {
			t.Errorf("the log %+v is %q, want %q", test.options, got, test.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func testJobFails(t *testing.T, c *child) {
	c.job(t, "fails", corev1.RestartPolicyNever, nil, "/bin/sh", "-c", "echo no >&2; exit 3")
	if end := c.finished(t, "fails"); end != batchv1.JobFailed {
		t.Errorf("it ended %s", end)
	}
	pod := c.pod(t, "job-name=fails", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if s := pod.Status.ContainerStatuses[0].State.Terminated; s == nil || s.ExitCode != 3 {
		t.Errorf("the container ended %+v", s)
	}
	if got := c.log(t, pod.Name, corev1.PodLogOptions{}); got != "no\n" {
		t.Errorf("it said %q", got)
	}
	c.job(t, "absent", corev1.RestartPolicyNever, nil, "/nowhere/program")
	if end := c.finished(t, "absent"); end != batchv1.JobFailed {
		t.Errorf("it ended %s", end)
	}
}

func testJobOnFailure(t *testing.T, c *child) {
	mark := filepath.Join(t.TempDir(), "mark")
	c.job(t, "again", corev1.RestartPolicyOnFailure, func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32(3)) },
		"/bin/sh", "-c", "test -e "+mark+" && echo second && exit 0; touch "+mark+"; echo first; exit 1")
	if end := c.finished(t, "again"); end != batchv1.JobComplete {
		t.Errorf("it ended %s", end)
	}
	pod := c.pod(t, "job-name=again", func(*corev1.Pod) bool { return true })
	if n := pod.Status.ContainerStatuses[0].RestartCount; n != 1 {
		t.Errorf("it was started again %d times", n)
	}
	if now, before := c.log(t, pod.Name, corev1.PodLogOptions{}), c.log(t, pod.Name,
		corev1.PodLogOptions{Previous: true}); now != "second\n" || before != "first\n" {
		t.Errorf("it said %q and before %q", now, before)
	}
}

// testJobKilled runs a job past its deadline. The job's child processes must end as well, although
// they ignore signals.
func testJobKilled(t *testing.T, c *child) {
	c.job(t, "endless", corev1.RestartPolicyNever, func(s *batchv1.JobSpec) {
		s.ActiveDeadlineSeconds = new(int64(3))
		s.Template.Spec.TerminationGracePeriodSeconds = new(int64(1))
	}, "/bin/sh", "-c", "trap '' TERM; sleep 3600 & echo $! $$$$; while :; do wait; done")
	pod := c.pod(t, "job-name=endless", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	var pids []string
	eventually(t, func(context.Context) error {
		if pids = strings.Fields(c.log(t, pod.Name, corev1.PodLogOptions{})); len(pids) != 2 {
			return errors.New("it says nothing")
		}
		return nil
	})
	if end := c.finished(t, "endless"); end != batchv1.JobFailed {
		t.Errorf("it ended %s", end)
	}
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, func(context.Context) error {
			if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil &&
				!strings.Contains(string(state), ") Z ") {
				return fmt.Errorf("the process %d lives: %s", pid, state)
			}
			return nil
		})
	}
}

func (c *child) deployment(t *testing.T, name, image string, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": name}
	_, err := c.AppsV1().Deployments(space).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "i", Image: "first"}},
					Containers: []corev1.Container{{Name: "c", Image: image}}},
			}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func testDeployment(t *testing.T, c *child) {
	c.deployment(t, "web", "nginx", 3)
	eventually(t, func(ctx context.Context) error {
		d, err := c.AppsV1().Deployments(space).Get(ctx, "web", metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas != 3 {
			err = fmt.Errorf("it is not available: %+v", d.Status)
		}
		return err
	})
}

// warned waits for a Warning event of a pod.
func (c *child) warned(t *testing.T, pod, reason string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		list, err := c.CoreV1().Events(space).List(ctx,
			metav1.ListOptions{FieldSelector: "type=Warning,reason=" + reason + ",involvedObject.name=" + pod})
		if err == nil && len(list.Items) == 0 {
			err = fmt.Errorf("there is no event %s of %s", reason, pod)
		}
		return err
	})
}

func waits(p *corev1.Pod, reason string) bool {
	s := p.Status.ContainerStatuses
	return len(s) == 1 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == reason
}

func testMissing(t *testing.T, c *child) {
	c.deployment(t, "absent", "reg.test/x/missing:1", 1)
	pod := c.pod(t, "app=absent", func(p *corev1.Pod) bool { return waits(p, "ImagePullBackOff") })
	c.warned(t, pod.Name, "Failed")
	_, err := c.CoreV1().Pods(space).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if !apierrors.IsBadRequest(err) {
		t.Errorf("its log is %v", err)
	}
}

func testCrash(t *testing.T, c *child) {
	c.deployment(t, "crashing", "crash", 1)
	pod := c.pod(t, "app=crashing", func(p *corev1.Pod) bool {
		return waits(p, "CrashLoopBackOff") && p.Status.ContainerStatuses[0].RestartCount > 0
	})
	if last := pod.Status.ContainerStatuses[0].LastTerminationState.Terminated; last == nil || last.ExitCode != 1 {
		t.Errorf("its last end is %+v", last)
	}
	c.warned(t, pod.Name, "BackOff")
	if got := c.log(t, pod.Name, corev1.PodLogOptions{TailLines: new(int64(2))}); got != "connecting to the database\n"+
		"fatal: connection refused\n" {
		t.Errorf("it said %q", got)
	}
}

func testVolumes(t *testing.T, c *child) {
	labels := map[string]string{"app": "db"}
	_, err := c.AppsV1().StatefulSets(space).Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(2)), ServiceName: "db", Selector: &metav1.LabelSelector{MatchLabels: labels},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "slow-1"}}},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "d"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")},
					},
				}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		s, err := c.AppsV1().StatefulSets(space).Get(ctx, "db", metav1.GetOptions{})
		if err == nil && s.Status.ReadyReplicas != 2 {
			err = fmt.Errorf("it is not ready: %+v", s.Status)
		}
		return err
	})
	if err := c.AppsV1().StatefulSets(space).Delete(t.Context(), "db", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		list, err := c.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d volumes are left", len(list.Items))
		}
		return err
	})
}

func testBalancer(t *testing.T, c *child) {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "lb"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := c.CoreV1().Services(space).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		s, err := c.CoreV1().Services(space).Get(ctx, "lb", metav1.GetOptions{})
		if err == nil && (len(s.Status.LoadBalancer.Ingress) != 1 ||
			!strings.HasPrefix(s.Status.LoadBalancer.Ingress[0].IP, "10.2.")) {
			err = fmt.Errorf("it has no address: %+v", s.Status)
		}
		return err
	})
}
