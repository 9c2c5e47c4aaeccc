package dispatch

import (
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// The statuses in Go are those of the columns' constraints, and every one but the first is reached by a move.
func TestStatusesAreThoseOfTheSchema(t *testing.T) {
	schema, err := os.ReadFile("../store/migrations/001_first.sql")
	if err != nil {
		t.Fatal(err)
	}
	check := func(table string) []string {
		column := regexp.MustCompile(`(?s)create table ` + table + ` \(.*?status +text not null check \(status in \((.*?)\)\)`).FindSubmatch(schema)
		if column == nil {
			t.Fatalf("the schema has no statuses of %s", table)
		}
		words := strings.Split(strings.ReplaceAll(string(column[1]), "'", ""), ", ")
		sort.Strings(words)
		return words
	}
	if diff := cmp.Diff(check("jobs"), statusesIn(jobMoves)); diff != "" {
		t.Errorf("jobs (-schema +Go):\n%s", diff)
	}
	if diff := cmp.Diff(check("attempts"), statusesIn(attemptMoves)); diff != "" {
		t.Errorf("attempts (-schema +Go):\n%s", diff)
	}
}

func statusesIn[S ~string](moves map[S][]S) []string {
	var words []string
	for from, to := range moves {
		words = append(words, string(from))
		for _, s := range to {
			words = append(words, string(s))
		}
	}
	sort.Strings(words)
	return slices.Compact(words)
}

// model is one job and its attempts, moved by the same pure decisions as the real ones, without a database.
type model struct {
	t        *rapid.T
	job      store.Job
	attempts []store.Attempt
	accepts  int
	ends     int
}

func (m *model) moveJob(to JobStatus) {
	if !slices.Contains(jobMoves[JobStatus(m.job.Status)], to) {
		m.t.Fatalf("a job moved from %s to %s", m.job.Status, to)
	}
	m.job.Status = string(to)
	if to.Ended() {
		m.ends++
	}
}

func (m *model) moveAttempt(number int, to AttemptStatus) {
	attempt := &m.attempts[number-1]
	if !slices.Contains(attemptMoves[AttemptStatus(attempt.Status)], to) {
		m.t.Fatalf("attempt %d moved from %s to %s", number, attempt.Status, to)
	}
	attempt.Status = string(to)
}

func (m *model) held(number int, over bool) held {
	return held{job: m.job, attempt: m.attempts[number-1], over: over}
}

func (m *model) claim() {
	if JobStatus(m.job.Status) != JobQueued {
		return
	}
	m.job.Attempt++
	m.attempts = append(m.attempts, store.Attempt{Number: m.job.Attempt, Status: string(AttemptOffered)})
	m.moveJob(JobOffered)
}

func (m *model) accept(number int, refuse bool) {
	switch h := m.held(number, false); acceptanceOf(h) {
	case acceptFirst:
		if refuse {
			m.moveAttempt(number, AttemptWithdrawn)
			m.moveJob(JobFailed)
			return
		}
		m.moveAttempt(number, AttemptRunning)
		m.moveJob(JobRunning)
		m.accepts++
	case acceptAgain:
		m.beat(number)
	}
}

func (m *model) beat(number int) {
	if h := m.held(number, false); h.atWork() && AttemptStatus(h.attempt.Status) == AttemptExpired {
		m.moveAttempt(number, AttemptRunning)
	}
}

func (m *model) result(number int, status api.JobResultStatus) {
	ends := endOf[status]
	switch deliveryOf(m.held(number, false), status) {
	case deliverUntaken:
		m.withdraw(number)
	case deliverSuperseded:
		m.moveAttempt(number, ends.attempt)
	case deliverNow:
		m.moveAttempt(number, ends.attempt)
		m.moveJob(ends.job)
	}
}

func (m *model) withdraw(number int) {
	current := m.held(number, false).current()
	m.moveAttempt(number, AttemptWithdrawn)
	if current {
		m.moveJob(JobQueued)
	}
}

func (m *model) expire(number int, over bool) {
	losses := 0
	for _, a := range m.attempts {
		if AttemptStatus(a.Status) == AttemptExpired {
			losses++
		}
	}
	h := m.held(number, over)
	switch decision := expiryOf(h, losses); decision {
	case expiryNothing, expiryLater:
	case expiryWithdraw:
		m.withdraw(number)
	default:
		m.moveAttempt(number, AttemptExpired)
		if !h.atWork() {
			return
		}
		if to, moves := map[expiry]JobStatus{expiryRequeue: JobQueued, expiryGiveUp: JobLost, expiryAbandon: JobCancelled}[decision]; moves {
			m.moveJob(to)
		}
	}
}

func (m *model) cancel() {
	switch status := JobStatus(m.job.Status); {
	case status.Ended():
	case status == JobRunning:
		m.job.Cancel = true
	default:
		if status == JobOffered {
			m.moveAttempt(int(m.job.Attempt), AttemptWithdrawn)
		}
		m.moveJob(JobCancelled)
	}
}

// check holds what must be so after every move.
func (m *model) check() {
	atWork := 0
	for i := range m.attempts {
		h := m.held(i+1, true)
		if h.atWork() {
			atWork++
		}
		if AttemptStatus(h.attempt.Status) == AttemptOffered && !h.current() {
			m.t.Fatalf("attempt %d is offered and not its job's: job %s attempt %d", i+1, m.job.Status, m.job.Attempt)
		}
	}
	if want := map[bool]int{true: 1}[JobStatus(m.job.Status) == JobRunning]; atWork != want {
		m.t.Fatalf("a job that is %s has %d attempts at work", m.job.Status, atWork)
	}
	if !repeatable(m.job.Kind) && m.accepts > 1 {
		m.t.Fatalf("a job of kind %s was begun %d times", m.job.Kind, m.accepts)
	}
	if want := map[bool]int{true: 1}[JobStatus(m.job.Status).Ended()]; m.ends != want {
		m.t.Fatalf("a job that is %s has ended %d times", m.job.Status, m.ends)
	}
	if m.accepts > mostLosses {
		m.t.Fatalf("a job was begun %d times", m.accepts)
	}
}

func TestAnyHistoryKeepsTheLaws(t *testing.T) {
	statuses := []api.JobResultStatus{
		api.JobResultStatusSucceeded, api.JobResultStatusFailed, api.JobResultStatusStale, api.JobResultStatusCancelled, api.JobResultStatusLost,
	}
	rapid.Check(t, func(t *rapid.T) {
		m := &model{t: t, job: store.Job{Status: string(JobQueued), Kind: rapid.SampledFrom(jobKinds).Draw(t, "kind")}}
		any := func() int { return rapid.IntRange(1, len(m.attempts)).Draw(t, "attempt") }
		onAttempt := func(do func(number int)) func(*rapid.T) {
			return func(*rapid.T) {
				if len(m.attempts) > 0 {
					do(any())
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"":       func(*rapid.T) { m.check() },
			"claim":  func(*rapid.T) { m.claim() },
			"claim2": func(*rapid.T) { m.claim() },
			"accept": onAttempt(func(n int) { m.accept(n, rapid.IntRange(0, 9).Draw(t, "refuse") == 0) }),
			"beat":   onAttempt(m.beat),
			"expire": onAttempt(func(n int) { m.expire(n, rapid.Bool().Draw(t, "over")) }),
			"result": onAttempt(func(n int) { m.result(n, rapid.SampledFrom(statuses).Draw(t, "status")) }),
			"cancel": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "really") == 0 {
					m.cancel()
				}
			},
		})
		// Wherever it stands, a runner that is there brings it to its end.
		m.claim()
		if len(m.attempts) > 0 {
			m.accept(int(m.job.Attempt), false)
			m.result(int(m.job.Attempt), api.JobResultStatusFailed)
		}
		m.check()
		if !JobStatus(m.job.Status).Ended() {
			t.Fatalf("a job that is %s does not end", m.job.Status)
		}
	})
}

func TestPositionOf(t *testing.T) {
	for id, want := range map[string]position{
		"2/17": {2, 17}, " 2/17 ": {2, 17}, "": {}, "2": {}, "2/": {}, "/3": {}, "a/b": {}, "99999999999/1": {}, "1/2/3": {},
	} {
		if got := positionOf(id); got != want {
			t.Errorf("positionOf(%q) = %v, want %v", id, got, want)
		}
	}
}

func TestAdmitNeverKeepsMoreThanALogMayHave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		used := rapid.Int64Range(LargestLog-5000, LargestLog).Draw(t, "used")
		kept := map[int64]bool{}
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			var rows []logRow
			for range rapid.IntRange(0, 6).Draw(t, "rows") {
				rows = append(rows, logRow{seq: rapid.Int64Range(0, 9).Draw(t, "seq"), lines: strings.Repeat("x", rapid.IntRange(2, 3000).Draw(t, "size"))})
			}
			var present []int64
			for seq := range kept {
				present = append(present, seq)
			}
			full := used >= LargestLog
			admitted, after := admit(rows, present, used)
			for i, row := range admitted {
				if kept[row.seq] {
					t.Fatalf("chunk %d was kept twice", row.seq)
				}
				kept[row.seq] = true
				if strings.Contains(row.lines, "is not kept") != (after >= LargestLog && i == len(admitted)-1) {
					t.Fatalf("the word that the log is full is at %d of %d, with %d used", i, len(admitted), after)
				}
			}
			if full && len(admitted) > 0 || after > LargestLog || after < used {
				t.Fatalf("%d bytes became %d", used, after)
			}
			used = after
		}
	})
}
