package jobs

import (
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Simulated lets the test that runs jobs and workflow together (together_test.go) drive this
// package's model. Jobs and attempts are identified by number, from 0, in the order of their
// creation.
type Simulated struct{ m *model }

// Simulate returns an empty model.
func Simulate(t *rapid.T) *Simulated { return &Simulated{&model{t: t, parents: map[int]int{}}} }

// Enqueue queues a job and returns its number.
func (s *Simulated) Enqueue(kind string) (job int) {
	s.m.enqueue(kind)
	return len(s.m.jobs) - 1
}

// Status returns a job's status and how often it has ended.
func (s *Simulated) Status(job int) (status JobStatus, ends int) {
	j := s.m.jobs[job]
	return JobStatus(j.job.Status), j.ends
}

// Cancelling reports whether the cancel of a running job was requested.
func (s *Simulated) Cancelling(job int) bool { return s.m.jobs[job].job.Cancel }

// Claim offers all queued jobs.
func (s *Simulated) Claim() {
	for _, j := range s.m.jobs {
		s.m.claim(j)
	}
}

// Attempts returns the number of attempts so far.
func (s *Simulated) Attempts() int { return len(s.m.attempts) }

// Of returns the job and the status of an attempt.
func (s *Simulated) Of(attempt int) (job int, status AttemptStatus) {
	a := s.m.attempts[attempt]
	for i, j := range s.m.jobs {
		if j == a.job {
			job = i
		}
	}
	return job, AttemptStatus(a.attempt.Status)
}

// Accept models a runner's accept of an offer and reports whether it succeeded. With refuse, the
// owner refuses the first accept.
func (s *Simulated) Accept(attempt int, refuse bool) (taken bool) {
	a := s.m.attempts[attempt]
	taken = decideAcceptance(a.stored(false)) != acceptGone
	s.m.accept(a, refuse)
	return taken && !(refuse && AttemptStatus(a.attempt.Status) == AttemptWithdrawn)
}

// Beat models a heartbeat.
func (s *Simulated) Beat(attempt int) { s.m.beat(s.m.attempts[attempt]) }

// Expire expires an attempt whose lease has run out.
func (s *Simulated) Expire(attempt int) { s.m.expire(s.m.attempts[attempt], true) }

// Deliver delivers a result.
func (s *Simulated) Deliver(attempt int, status api.JobResultStatus) {
	s.m.result(s.m.attempts[attempt], status)
}

// Cancel requests the end of a job.
func (s *Simulated) Cancel(job int) { s.m.cancel(s.m.jobs[job]) }

// Replace models a person's decision that the runner's machine is gone.
func (s *Simulated) Replace() { s.m.replace() }

// Check checks this package's invariants.
func (s *Simulated) Check() { s.m.check() }
