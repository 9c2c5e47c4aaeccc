package jobpod

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// Alive reports whether the job process may run. It returns false only with a proof, which it has stored.
func (p *Pod) Alive(ctx context.Context) (bool, error) {
	if err := p.load(); err != nil {
		return true, err
	}
	if p.seen.Ended != nil {
		return false, nil
	}
	if p.watched == nil {
		started, _, err := p.dir.Started()
		if err != nil {
			return true, err
		}
		p.startBy = started.Add(p.startLimit())
		p.watched = follow(ctx, p.client, p.seen.Namespace, p.seen.Job)
	}
	pod := p.watched.pod(p.seen.UID)
	if pod != nil {
		if err := p.note(pod); err != nil {
			return true, err
		}
	}
	switch {
	case p.seen.Unproven != "" && p.dir.IsConfirmedEnded():
		return p.end(ctx, spool.PodEnd{Proof: spool.ProofOwner,
			Message: "the runner's owner confirmed that nothing of it runs"})
	case !p.watched.synced():
		return true, nil
	case pod != nil:
		return p.judge(ctx, pod)
	}
	return p.withoutPod(ctx)
}

// Changes returns a channel that receives an element when the pod has changed; nil before the first call of Alive.
func (p *Pod) Changes() <-chan struct{} {
	if p.watched == nil {
		return nil
	}
	return p.watched.changed
}

// note records which pod it is, and where it runs: what is needed when it is gone.
func (p *Pod) note(pod *corev1.Pod) error {
	now := p.seen
	now.Created, now.Name, now.UID = true, pod.Name, string(pod.UID)
	if isReady(pod) {
		now.Unproven = ""
		if err := p.dir.ClearConfirmation(); err != nil {
			return err
		}
	}
	if pod.Spec.NodeName != "" {
		now.Node = pod.Spec.NodeName
	}
	if now == p.seen {
		return nil
	}
	p.seen = now
	return p.dir.SavePod(now)
}

// end stores the proof that the job process does not run. A report about one pod is none if the job process may run
// in another pod of the Job: a Job can get two, and only one of them has the job process.
func (p *Pod) end(ctx context.Context, proof spool.PodEnd) (alive bool, err error) {
	if proof.Proof == spool.ProofKubelet || proof.Proof == spool.ProofNode {
		other, err := p.otherWithNode(ctx)
		if err != nil {
			return true, err
		}
		if other != nil {
			p.seen.Node, p.seen.Unproven = "", ""
			return true, p.note(other)
		}
	}
	p.seen.Ended, p.seen.Unproven = &proof, ""
	if err := p.dir.SavePod(p.seen); err != nil {
		p.seen.Ended = nil
		return true, err
	}
	return false, nil
}

// otherWithNode returns a pod of the Job, other than the one seen, in which the job process may run after it took what
// it needs; nil if there is none. A pod without a node is none, such as the one that the Job gets when somebody removes
// its pod by force. What is followed can be late, so the API is asked.
func (p *Pod) otherWithNode(ctx context.Context) (*corev1.Pod, error) {
	for _, other := range p.watched.others(p.seen.UID) {
		if other.Spec.NodeName == "" {
			now, err := p.read(ctx, other)
			if err != nil {
				return nil, err
			}
			other = now
		}
		if other != nil && other.Spec.NodeName != "" && mayRun(other) {
			return other, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// read returns a pod that is followed, as the API has it now; nil if it is gone.
func (p *Pod) read(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now, err := p.client.CoreV1().Pods(p.seen.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	switch {
	case isGone(err), err == nil && now.UID != pod.UID:
		return nil, nil //nolint:nilnil // it is gone
	case err != nil:
		return nil, fmt.Errorf("read the pod %s: %w", pod.Name, err)
	}
	return now, nil
}

// neverStarts takes back what the job process needs. If it had not taken that yet, it never starts.
func (p *Pod) neverStarts(ctx context.Context, proof spool.PodEnd) (never bool, err error) {
	withdrawn, err := p.dir.WithdrawHandover()
	if err != nil || !withdrawn {
		return false, err
	}
	proof.Proof = spool.ProofNotStarted
	alive, err := p.end(ctx, proof)
	return !alive, err
}

// judge reports whether the job process of an existing pod may run.
func (p *Pod) judge(ctx context.Context, pod *corev1.Pod) (bool, error) {
	status, there := containerStatus(pod)
	if status.State.Terminated != nil {
		return p.terminated(ctx, pod, *status.State.Terminated)
	}
	if !there || status.State.Running == nil {
		return p.waitForStart(ctx, pod)
	}
	if pod.DeletionTimestamp == nil && isReady(pod) || !p.isDue() {
		return true, nil
	}
	return p.withoutNode(ctx)
}

// terminated stores the kubelet's report that the container has terminated. If the job process never took what it
// needs, it did not get as far as to start: another one would not either, unless something evicted the pod.
func (p *Pod) terminated(ctx context.Context, pod *corev1.Pod, ended corev1.ContainerStateTerminated) (bool, error) {
	proof := spool.PodEnd{Proof: spool.ProofKubelet, Reason: ended.Reason, Message: ended.Message,
		ExitCode: ended.ExitCode}
	if pod.Status.Reason != "" { // such as Evicted
		proof.Reason, proof.Message = pod.Status.Reason, pod.Status.Message
	}
	unstarted := proof
	unstarted.Failed = pod.Status.Reason == ""
	unstarted.Message = fmt.Sprintf("the container of the pod %s ended before the job process started: %s; check that "+
		"the image has the runner of this version at the same path", pod.Name,
		strings.TrimSuffix(ended.Reason+": "+ended.Message, ": "))
	if never, err := p.neverStarts(ctx, unstarted); err != nil || never {
		return !never, err
	}
	return p.end(ctx, proof)
}

// containerStatus returns the kubelet's last report about the job process.
func containerStatus(pod *corev1.Pod) (corev1.ContainerStatus, bool) {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == container {
			return status, true
		}
	}
	return corev1.ContainerStatus{}, false
}

// isReady reports whether the node of the pod is known to live: without a probe, a running pod is ready as long as its
// kubelet reports.
func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// waitForStart waits for a pod that has not started, as long as it can.
func (p *Pod) waitForStart(ctx context.Context, pod *corev1.Pod) (bool, error) {
	if pod.Spec.NodeName == "" && !p.dir.HasHandover() {
		return p.startedElsewhere(ctx, pod)
	}
	why := whyWaiting(pod)
	over := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded || pod.DeletionTimestamp != nil
	late := time.Now().After(p.startBy)
	if !over && !late {
		return true, p.say(why)
	}
	proof := spool.PodEnd{Reason: pod.Status.Reason, Message: p.notStarted(why), Failed: !over}
	if over {
		proof.Message = fmt.Sprintf("the pod %s ended before it started: %s", pod.Name, why)
	}
	never, err := p.neverStarts(ctx, proof)
	if err != nil || never || !over || !p.isDue() {
		return !never, err
	}
	return p.withoutNode(ctx)
}

// startedElsewhere reports whether the job process may run, after it took what it needs, although the pod that is
// followed has no node.
func (p *Pod) startedElsewhere(ctx context.Context, pod *corev1.Pod) (bool, error) {
	if !p.isDue() {
		return true, nil
	}
	now, err := p.read(ctx, pod)
	switch {
	case err != nil:
		return true, err
	case now != nil && now.Spec.NodeName != "":
		return true, p.note(now) // what follows it is late
	}
	other, err := p.otherWithNode(ctx)
	if err != nil {
		return true, err
	}
	if other != nil {
		p.seen.Node, p.seen.Unproven = "", ""
		return true, p.note(other)
	}
	return p.unproven("the job started in another pod, which was removed before this runner saw it")
}

// startLimit returns how long the pod may take to start: the time limit of the job counts from its creation.
func (p *Pod) startLimit() time.Duration {
	if p.request.Timeout > 0 {
		return min(p.request.Timeout, p.runner.Timing.PodStart)
	}
	return p.runner.Timing.PodStart
}

// notStarted returns the message about a pod that did not start in time.
func (p *Pod) notStarted(why string) string {
	return fmt.Sprintf("the pod of this job did not start within %v: %s", p.startLimit(), why)
}

// whyWaiting returns why a pod has not started.
func whyWaiting(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if w := status.State.Waiting; w != nil && w.Reason != "" {
			return strings.TrimSuffix(w.Reason+": "+w.Message, ": ")
		}
	}
	switch {
	case pod.Status.Reason != "" || pod.Status.Message != "":
		return strings.Trim(pod.Status.Reason+": "+pod.Status.Message, ": ")
	case pod.DeletionTimestamp != nil:
		return "it was deleted"
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return strings.TrimSuffix(c.Reason+": "+c.Message, ": ")
		}
	}
	return "its node has not started it"
}

// starting are the reasons that every pod has for a moment.
var starting = []string{"its node", "ContainerCreating", "PodInitializing"}

// say logs a problem once, in the runner's log and, before the job process starts, in that of the job.
func (p *Pod) say(problem string) error {
	if problem == p.said || slices.ContainsFunc(starting, func(s string) bool { return strings.HasPrefix(problem, s) }) {
		return nil
	}
	p.said = problem
	p.log.Warn("the pod of the job has not started", "pod", p.seen.Name, "namespace", p.seen.Namespace, "reason", problem)
	return p.dir.AppendLines(api.Warn, "the pod of this job has not started: "+problem)
}

// isDue reports whether it is time to ask for what is not followed.
func (p *Pod) isDue() bool {
	now := time.Now()
	if now.Before(p.nextCheck) {
		return false
	}
	p.nextCheck = now.Add(p.runner.Timing.HeartbeatInterval)
	return true
}

// withoutPod reports whether the job process may run although the API has no pod of it.
func (p *Pod) withoutPod(ctx context.Context) (bool, error) {
	if !p.isDue() {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if p.seen.UID == "" {
		return p.withoutAnyPod(ctx)
	}
	pod, err := p.client.CoreV1().Pods(p.seen.Namespace).Get(ctx, p.seen.Name, metav1.GetOptions{})
	switch {
	case err == nil && string(pod.UID) == p.seen.UID:
		return true, nil // what follows it is late
	case err != nil && !isGone(err):
		return true, fmt.Errorf("read the pod %s: %w", p.seen.Name, err)
	}
	never, err := p.neverStarts(ctx, spool.PodEnd{Message: "the pod " + p.seen.Name + " was deleted before it started"})
	if err != nil || never {
		return !never, err
	}
	return p.withoutNode(ctx)
}

// withoutAnyPod reports whether a job process may run of which no pod was ever seen.
func (p *Pod) withoutAnyPod(ctx context.Context) (bool, error) {
	job, err := p.client.BatchV1().Jobs(p.seen.Namespace).Get(ctx, p.seen.Job, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && !p.seen.Created && p.request.Handover != nil:
		return p.createAgain(ctx)
	case apierrors.IsNotFound(err):
		return p.proveNotStarted(ctx, spool.PodEnd{Message: "the Job " + p.seen.Job + " was deleted before its pod started"})
	case err != nil:
		return true, fmt.Errorf("read the Job %s: %w", p.seen.Job, err)
	case isFinished(job):
		return p.proveNotStarted(ctx, spool.PodEnd{Message: "the Job " + p.seen.Job + " ended before its pod started"})
	}
	p.seen.Created = true
	why := p.whyNoPod(ctx, job)
	if time.Now().After(p.startBy) {
		return p.proveNotStarted(ctx, spool.PodEnd{Message: p.notStarted(why), Failed: true})
	}
	return true, p.say(why)
}

// createAgain creates the Job after a create whose response was lost, or that failed for a moment.
func (p *Pod) createAgain(ctx context.Context) (bool, error) {
	err := p.create(ctx)
	if rejected := (*RejectedError)(nil); errors.As(err, &rejected) || err != nil && time.Now().After(p.startBy) {
		return p.proveNotStarted(ctx, spool.PodEnd{Message: err.Error(), Failed: true})
	}
	return true, err
}

// proveNotStarted ends an attempt of which no pod was seen, unless its job process has started.
func (p *Pod) proveNotStarted(ctx context.Context, proof spool.PodEnd) (bool, error) {
	never, err := p.neverStarts(ctx, proof)
	if err != nil || never {
		return !never, err
	}
	return p.unproven("the job started in a pod that was removed before this runner saw it")
}

func isFinished(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobFailed || c.Type == batchv1.JobComplete) && c.Status == corev1.ConditionTrue
	})
}

// whyNoPod returns why a Job has no pod: what its newest warning says, such as the name of a quota.
func (p *Pod) whyNoPod(ctx context.Context, job *batchv1.Job) string {
	why := "its node has not started it"
	events, err := p.client.CoreV1().Events(p.seen.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.uid=" + string(job.UID) + ",type=" + corev1.EventTypeWarning, Limit: 100})
	if err != nil {
		return why
	}
	for _, event := range events.Items {
		why = event.Reason + ": " + event.Message
	}
	return why
}

// outOfService is the taint with which a person confirms that a node is off.
const outOfService = "node.kubernetes.io/out-of-service"

// withoutNode reports whether the job process may run on its node, of which nobody hears.
func (p *Pod) withoutNode(ctx context.Context) (bool, error) {
	if p.seen.Node == "" {
		return p.unproven("the pod " + p.seen.Name + " was removed, and this runner did not see on which node it ran")
	}
	node, err := p.client.CoreV1().Nodes().Get(ctx, p.seen.Node, metav1.GetOptions{})
	switch {
	case isGone(err):
		return p.endWithNode(ctx, "its node "+p.seen.Node+" was removed from the cluster")
	case err == nil && slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == outOfService }):
		return p.endWithNode(ctx, "its node "+p.seen.Node+" is out of service")
	case err != nil && !apierrors.IsForbidden(err):
		return true, fmt.Errorf("read the node %s: %w", p.seen.Node, err)
	case p.watched.pod(p.seen.UID) == nil:
	case err != nil || reports(node):
		return true, nil //nolint:nilerr // the kubelet can still report how it ends
	default:
		return p.unproven(fmt.Sprintf("the node %s of the pod %s does not report", p.seen.Node, p.seen.Name))
	}
	return p.unproven(fmt.Sprintf("the pod %s was removed, and the node %s has not reported that its container has "+
		"terminated", p.seen.Name, p.seen.Node))
}

// reports reports whether the kubelet of a node is heard.
func reports(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// endWithNode ends an attempt whose node does not run any more, if the API server that reports this is that of the
// cluster in which the pod was created. A kubeconfig can name another cluster later, which has none of its nodes.
func (p *Pod) endWithNode(ctx context.Context, why string) (bool, error) {
	claim, err := p.client.CoreV1().PersistentVolumeClaims(p.seen.Namespace).Get(ctx, p.seen.Claim, metav1.GetOptions{})
	switch {
	case err != nil && !isGone(err):
		return true, fmt.Errorf("read the claim %s: %w", p.seen.Claim, err)
	case err != nil || p.seen.ClaimUID == "" || string(claim.UID) != p.seen.ClaimUID:
		return p.unproven("the cluster that this runner reaches does not have the claim that the pod " + p.seen.Name +
			" mounts, so it may be another cluster")
	}
	return p.end(ctx, spool.PodEnd{Proof: spool.ProofNode, Message: why})
}

// isGone reports whether the API server reported that an object does not exist. A response 404 that is not of the API
// server, such as that of a load balancer without a backend, is no report.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err)
}

// unproven records that nobody can tell whether the job process runs, once, and what a person can do.
func (p *Pod) unproven(why string) (bool, error) {
	if p.seen.Unproven == why {
		return true, nil
	}
	p.seen.Unproven = why
	said := fmt.Sprintf("%s, so it may still run: remove the node from the cluster when it is off, or make sure that "+
		"nothing of this job runs and then run: runnerd confirm-ended %s", why, p.name())
	p.log.Error(said)
	return true, errors.Join(p.dir.SavePod(p.seen), p.dir.AppendLines(api.Error, said))
}
