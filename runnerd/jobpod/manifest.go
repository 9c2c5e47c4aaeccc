package jobpod

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// labelManager and labelJob are the labels of all objects of this package.
	labelManager, manager = "app.kubernetes.io/managed-by", "nuon-runner"
	labelJob              = "runner.nuon.co/job"
	// annotationAttempt names the attempt, <job>/<number>.
	annotationAttempt = "runner.nuon.co/attempt"
	// finalizer keeps the pod until the runner has recorded how it ended, also while no runner runs.
	finalizer = "runner.nuon.co/end-recorded"
	// container is the name of the only container.
	container = "job"
	// deadlineMargin is how much later than the runner the cluster ends a job that takes too long, and
	// keepFinished how long it keeps a Job whose end is recorded.
	deadlineMargin, keepFinished = time.Minute, 10 * time.Minute
)

// The volumes of a pod.
const (
	volumeRunner, volumeKey, volumeTemp = "runner", "install-key", "tmp"
	// tempDir is where programs write temporary files.
	tempDir = "/tmp"
)

// sharedDirs are the directories of the runner that jobs share, as they do as processes: workspaces, which need the
// same path in two jobs, caches, and what jobs leave for the runner's owner.
var sharedDirs = []string{"work", "modules", "tools", "blobs", "transfer", "secrets", "states", "grants", "transcripts",
	"audit"}

// jobName returns the name of an attempt's Job. Ids come from the control plane; the hash makes the name unique among
// ids that differ in what a name cannot have, and among runners of one namespace.
func jobName(runner, job string, attempt int) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, job)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", runner, job, attempt))
	return fmt.Sprintf("nuon-%s-%s", strings.Trim(plain[:min(len(plain), 36)], "-"), hex.EncodeToString(sum[:5]))
}

// keySecret returns the name of the Secret with the install key.
func keySecret(fingerprint string) string {
	sum := sha256.Sum256([]byte(fingerprint))
	return "nuon-install-key-" + hex.EncodeToString(sum[:5])
}

// manifest returns the Job of an attempt. node is the only node that can mount the claim; empty for any.
func (p *Pod) manifest(node string) *batchv1.Job {
	r := p.request
	labels := map[string]string{labelManager: manager, labelJob: p.seen.Job}
	about := map[string]string{annotationAttempt: p.name()}
	kept := maps.Clone(about)
	if r.Changes {
		// What scales a cluster down leaves the pod alone.
		kept["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "false"
		kept["karpenter.sh/do-not-disrupt"] = "true"
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: p.seen.Job, Namespace: p.seen.Namespace, Labels: labels, Annotations: about},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(1)), Completions: new(int32(1)), BackoffLimit: new(int32(0)),
			PodReplacementPolicy:  new(batchv1.Failed),
			ActiveDeadlineSeconds: new(seconds(r.Timeout + p.runner.Timing.JobGrace + deadlineMargin)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: kept, Finalizers: []string{finalizer}},
				Spec:       p.podSpec(node),
			},
		},
	}
}

// podSpec returns the spec of the pod.
func (p *Pod) podSpec(node string) corev1.PodSpec {
	r := p.request
	volumes, mounts := p.volumes()
	spec := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: r.ServiceAccount,
		AutomountServiceAccountToken: new(r.Token), EnableServiceLinks: new(false),
		TerminationGracePeriodSeconds: new(seconds(p.runner.Timing.JobGrace)),
		NodeSelector:                  r.Executor.NodeSelector,
		Volumes:                       volumes,
		SecurityContext: &corev1.PodSecurityContext{
			// The user of the runner, to whom the files of its directory belong.
			RunAsUser: new(int64(os.Getuid())), RunAsGroup: new(int64(os.Getgid())), RunAsNonRoot: new(os.Getuid() != 0),
			FSGroup: new(int64(os.Getgid())), FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: container, Image: p.image(), Command: p.runner.Command, Args: []string{"--dir", p.dir.Dir},
			Env: p.environ(), VolumeMounts: mounts,
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
	if r.Memory > 0 {
		limit := corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(r.Memory, resource.BinarySI)}
		spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: limit, Limits: limit}
	}
	if node != "" {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{
					{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
			}}},
		}}
	}
	return spec
}

// volumes returns the volumes of the pod and where they are mounted: of the runner's directory the attempt's own spool
// and what jobs share, each at its own path, and the install key if the job opens sealed values.
func (p *Pod) volumes() ([]corev1.Volume, []corev1.VolumeMount) {
	root := p.runner.Dir
	own, _ := filepath.Rel(root, p.dir.Dir) // it is below root
	volumes := []corev1.Volume{
		{Name: volumeRunner, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: p.request.Executor.Claim}}},
		{Name: volumeTemp, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	mounts := []corev1.VolumeMount{{Name: volumeTemp, MountPath: tempDir}}
	for _, part := range append([]string{own}, sharedDirs...) {
		mounts = append(mounts, corev1.VolumeMount{Name: volumeRunner, MountPath: filepath.Join(root, part),
			SubPath:  filepath.Join(p.request.Executor.ClaimPath, part),
			ReadOnly: part == "states" || part == "grants"})
	}
	if p.request.OpensSealed {
		file := filepath.Base(p.runner.KeyFile)
		volumes = append(volumes, corev1.Volume{Name: volumeKey, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: keySecret(p.runner.Fingerprint), DefaultMode: new(int32(0o400))}}})
		mounts = append(mounts, corev1.VolumeMount{Name: volumeKey, MountPath: p.runner.KeyFile, SubPath: file,
			ReadOnly: true})
	}
	return volumes, mounts
}

// environ returns the variables of the container. None of them is a secret: everyone who may read pods sees them.
func (p *Pod) environ() []corev1.EnvVar {
	made := []corev1.EnvVar{{Name: "HOME", Value: tempDir}, {Name: "TMPDIR", Value: tempDir}}
	for _, name := range slices.Sorted(maps.Keys(p.request.Environ)) {
		made = append(made, corev1.EnvVar{Name: name, Value: p.request.Environ[name]})
	}
	return made
}

// image returns the image of the pod.
func (p *Pod) image() string {
	if p.request.Executor.Image != "" {
		return p.request.Executor.Image
	}
	return p.runner.Image
}

// seconds returns a duration in whole seconds, at least one.
func seconds(d time.Duration) int64 { return max(1, int64((d+time.Second-1)/time.Second)) }
