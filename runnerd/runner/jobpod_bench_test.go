package runner_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/runner"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// BenchmarkPodStart measures the time from when a job is queued to when its handler runs in a pod, and for the same pod
// of a Job made by hand the time from when the pod exists to when its program runs, in turn. The difference is the time
// beyond the pod's own start: the offer, the Job, the handover and the start of the job process.
func BenchmarkPodStart(b *testing.B) {
	s, p := newServer(b), newPlace(b)
	arrived := make(chan time.Time, 1)
	started := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- time.Now() }))
	b.Cleanup(started.Close)
	watched, err := p.CoreV1().Pods(p.namespace).Watch(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(watched.Stop)
	created := make(chan time.Time, 1)
	go func() { // ends with the watch
		for event := range watched.ResultChan() {
			if event.Type == watch.Added {
				created <- time.Now()
			}
		}
	}()
	options := testOptions(s.http.URL, p.dir)
	work(b, s, p.dir, func(o *runner.Options) { o.Timing = timing.Default() })
	var jobs, pods []time.Duration
	for round := 0; b.Loop(); round++ {
		begun := time.Now()
		job := s.enqueue(fmt.Sprintf("job_%d", round), "fetch", map[string]string{"url": started.URL})
		jobs = append(jobs, testtime.Receive(b, arrived, "the job").Sub(begun))
		testtime.Receive(b, created, "the job's pod")
		last, err := p.CoreV1().Pods(p.namespace).List(b.Context(), metav1.ListOptions{LabelSelector: "runner.nuon.co/job"})
		if err != nil || len(last.Items) == 0 {
			b.Fatalf("the pod of the job: %v, %v", last, err)
		}
		made := last.Items[len(last.Items)-1].Spec
		s.until("the job has ended", job.ended)
		spoolIsEmpty(b, p.dir)
		p.startByHand(b, fmt.Sprintf("by-hand-%d", round), made, []string{options.Job[0], "fetch", started.URL})
		begun = testtime.Receive(b, created, "the pod")
		pods = append(pods, testtime.Receive(b, arrived, "the pod's program").Sub(begun))
	}
	slices.Sort(jobs)
	slices.Sort(pods)
	job, pod := jobs[len(jobs)/2], pods[len(pods)/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(1000*job.Seconds(), "ms-job")
	b.ReportMetric(1000*pod.Seconds(), "ms-pod")
	b.ReportMetric(1000*(job-pod).Seconds(), "ms-beyond-pod")
}

// startByHand creates a Job whose pod is like that of a job with another command.
func (p *place) startByHand(b *testing.B, name string, spec corev1.PodSpec, command []string) {
	b.Helper()
	spec.NodeName = ""
	spec.Containers[0].Command, spec.Containers[0].Args = command, nil
	if _, err := p.BatchV1().Jobs(p.namespace).Create(b.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}}}, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
}
