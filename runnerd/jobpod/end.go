package jobpod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// Interrupt ends the job process within a time: its pod is deleted, and the kubelet kills what has not ended
// then. A job process that has not started never does. It returns false when it has to be called again.
func (p *Pod) Interrupt(ctx context.Context, grace time.Duration) (bool, error) {
	if err := p.load(); err != nil || p.seen.Ended != nil {
		return err == nil, err
	}
	never, err := p.neverStarts(ctx, spool.PodEnd{Message: "it was interrupted before its pod started"})
	if err != nil || never {
		return never, err
	}
	if p.seen.UID == "" {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err = p.client.CoreV1().Pods(p.seen.Namespace).Delete(ctx, p.seen.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(seconds(grace)), Preconditions: metav1.NewUIDPreconditions(p.seen.UID),
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return false, fmt.Errorf("delete the pod %s: %w", p.seen.Name, err)
	}
	return true, nil
}

// maxOutput bounds how much of what the container printed is read, in bytes.
const maxOutput = 64 << 10

// Finish stores what the container of an ended job printed outside of the job's log, and permits the cluster to remove
// the pod and the Job. After an error it may be called again.
func (p *Pod) Finish(ctx context.Context) error {
	if err := p.load(); err != nil {
		return err
	}
	if p.seen.Ended == nil {
		return errors.New("the end of the pod of " + p.name() + " is not proven; this is a bug in nuon; report it")
	}
	if p.watched != nil {
		p.watched.stop()
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if p.seen.Ended.Proof == spool.ProofKubelet || p.seen.Ended.ExitCode != 0 {
		if err := p.saveOutput(ctx); err != nil {
			p.log.Warn("cannot read what the container of the job printed", "pod", p.seen.Name, "error", err)
		}
	}
	err := p.release(ctx)
	if apierrors.IsForbidden(err) {
		p.log.Error("the pod and the Job of an ended job stay, because this runner may not change them", "error", err)
		return nil
	}
	return err
}

// saveOutput stores the end of what the container printed, where that of a process is.
func (p *Pod) saveOutput(ctx context.Context) error {
	if _, err := os.Stat(p.dir.StderrFile()); err == nil {
		return nil
	}
	log, err := p.client.CoreV1().Pods(p.seen.Namespace).GetLogs(p.seen.Name, &corev1.PodLogOptions{Container: container,
		TailLines: new(int64(1000))}).Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	text, err := io.ReadAll(io.LimitReader(log, maxOutput))
	if err != nil {
		return err
	}
	return spool.WriteFile(p.dir.StderrFile(), text)
}

// release permits the cluster to remove what is left of the attempt.
func (p *Pod) release(ctx context.Context) error {
	pods, jobs := p.client.CoreV1().Pods(p.seen.Namespace), p.client.BatchV1().Jobs(p.seen.Namespace)
	all, err := pods.List(ctx, metav1.ListOptions{LabelSelector: labelJob + "=" + p.seen.Job})
	if err != nil {
		return fmt.Errorf("list the pods of the Job %s: %w", p.seen.Job, err)
	}
	for i := range all.Items {
		_, err := pods.Patch(ctx, all.Items[i].Name, types.StrategicMergePatchType,
			[]byte(`{"metadata":{"$deleteFromPrimitiveList/finalizers":["`+finalizer+`"]}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("let the cluster remove the pod %s: %w", all.Items[i].Name, err)
		}
	}
	if p.seen.Ended.Proof == spool.ProofKubelet {
		_, err = jobs.Patch(ctx, p.seen.Job, types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"ttlSecondsAfterFinished":%d}}`, seconds(keepFinished)), metav1.PatchOptions{})
	} else {
		err = jobs.Delete(ctx, p.seen.Job, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("let the cluster remove the Job %s: %w", p.seen.Job, err)
	}
	return nil
}
