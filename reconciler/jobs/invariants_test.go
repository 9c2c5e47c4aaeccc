package jobs

import (
	"slices"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/runners"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// model is a runner with a few jobs on one install component. It makes the same pure decisions as
// the real code, without a database. Besides what the control plane records, it tracks what only
// the real world shows: what each process has read, and what it wrote from that.
type model struct {
	t        *rapid.T
	jobs     []*modelJob
	attempts []*modelAttempt // of all jobs, in the order in which they were offered
	lock     *modelAttempt   // the attempt that holds the state lock
	versions []modelVersion  // in the order in which they were delivered
	parents  map[int]int     // for each state ever written, by number: the state it was made from; 0 for none
}

type modelJob struct {
	job      store.Job
	attempts []*modelAttempt
	accepts  int
	ends     int
}

// modelAttempt is an attempt and its process. The process continues regardless of what is decided about the
// attempt: a machine declared dead may be at work.
type modelAttempt struct {
	job     *modelJob
	attempt store.Attempt
	reads   bool         // it has read the state, under the lock
	wrote   bool         // and has written it
	knows   modelState   // what it read or wrote last
	unsent  []modelState // on its machine's disk
}

type modelState struct {
	number int
	serial int64
}

type modelVersion struct {
	modelState
	row    store.State
	status string
}

func (m *model) enqueue(kind string) {
	m.jobs = append(m.jobs,
		&modelJob{job: store.Job{ID: string(rune('a' + len(m.jobs))), Status: string(JobQueued), Kind: kind}})
}

func (m *model) moveJob(j *modelJob, to JobStatus) {
	if !slices.Contains(jobMoves[JobStatus(j.job.Status)], to) {
		m.t.Fatalf("a job moved from %s to %s", j.job.Status, to)
	}
	j.job.Status = string(to)
	if to.Ended() {
		j.ends++
	}
}

// moveAttempt models moveAttempt and the other effects of leave.
func (m *model) moveAttempt(a *modelAttempt, to AttemptStatus) {
	if !slices.Contains(attemptMoves[AttemptStatus(a.attempt.Status)], to) {
		m.t.Fatalf("attempt %d moved from %s to %s", a.attempt.Number, a.attempt.Status, to)
	}
	a.attempt.Status = string(to)
	if to.Ended() {
		m.free(a)
	}
}

func (m *model) free(a *modelAttempt) {
	if m.lock == a {
		m.lock = nil
	}
}

func (a *modelAttempt) stored(over bool) Attempt {
	return Attempt{Job: a.job.job, Row: a.attempt, Over: over}
}

func (m *model) claim(j *modelJob) {
	if JobStatus(j.job.Status) != JobQueued {
		return
	}
	j.job.Attempt++
	a := &modelAttempt{
		job: j, attempt: store.Attempt{JobID: j.job.ID, Number: j.job.Attempt, Status: string(AttemptOffered)},
	}
	j.attempts, m.attempts = append(j.attempts, a), append(m.attempts, a)
	m.moveJob(j, JobOffered)
}

func (m *model) accept(a *modelAttempt, refuse bool) {
	switch decideAcceptance(a.stored(false)) {
	case acceptFirst:
		if refuse {
			m.moveAttempt(a, AttemptWithdrawn)
			m.moveJob(a.job, JobFailed)
			return
		}
		if newest := m.newest(); newest != nil {
			a.attempt.BaseVersion = newest.row.Version
		}
		m.moveAttempt(a, AttemptRunning)
		m.moveJob(a.job, JobRunning)
		a.job.accepts++
	case acceptAgain:
		m.beat(a)
	}
}

func (m *model) beat(a *modelAttempt) {
	if h := a.stored(false); h.AtWork() && AttemptStatus(h.Row.Status) == AttemptExpired {
		m.moveAttempt(a, AttemptRunning)
	}
}

func (m *model) result(a *modelAttempt, status api.JobResultStatus) {
	ends := finalStatuses[status]
	switch decideDelivery(a.stored(false), status) {
	case deliverUntaken:
		m.withdraw(a)
	case deliverSuperseded:
		m.moveAttempt(a, AttemptLost)
	case deliverBroken:
		m.moveAttempt(a, ends.attempt)
		if m.losses(a) < maxLosses {
			m.moveJob(a.job, JobQueued)
		} else {
			m.moveJob(a.job, JobLost)
		}
	case deliverNow:
		m.moveAttempt(a, ends.attempt)
		m.moveJob(a.job, ends.job)
	}
}

// losses models CountBrokenAttempts.
func (m *model) losses(a *modelAttempt) (n int) {
	for _, other := range a.job.attempts {
		if slices.Contains([]AttemptStatus{AttemptExpired, AttemptCancelled, AttemptLost},
			AttemptStatus(other.attempt.Status)) {
			n++
		}
	}
	return n
}

func (m *model) withdraw(a *modelAttempt) {
	current := a.stored(false).current()
	m.moveAttempt(a, AttemptWithdrawn)
	if current {
		m.moveJob(a.job, JobQueued)
	}
}

func (m *model) expire(a *modelAttempt, over bool) {
	h := a.stored(over)
	switch decision := decideExpiry(h, m.losses(a)); decision {
	case expiryNothing, expiryLater:
	case expiryWithdraw:
		m.withdraw(a)
	default:
		m.moveAttempt(a, AttemptExpired)
		if !h.AtWork() {
			return
		}
		if to, moves := map[expiry]JobStatus{
			expiryRequeue: JobQueued, expiryGiveUp: JobLost, expiryEnd: JobLost, expiryAbandon: JobCancelled,
		}[decision]; moves {
			m.free(a)
			m.moveJob(a.job, to)
		}
	}
}

func (m *model) cancel(j *modelJob) {
	switch status := JobStatus(j.job.Status); {
	case status.Ended():
	case status == JobRunning:
		j.job.Cancel = true
	default:
		if status == JobOffered {
			m.moveAttempt(j.attempts[j.job.Attempt-1], AttemptWithdrawn)
		}
		m.moveJob(j, JobCancelled)
	}
}

// replace models a person's decision that the machine is gone, right or wrong.
func (m *model) replace() {
	for _, a := range m.attempts {
		decision := decideLoss(a.stored(false))
		switch decision {
		case lossNothing:
		case lossWithdraw:
			m.withdraw(a)
		default:
			m.moveAttempt(a, AttemptLost)
		}
		if to, moves := map[loss]JobStatus{
			lossRequeue: JobQueued, lossCancel: JobCancelled, lossJob: JobLost,
		}[decision]; moves {
			m.moveJob(a.job, to)
		}
	}
}

// acquireLock models the lock that an attempt takes before it reads. It then reads the newest kept
// version, or what it wrote itself last.
func (m *model) takeLock(a *modelAttempt) {
	live := m.lock != nil && m.lock.stored(false).AtWork()
	if !a.stored(false).AtWork() || live && m.lock != a {
		return
	}
	m.lock, a.reads = a, true
	if newest := m.newest(); newest != nil && !a.wrote {
		a.knows = newest.modelState
	}
}

// write models a process that writes from what it read, whether it still holds the lock or not. An
// odd write does not increase the serial.
func (m *model) write(a *modelAttempt, odd bool) {
	if !a.reads {
		return
	}
	next := modelState{number: len(m.parents) + 1, serial: a.knows.serial + 1}
	if odd {
		next.serial--
	}
	m.parents[next.number], a.knows, a.wrote = a.knows.number, next, true
	a.unsent = append(a.unsent, next)
}

// deliver delivers the oldest state on the disk; with again it stays there, as after a lost
// response.
func (m *model) deliver(a *modelAttempt, again bool) {
	if len(a.unsent) == 0 {
		return
	}
	next := a.unsent[0]
	if !again {
		a.unsent = a.unsent[1:]
	}
	if slices.ContainsFunc(m.versions, func(v modelVersion) bool { return v.number == next.number }) {
		return // known
	}
	var newest *store.State
	if v := m.newest(); v != nil {
		newest = &v.row
	}
	holder := ""
	if m.lock != nil && m.lock != a && m.lock.stored(false).AtWork() {
		holder = "another"
	}
	status, reason := DecideState(a.stored(false), api.State{Serial: next.serial}, newest, holder)
	if (status == stateKept) != (reason == "") {
		m.t.Fatalf("a version that is %s has the reason %q", status, reason)
	}
	// While an attempt at work holds the lock, no other attempt's state is kept.
	if holder != "" && status == stateKept {
		m.t.Fatalf("state %d is kept while another attempt has the lock", next.number)
	}
	row := store.State{
		Version: int32(len(m.versions) + 1), Serial: next.serial, JobID: a.job.job.ID, Attempt: a.attempt.Number,
	}
	m.versions = append(m.versions, modelVersion{next, row, status})
}

// restore models a person who restores a version while nothing is at work: a separate job, which
// reads and writes under the lock.
func (m *model) restore(number int) {
	if len(m.versions) == 0 || m.lock != nil {
		return
	}
	m.enqueue("apply")
	j := m.jobs[len(m.jobs)-1]
	m.claim(j)
	a := j.attempts[0]
	m.accept(a, false)
	m.takeLock(a)
	m.write(a, false)
	m.deliver(a, false)
	m.result(a, api.JobResultStatusSucceeded)
	if v := &m.versions[number%len(m.versions)]; v.status == stateContested {
		v.status = stateDismissed
	}
	if newest := m.newest(); newest.number != a.knows.number {
		m.t.Fatal("what was restored while nobody was at work is not the newest version")
	}
}

func (m *model) newest() *modelVersion {
	for i := range slices.Backward(m.versions) {
		if m.versions[i].status == stateKept {
			return &m.versions[i]
		}
	}
	return nil
}

// descends reports whether a state was made from another, directly or through others.
func (m *model) descends(from, to int) bool {
	for number := from; number != 0; number = m.parents[number] {
		if number == to {
			return true
		}
	}
	return false
}

// check checks the invariants after every move.
func (m *model) check() {
	for _, j := range m.jobs {
		m.checkJob(j)
	}
	// A lock belongs to a current attempt that may be at work, and is released with it.
	if m.lock != nil && !m.lock.stored(false).AtWork() {
		m.t.Fatalf("the lock is held by an attempt that is %s of a job that is %s",
			m.lock.attempt.Status, m.lock.job.job.Status)
	}
	// Each kept version was made from the kept version before it, and has a higher serial.
	var before *modelVersion
	for i := range m.versions {
		v := &m.versions[i]
		if v.status != stateKept {
			continue
		}
		if before != nil && (!m.descends(v.number, before.number) || v.serial <= before.serial) {
			m.t.Fatalf("version %d (serial %d) is kept after version %d (serial %d), and was not made from it",
				v.row.Version, v.serial, before.row.Version, before.serial)
		}
		before = v
	}
	// Every written state is stored with some status or is on its machine's disk: once.
	there := map[int]bool{}
	for _, v := range m.versions {
		if there[v.number] {
			m.t.Fatalf("state %d is kept twice", v.number)
		}
		there[v.number] = true
	}
	for _, a := range m.attempts {
		for _, s := range a.unsent {
			there[s.number] = true
		}
	}
	if len(there) != len(m.parents) {
		m.t.Fatalf("%d states were written, and %d are anywhere", len(m.parents), len(there))
	}
}

func (m *model) checkJob(j *modelJob) {
	atWork := 0
	for _, a := range j.attempts {
		h := a.stored(true)
		if h.AtWork() {
			atWork++
		}
		if AttemptStatus(h.Row.Status) == AttemptOffered && !h.current() {
			m.t.Fatalf("attempt %d is offered and not its job's: job %s attempt %d",
				a.attempt.Number, j.job.Status, j.job.Attempt)
		}
	}
	// A running job has one attempt at work, and no other job has any.
	if want := map[bool]int{true: 1}[JobStatus(j.job.Status) == JobRunning]; atWork != want {
		m.t.Fatalf("a job that is %s has %d attempts at work", j.job.Status, atWork)
	}
	// An apply starts at most once, regardless of what happens to the machine.
	if !repeatable(j.job.Kind) && j.accepts > 1 {
		m.t.Fatalf("a job of kind %s was begun %d times", j.job.Kind, j.accepts)
	}
	// Every end is recorded, and its owner notified, once.
	if want := map[bool]int{true: 1}[JobStatus(j.job.Status).Ended()]; j.ends != want {
		m.t.Fatalf("a job that is %s has ended %d times", j.job.Status, j.ends)
	}
}

func TestAnyHistoryKeepsTheInvariants(t *testing.T) {
	statuses := []api.JobResultStatus{
		api.JobResultStatusSucceeded, api.JobResultStatusFailed, api.JobResultStatusStale,
		api.JobResultStatusCancelled, api.JobResultStatusLost,
	}
	rapid.Check(t, func(t *rapid.T) {
		m := &model{t: t, parents: map[int]int{}}
		for range rapid.IntRange(1, 3).Draw(t, "jobs") {
			m.enqueue(rapid.SampledFrom(runners.JobKinds).Draw(t, "kind"))
		}
		onJob := func(do func(*modelJob)) func(*rapid.T) {
			return func(t *rapid.T) { do(rapid.SampledFrom(m.jobs).Draw(t, "job")) }
		}
		onAttempt := func(do func(*rapid.T, *modelAttempt)) func(*rapid.T) {
			return func(t *rapid.T) {
				if len(m.attempts) > 0 {
					// By index: nothing about an attempt identifies it to rapid.
					do(t, m.attempts[rapid.IntRange(0, len(m.attempts)-1).Draw(t, "attempt")])
				}
			}
		}
		seldom := func(t *rapid.T, do func()) {
			if rapid.IntRange(0, 4).Draw(t, "really") == 0 {
				do()
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"":      func(*rapid.T) { m.check() },
			"claim": func(*rapid.T) { m.claimAll() },
			"start": func(*rapid.T) { m.claimAll(); m.acceptAll() },
			"accept": onAttempt(func(t *rapid.T, a *modelAttempt) {
				m.accept(a, rapid.IntRange(0, 9).Draw(t, "refuse") == 0)
			}),
			"beat":   onAttempt(func(_ *rapid.T, a *modelAttempt) { m.beat(a) }),
			"expire": onAttempt(func(t *rapid.T, a *modelAttempt) { m.expire(a, rapid.Bool().Draw(t, "over")) }),
			"result": onAttempt(func(t *rapid.T, a *modelAttempt) {
				m.result(a, rapid.SampledFrom(statuses).Draw(t, "status"))
			}),
			"lock":   onAttempt(func(_ *rapid.T, a *modelAttempt) { m.takeLock(a) }),
			"unlock": onAttempt(func(_ *rapid.T, a *modelAttempt) { m.free(a) }),
			"write": onAttempt(func(t *rapid.T, a *modelAttempt) {
				m.takeLock(a)
				m.write(a, rapid.IntRange(0, 9).Draw(t, "odd") == 0)
			}),
			"deliver": onAttempt(func(t *rapid.T, a *modelAttempt) { m.deliver(a, rapid.Bool().Draw(t, "again")) }),
			"cancel":  func(t *rapid.T) { seldom(t, func() { onJob(m.cancel)(t) }) },
			"replace": func(t *rapid.T) { seldom(t, m.replace) },
			"restore": func(t *rapid.T) { seldom(t, func() { m.restore(rapid.IntRange(0, 9).Draw(t, "version")) }) },
		})
		m.settle(rapid.Bool().Draw(t, "the machine never comes back"))
	})
}

func (m *model) claimAll() {
	for _, j := range m.jobs {
		m.claim(j)
	}
}

// acceptAll models a machine that has no other jobs in flight.
func (m *model) acceptAll() {
	for _, a := range m.attempts {
		m.accept(a, false)
	}
}

// settle ends a run: from any point, an online runner brings every job to its end, and so does a
// replacement by another machine. States on the old machine's disk may be delivered at any later
// time.
func (m *model) settle(replaced bool) {
	if replaced {
		m.replace()
		m.check()
	}
	m.claimAll()
	for _, j := range m.jobs {
		if JobStatus(j.job.Status).Ended() {
			continue
		}
		a := j.attempts[j.job.Attempt-1]
		m.accept(a, false)
		m.result(a, api.JobResultStatusFailed)
	}
	for _, a := range m.attempts {
		for len(a.unsent) > 0 {
			m.deliver(a, false)
		}
	}
	m.check()
	for _, j := range m.jobs {
		if !JobStatus(j.job.Status).Ended() {
			m.t.Fatalf("a job that is %s does not end", j.job.Status)
		}
	}
	if m.lock != nil {
		m.t.Fatal("every job has ended, and the state is locked")
	}
	if len(m.versions) != len(m.parents) {
		m.t.Fatalf("%d states were written, and %d versions are kept", len(m.parents), len(m.versions))
	}
}
