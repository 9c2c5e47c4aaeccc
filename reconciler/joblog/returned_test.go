package joblog_test

import (
	"fmt"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
)

// TestReturnedAttemptsLeaveOneLog checks that a job that its runner returns again and again keeps the last returned
// attempt with its log, and that nothing more of the earlier ones is stored.
func TestReturnedAttemptsLeaveOneLog(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	job := w.Enqueue(t, runner, jobs.NewJob{Kind: "action", InstallID: w.InstallOf(t, w.Component(t, runner)),
		Spec: api.JobSpec{Kind: api.JobSpecKindAction, Role: api.OperationRole{Cloud: "aws", Name: "ins_1-deployer",
			Key: "key", Kind: "custom"}}})
	returned := api.JobResult{Status: api.JobResultStatusNotStarted, Error: "it is off",
		UnusableRole: api.UnusableRole{Role: "ins_1-deployer", Refused: true, Reason: "AccessDenied"}}
	write := func(ref api.AttemptRef, seq int64) error {
		return w.Logs.Append(t.Context(), runner.Caller, ref, []api.NewLogChunk{chunk(seq, fmt.Sprint("log ", ref.Attempt))})
	}
	var before api.AttemptRef
	for range 8 {
		ref, _ := w.Start(t, runner)
		must(t, write(ref, 0))
		must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, returned))
		must(t, write(ref, 1)) // the end of its log arrives after its result
		if before.Job != "" {
			wantIs(t, write(before, 2), jobs.ErrNotFound)
		}
		before = ref
	}
	ref, _ := w.Start(t, runner)
	must(t, write(ref, 0))
	must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, jobstest.Failed))
	log, err := readLog(t, w, w.Org.ID, job)
	must(t, err)
	got := ""
	for _, chunk := range log {
		got += fmt.Sprintf("%d/%d ", chunk.Attempt, chunk.Seq)
	}
	if got != "8/0 8/1 9/0 " {
		t.Errorf("the log has %s", got)
	}
	if n := w.Text(t, "select string_agg(number::text, ' ' order by number) from attempts"); n != "8 9" {
		t.Errorf("stored are the attempts %s", n)
	}
}

// TestALogIsReadPageByPage checks that a reader of a long log gets all of it in pages of a bounded size.
func TestALogIsReadPageByPage(t *testing.T) {
	w, runner, ref := running(t)
	const chunks = 100
	for seq := range int64(chunks) {
		must(t, w.Logs.Append(t.Context(), runner.Caller, ref, []api.NewLogChunk{chunk(seq, "x")}))
	}
	read := int64(0)
	must(t, w.Logs.Read(t.Context(), w.Org.ID, ref.Job, func(page []api.LogChunk) error {
		if len(page) > 32 {
			t.Errorf("a page has %d chunks", len(page))
		}
		for _, chunk := range page {
			if chunk.Seq != read {
				t.Errorf("chunk %d comes after %d", chunk.Seq, read-1)
			}
			read++
		}
		return nil
	}))
	if read != chunks {
		t.Errorf("read %d chunks of %d", read, chunks)
	}
}
