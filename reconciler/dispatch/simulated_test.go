package dispatch

import (
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Simulated lets the test that runs dispatch and workflow together (together_test.go) move this package's model: jobs and attempts
// go by their numbers, from 0, in the order in which they were made.
type Simulated struct{ m *model }

// Simulate makes an empty one.
func Simulate(t *rapid.T) *Simulated { return &Simulated{&model{t: t, parents: map[int]int{}}} }

// Enqueue queues a job.
func (s *Simulated) Enqueue(kind string) (job int) {
	s.m.enqueue(kind)
	return len(s.m.jobs) - 1
}

// Status is where a job is, and how often it has ended.
func (s *Simulated) Status(job int) (status JobStatus, ends int) {
	j := s.m.jobs[job]
	return JobStatus(j.job.Status), j.ends
}

// Cancelling says whether a job that runs was told to end.
func (s *Simulated) Cancelling(job int) bool { return s.m.jobs[job].job.Cancel }

// Claim offers what is queued.
func (s *Simulated) Claim() {
	for _, j := range s.m.jobs {
		s.m.claim(j)
	}
}

// Attempts gives the number of attempts so far.
func (s *Simulated) Attempts() int { return len(s.m.attempts) }

// Of gives the job and the status of an attempt.
func (s *Simulated) Of(attempt int) (job int, status AttemptStatus) {
	a := s.m.attempts[attempt]
	for i, j := range s.m.jobs {
		if j == a.of {
			job = i
		}
	}
	return job, AttemptStatus(a.attempt.Status)
}

// Accept is a runner taking an offer, and says whether it was given to it. The owner refuses the first one with refuse.
func (s *Simulated) Accept(attempt int, refuse bool) (taken bool) {
	a := s.m.attempts[attempt]
	taken = acceptanceOf(a.held(false)) != acceptGone
	s.m.accept(a, refuse)
	return taken && !(refuse && AttemptStatus(a.attempt.Status) == AttemptWithdrawn)
}

// Beat is a heartbeat.
func (s *Simulated) Beat(attempt int) { s.m.beat(s.m.attempts[attempt]) }

// Expire looks at an attempt whose lease is over.
func (s *Simulated) Expire(attempt int) { s.m.expire(s.m.attempts[attempt], true) }

// Deliver hands in a result.
func (s *Simulated) Deliver(attempt int, status api.JobResultStatus) {
	s.m.result(s.m.attempts[attempt], status)
}

// Cancel asks for the end of a job.
func (s *Simulated) Cancel(job int) { s.m.cancel(s.m.jobs[job]) }

// Replace is a person's word that the runner's machine is gone.
func (s *Simulated) Replace() { s.m.replace() }

// Check holds dispatch's own laws.
func (s *Simulated) Check() { s.m.check() }
