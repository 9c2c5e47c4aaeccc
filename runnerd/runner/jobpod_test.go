package runner_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
	"github.com/nuon-toolkit/nuon/runnerd/runner"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// nowhere is a line of the section about the executor: no node has the label, so the test decides where a pod runs.
const nowhere = "node_selector = {\"nuon.test/node\" = \"none\"}\n"

// job returns the only Job of the namespace.
func (p *place) job(t *testing.T) *batchv1.Job {
	t.Helper()
	all, err := p.BatchV1().Jobs(p.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) != 1 {
		t.Fatalf("there are %d Jobs: %v", len(all.Items), err)
	}
	return &all.Items[0]
}

// account makes a service account.
func (p *place) account(t *testing.T, name string) {
	t.Helper()
	_, err := p.CoreV1().ServiceAccounts(p.namespace).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// startOn makes a node without a kubelet, and plays its part: the pod of the only job starts there, and takes what the
// runner hands over.
func (p *place) startOn(t *testing.T) (node string, pod *corev1.Pod) {
	t.Helper()
	node = clustertest.Name("node")
	_, err := p.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec: corev1.NodeSpec{Unschedulable: true}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test may have removed it.
		_ = p.CoreV1().Nodes().Delete(context.Background(), node, metav1.DeleteOptions{})
	})
	pod = p.awaitPod(t)
	if err := p.CoreV1().Pods(p.namespace).Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name},
		Target: corev1.ObjectReference{Kind: "Node", Name: node}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := spool.TakeHandover(filepath.Join(p.dir, "spool", "job_1.1", "handover.json")); err != nil {
		t.Fatal(err)
	}
	p.report(t, pod, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	testtime.Until(t, "the runner has seen where the pod runs", func() bool {
		seen, _, err := spool.Attempt{Dir: filepath.Join(p.dir, "spool", "job_1.1")}.Pod()
		return err == nil && seen.Node == node
	})
	return node, pod
}

// report reports the state of the container, as the kubelet does.
func (p *place) report(t *testing.T, pod *corev1.Pod, state corev1.ContainerState) {
	t.Helper()
	p.update(t, pod, true, func(now *corev1.Pod) {
		now.Status.Phase = corev1.PodRunning
		if state.Terminated != nil {
			now.Status.Phase = corev1.PodFailed
		}
		now.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "job", Image: "i", ImageID: "i", State: state}}
		now.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	})
}

// vanish removes the pod from the API, as a person does who forces it: without a report of the kubelet.
func (p *place) vanish(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	err := p.CoreV1().Pods(p.namespace).Delete(t.Context(), pod.Name,
		metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	if err != nil {
		t.Fatal(err)
	}
	testtime.Until(t, "the pod is gone", func() bool {
		now, err := p.CoreV1().Pods(p.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true
		}
		if err == nil {
			now.Finalizers = nil
			_, _ = p.CoreV1().Pods(p.namespace).Update(t.Context(), now, metav1.UpdateOptions{})
		}
		return false
	})
}

// status returns the status of the only attempt, as runnerd status prints it.
func (p *place) status(t *testing.T) string {
	t.Helper()
	status, err := runner.ReadStatus(runner.StatusOptions{Dir: p.dir})
	if err != nil || len(status.Attempts) != 1 {
		t.Fatalf("%+v, %v", status.Attempts, err)
	}
	return status.Attempts[0].Status
}

// TestPodOfAJob checks what the Job and the pod of an attempt look like.
func TestPodOfAJob(t *testing.T) {
	t.Parallel()
	s, p := newServer(t), newPlace(t)
	for _, name := range []string{"nuon-apply", "nuon-sync"} {
		p.account(t, name)
	}
	p.write(t, nowhere+"claim_path = \"runners/one\"\nservice_accounts = {apply = \"nuon-apply\", sync = \"nuon-sync\"}\n"+
		"[limits]\nmemory = \"512 MiB\"\ntimeout = \"5m\"\n")
	applies := s.enqueue("job_1", "none", nil)
	s.with(func() { applies.spec.Kind, applies.componentKind = api.JobSpecKindApply, "helm_chart" })
	s.with(func() { applies.spec.Apply.Deploy.ComponentKind = "helm_chart" })
	work(t, s, p.dir, func(o *runner.Options) { o.RegistryUsername = "planted-user" })
	pod, job := p.awaitPod(t), p.job(t)
	if got := job.Spec; *got.BackoffLimit != 0 || *got.PodReplacementPolicy != batchv1.Failed ||
		*got.ActiveDeadlineSeconds != 300+60+60 || got.TTLSecondsAfterFinished != nil {
		t.Errorf("the Job is %+v", got)
	}
	container, spec := pod.Spec.Containers[0], pod.Spec
	if spec.ServiceAccountName != "nuon-apply" || !*spec.AutomountServiceAccountToken ||
		*spec.TerminationGracePeriodSeconds != 60 || spec.RestartPolicy != corev1.RestartPolicyNever ||
		container.Resources.Limits.Memory().String() != "512Mi" || *container.SecurityContext.AllowPrivilegeEscalation ||
		!*container.SecurityContext.ReadOnlyRootFilesystem ||
		!slices.Equal(container.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("the pod is %+v", spec)
	}
	if pod.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] != "false" ||
		pod.Annotations["karpenter.sh/do-not-disrupt"] != "true" || !slices.Contains(pod.Finalizers,
		"runner.nuon.co/end-recorded") {
		t.Errorf("the pod is %+v", pod.ObjectMeta)
	}
	text, err := json.Marshal(job)
	if err != nil || strings.Contains(string(text), "attempt-token") || strings.Contains(string(text), "planted") {
		t.Errorf("the Job has a secret: %s, %v", text, err)
	}
	checkMounts(t, p.dir, pod)
	for _, volume := range spec.Volumes {
		if volume.Secret == nil {
			continue
		}
		key, err := p.CoreV1().Secrets(p.namespace).Get(t.Context(), volume.Secret.SecretName, metav1.GetOptions{})
		own, readErr := os.ReadFile(runner.KeyFile(p.dir))
		if err != nil || readErr != nil || !*key.Immutable || string(key.Data["install.key"]) != string(own) {
			t.Errorf("the install key is %+v, %v, %v", key, err, readErr)
		}
	}
	s.with(func() { applies.cancel = true })
	s.until("it is cancelled", applies.ended)
	syncs := s.enqueue("job_2", "none", nil)
	s.with(func() { syncs.spec.Kind, syncs.componentKind = api.JobSpecKindSync, "helm_chart" })
	s.with(func() { syncs.spec.Sync.ComponentKind = "helm_chart" })
	testtime.Until(t, "the other pod is gone", func() bool {
		now := p.pods(t)
		return len(now) == 1 && now[0].Name != pod.Name
	})
	pod = p.pod(t)
	hasSecret := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil })
	if *pod.Spec.AutomountServiceAccountToken || pod.Spec.ServiceAccountName != "nuon-sync" ||
		len(pod.Annotations) != 1 || hasSecret {
		t.Errorf("the pod of a sync is %+v, %+v", pod.Annotations, pod.Spec)
	}
	s.with(func() { syncs.cancel = true })
	s.until("it is cancelled", syncs.ended)
}

// checkMounts checks that a pod sees its own part of the runner's directory at the path of the runner, and none of the
// files that only the runner may read.
func checkMounts(t *testing.T, dir string, pod *corev1.Pod) {
	t.Helper()
	at := map[string]string{}
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		at[mount.MountPath] = mount.Name
		if mount.Name == "runner" && (mount.SubPath == "" || mount.SubPath !=
			filepath.Join("runners/one", strings.TrimPrefix(mount.MountPath, dir))) {
			t.Errorf("%s is %q of the volume", mount.MountPath, mount.SubPath)
		}
		only := slices.Contains([]string{"states", "grants"}, filepath.Base(mount.MountPath))
		if mount.Name == "runner" && mount.ReadOnly != only {
			t.Errorf("%s is mounted for reading alone: %v", mount.MountPath, mount.ReadOnly)
		}
	}
	for path, volume := range map[string]string{
		"spool/job_1.1": "runner", "work": "runner", "states": "runner", "grants": "runner", "audit": "runner",
		"install.key": "install-key",
		"transcripts": "runner",
		"spool":       "", "pods": "", "undelivered": "", "runner.toml": "", "runner.json": "", "runnerd.lock": "",
	} {
		if at[filepath.Join(dir, path)] != volume {
			t.Errorf("%s is of the volume %q", path, at[filepath.Join(dir, path)])
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		switch _, mounted := at[filepath.Join(dir, entry.Name())]; {
		case mounted, slices.Contains([]string{"spool", "pods", "runnerlog", "kubeconfig"}, entry.Name()):
		case entry.IsDir():
			t.Errorf("the directory %s is not mounted", entry.Name())
		}
	}
}

// TestEndOfAPod checks what counts as the end of a job process, and what becomes of the attempt.
func TestEndOfAPod(t *testing.T) {
	t.Parallel()
	terminated := func(reason string, code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code}}
	}
	for name, test := range map[string]struct {
		do           func(*testing.T, *place, string, *corev1.Pod)
		status, text string
	}{
		"evicted": {func(t *testing.T, p *place, _ string, pod *corev1.Pod) {
			p.report(t, pod, terminated("Error", 137))
			p.update(t, pod, true, func(now *corev1.Pod) {
				now.Status.Reason, now.Status.Message = "Evicted", "The node was low on resource: memory."
			})
		}, "lost", "nothing more runs here; pod "},
		"out of memory": {func(t *testing.T, p *place, _ string, pod *corev1.Pod) {
			p.report(t, pod, terminated("OOMKilled", 137))
		}, "failed", "more than its limit of 512 MiB"},
		"removed by force, and its node too": {func(t *testing.T, p *place, node string, pod *corev1.Pod) {
			p.vanish(t, pod)
			p.awaitUnknown(t)
			if err := p.CoreV1().Nodes().Delete(t.Context(), node, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, "lost", "was removed from the cluster"},
		"removed by force, and a person confirms it": {func(t *testing.T, p *place, _ string, pod *corev1.Pod) {
			p.vanish(t, pod)
			p.awaitUnknown(t)
			p.confirm(t)
		}, "lost", "the runner's owner confirmed"},
		"its node does not report, and a person confirms it": {func(t *testing.T, p *place, _ string, pod *corev1.Pod) {
			p.loseNode(t, pod)
			p.awaitUnknown(t)
			p.confirm(t)
		}, "lost", "the runner's owner confirmed"},
		"its node does not report, and comes back": {func(t *testing.T, p *place, _ string, pod *corev1.Pod) {
			p.loseNode(t, pod)
			p.awaitUnknown(t)
			p.report(t, pod, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
			testtime.Until(t, "it runs again", func() bool { return p.status(t) == "running" })
			p.report(t, pod, terminated("Error", 2))
		}, "lost", "Error (exit code 2)"},
		"its node is removed": {func(t *testing.T, p *place, node string, pod *corev1.Pod) {
			p.loseNode(t, pod)
			p.awaitUnknown(t)
			if err := p.CoreV1().Nodes().Delete(t.Context(), node, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, "lost", "was removed from the cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := newServer(t), newPlace(t)
			p.write(t, nowhere+"[limits]\nmemory = \"512 MiB\"\n")
			job := s.enqueue("job_1", "none", nil)
			work(t, s, p.dir)
			node, pod := p.startOn(t)
			test.do(t, p, node, pod)
			s.until("the result is there", job.ended)
			if string(job.result.Status) != test.status || !strings.Contains(job.result.Error, test.text) {
				t.Errorf("got %+v", job.result)
			}
			spoolIsEmpty(t, p.dir)
		})
	}
}

// loseNode reports what the node controller reports when it does not hear the kubelet.
func (p *place) loseNode(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	p.update(t, pod, true, func(now *corev1.Pod) {
		now.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	})
}

// confirm confirms that nothing of the only attempt runs, as runnerd confirm-ended does.
func (p *place) confirm(t *testing.T) {
	t.Helper()
	if err := (spool.Attempt{Dir: filepath.Join(p.dir, "spool", "job_1.1")}).ConfirmEnded(time.Now()); err != nil {
		t.Fatal(err)
	}
}

// awaitUnknown waits until the runner does not know whether the job process runs, and checks that it says so and
// reports nothing.
func (p *place) awaitUnknown(t *testing.T) {
	t.Helper()
	testtime.Until(t, "it is unknown whether the job runs", func() bool {
		return strings.Contains(p.status(t), "unknown; see its log")
	})
}

// TestRunnerSeesAnEndThatItMissed checks that the end of a pod is proven that ended, and was deleted by force, while no
// runner ran.
func TestRunnerSeesAnEndThatItMissed(t *testing.T) {
	t.Parallel()
	s, p := newServer(t), newPlace(t)
	job := s.enqueue("job_1", "wait", map[string]string{"file": "never"})
	w := work(t, s, p.dir)
	s.until("it runs", job.runs)
	w.end(t)
	pod := p.pod(t)
	err := p.CoreV1().Pods(p.namespace).Delete(t.Context(), pod.Name,
		metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	if err != nil {
		t.Fatal(err)
	}
	testtime.Until(t, "the kubelet has reported the end", func() bool {
		now := p.pod(t)
		return now != nil && len(now.Status.ContainerStatuses) == 1 && now.Status.ContainerStatuses[0].State.Terminated != nil
	})
	work(t, s, p.dir)
	s.until("the result is there", job.ended)
	spoolIsEmpty(t, p.dir)
	testtime.Until(t, "the pod is gone", func() bool { return p.pod(t) == nil })
}

// TestPodThatDoesNotStart checks jobs whose pod never starts: they fail, with the reason, and nothing of them can
// start later.
func TestPodThatDoesNotStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file   string
		before func(*testing.T, *place)
		change func(*runner.Options)
		late   bool // the job fails when the time to start is over
		status string
		text   string
	}{
		"no node has room": {file: nowhere, late: true, status: "failed",
			text: `did not start within \S+: Unschedulable: `},
		"no image": {late: true,
			before: func(t *testing.T, p *place) {
				p.image = "registry.test/missing" // which the cluster of the tests does not pull
				p.write(t, "")
			}, status: "failed", text: `did not start within \S+: (ErrImagePull|ImagePullBackOff): `},
		"a quota": {late: true,
			before: func(t *testing.T, p *place) {
				if _, err := p.CoreV1().ResourceQuotas(p.namespace).Create(t.Context(), &corev1.ResourceQuota{
					ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
						corev1.ResourcePods: resource.MustParse("0")}}}, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				testtime.Until(t, "the quota counts", func() bool {
					now, err := p.CoreV1().ResourceQuotas(p.namespace).Get(t.Context(), "none", metav1.GetOptions{})
					return err == nil && len(now.Status.Hard) > 0
				})
			}, status: "failed", text: "exceeded quota: none"},
		"no claim": {before: func(t *testing.T, p *place) {
			if err := p.CoreV1().PersistentVolumeClaims(p.namespace).Delete(t.Context(), "runner",
				metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			testtime.Until(t, "the claim is gone", func() bool {
				_, err := p.CoreV1().PersistentVolumeClaims(p.namespace).Get(t.Context(), "runner", metav1.GetOptions{})
				return apierrors.IsNotFound(err)
			})
		}, status: "failed", text: `persistentvolumeclaims "runner" not found`},
		"no such program": {change: func(o *runner.Options) { o.Job = []string{"/nonexistent/runnerd", "job"} },
			status: "failed", text: "ended before the job process started: StartError"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A busy cluster may not have said why the pod does not start when the time to start is over.
			for within := 15 * time.Second; ; within *= 2 {
				s, p := newServer(t), newPlace(t)
				p.write(t, test.file)
				if test.before != nil {
					test.before(t, p)
				}
				job := s.enqueue("job_1", "wait", map[string]string{"file": "never"})
				w := work(t, s, p.dir, func(o *runner.Options) {
					if test.late {
						o.Timing.PodStart = within
					}
					if test.change != nil {
						test.change(o)
					}
				})
				s.until("the result is there", job.ended)
				spoolIsEmpty(t, p.dir)
				if string(job.result.Status) == test.status && regexp.MustCompile(test.text).MatchString(job.result.Error) {
					return
				}
				if !test.late || within > testtime.Limit/2 {
					t.Fatalf("got %+v", job.result)
				}
				w.end(t)
			}
		})
	}
}

// TestAJobThatIsDeletedBeforeItStarts checks that the attempt is given back, because nothing of it ran.
func TestAJobThatIsDeletedBeforeItStarts(t *testing.T) {
	t.Parallel()
	s, p := newServer(t), newPlace(t)
	p.write(t, nowhere)
	job := s.enqueue("job_1", "wait", map[string]string{"file": "never"})
	work(t, s, p.dir)
	p.awaitPod(t)
	if err := p.BatchV1().Jobs(p.namespace).Delete(t.Context(), p.job(t).Name, metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationBackground)}); err != nil {
		t.Fatal(err)
	}
	s.until("the result is there", job.ended)
	if job.result.Status != "lost" || !strings.Contains(job.result.Error, "nothing of this job ran") {
		t.Errorf("got %+v", job.result)
	}
}

// TestAccountsOfRoles checks that a job whose role has an account runs as that account, and starts no session of the
// role, unless the role needs a grant.
func TestAccountsOfRoles(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind, account, text string
		ends                api.JobResultStatus
	}{
		"a role with an account": {"maintenance", "nuon-maintenance",
			"act as the service account nuon-maintenance (trigger)", api.JobResultStatusSucceeded},
		"a role that needs a grant": {"break_glass", "default", "has not granted it", api.JobResultStatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := newServer(t), newPlace(t)
			p.account(t, "nuon-maintenance")
			p.write(t, "roles = {"+oneInstall+"-maintenance = \"nuon-maintenance\"}\n")
			job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
			s.with(func() {
				job.spec.Action.InstallID = oneInstall
				job.spec.Role = api.OperationRole{Cloud: "aws", Name: oneInstall + "-maintenance", Key: "maintenance",
					Kind: test.kind, Operation: "trigger"}
			})
			work(t, s, p.dir)
			pod := p.awaitPod(t)
			s.until("the result is there", job.ended)
			if pod.Spec.ServiceAccountName != test.account {
				t.Errorf("the pod runs as %s", pod.Spec.ServiceAccountName)
			}
			s.with(func() {
				if said := strings.Join(job.messages(), "\n") + job.result.Error; !strings.Contains(said, test.text) {
					t.Errorf("it says %s", said)
				}
				if job.result.Status != test.ends {
					t.Errorf("it ends as %s: %s", job.result.Status, job.result.Error)
				}
			})
		})
	}
}

// TestAForbiddenSpecGetsNoPod checks that no pod is created for a job that the runner file forbids.
func TestAForbiddenSpecGetsNoPod(t *testing.T) {
	t.Parallel()
	s, p := newServer(t), newPlace(t)
	job := s.enqueue("job_1", "log", nil)
	s.with(func() { job.offeredKind = "plan" })
	work(t, s, p.dir)
	s.until("the result is there", job.ended)
	if job.result.Status != "failed" || !strings.Contains(job.result.Error, "offered as plan") || p.pod(t) != nil {
		t.Errorf("got %+v, and the pod %v", job.result, p.pod(t))
	}
}

// TestAPodDoesOnlyWhatWasChecked checks that the pod of a job does not do another job than the one that runnerd has
// checked and remembers.
func TestAPodDoesOnlyWhatWasChecked(t *testing.T) {
	t.Parallel()
	s, p := newServer(t), newPlace(t)
	job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
	s.with(func() {
		later := job.spec
		later.Action.Env = map[string]string{"lines": "2"}
		job.later = &later
	})
	work(t, s, p.dir)
	s.until("the result is there", job.ended)
	s.with(func() {
		if job.result.Status != api.JobResultStatusFailed || !strings.Contains(job.result.Error, "sent another spec") {
			t.Errorf("got %+v", job.result)
		}
	})
}

// TestKilledRunnersAndPods kills a runnerd whose jobs are pods at each step, as TestEveryPlug does with processes. The
// second create of the next one finds the Job of the first.
func TestKilledRunnersAndPods(t *testing.T) {
	t.Parallel()
	clustertest.Kubeconfig(t)
	for _, at := range steps {
		if at.name == "accepted" || at.name == "started" {
			continue // the runner itself reads the spec before it starts the job
		}
		t.Run(at.name, func(t *testing.T) { pullIn(t, at, "runnerd", newPlace(t).dir) })
	}
}

// TestNodeOfAClaim checks that pods run on the node of the runner if only one node can mount the volume, and that the
// runner has to know that node.
func TestNodeOfAClaim(t *testing.T) {
	for _, node := range []string{"", "nuon-0"} {
		s, p := newServer(t), newPlace(t)
		if _, err := p.CoreV1().PersistentVolumeClaims(p.namespace).Create(t.Context(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "single"},
			Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceStorage: resource.MustParse("1Gi")}}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Setenv(runner.VarNode, node)
		t.Setenv(runner.VarImage, "registry.test/runner")
		writeRules(t, p.dir, "[executor]\nkind = \"kubernetes\"\nnamespace = \""+p.namespace+"\"\nclaim = \"single\"\n")
		job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
		work(t, s, p.dir)
		s.until("the result is there", job.ended)
		if node == "" {
			if job.result.Status != "failed" || !strings.Contains(job.result.Error, "set NUON_RUNNER_NODE") {
				t.Errorf("got %+v", job.result)
			}
			continue
		}
		affinity := p.job(t).Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		if got := affinity.NodeSelectorTerms[0].MatchFields[0].Values; job.result.Status != "succeeded" ||
			!slices.Equal(got, []string{node}) {
			t.Errorf("got %+v, on %v", job.result, got)
		}
	}
}

// TestPermissionsOfTheDocs runs jobs with the permissions that docs/executors.md gives the runner, and no others: one
// that succeeds, and one that is cancelled.
func TestPermissionsOfTheDocs(t *testing.T) {
	t.Parallel()
	s, p := newServer(t), newPlace(t)
	page, err := os.ReadFile("../../docs/executors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\napiVersion")
	text, _, _ = strings.Cut("apiVersion"+text, "```")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "namespace: nuon}", "namespace: "+p.namespace+"}"),
		"nuon-runner-nodes", p.namespace)
	made := clustertest.Create(t, clustertest.Open(t), p.namespace, strings.TrimSuffix(text, "\n"))
	t.Cleanup(func() {
		for _, ref := range made {
			if strings.HasPrefix(ref.Kind, "ClusterRole") {
				ref.Namespace = ""
				clustertest.Delete(t, clustertest.Open(t), ref)
			}
		}
	})
	token, err := p.CoreV1().ServiceAccounts(p.namespace).CreateToken(t.Context(), "nuon-runner",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(kubeconfigIn(p.dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Token = token.Status.Token
	}
	if err := clientcmd.WriteToFile(*config, kubeconfigIn(p.dir)); err != nil {
		t.Fatal(err)
	}
	account := "system:serviceaccount:" + p.namespace + ":nuon-runner"
	clustertest.AwaitPermission(t, clustertest.Open(t), account, "create", "secrets", p.namespace)
	clustertest.AwaitPermission(t, clustertest.Open(t), account, "get", "nodes", "")
	first := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
	work(t, s, p.dir)
	s.until("the result is there", first.ended)
	second := s.enqueue("job_2", "wait", map[string]string{"file": "never"})
	s.until("it runs", func() bool { return len(second.lines) > 0 })
	s.with(func() { second.cancel = true })
	s.until("the result is there", second.ended)
	s.with(func() {
		if first.result.Status != "succeeded" || second.result.Status != "cancelled" ||
			strings.Contains(s.said(), "forbidden") {
			t.Errorf("got %+v, %+v, and the runner says %s", first.result, second.result, s.said())
		}
	})
	testtime.Until(t, "the pod that was deleted is gone", func() bool { return len(p.pods(t)) < 2 })
}
