package joblog_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
)

// The load of each round of BenchmarkLogIngest, on either side: chunks as a runner cuts them, in
// calls as it makes them.
const (
	ingestCalls  = 20
	ingestChunks = 16  // per call
	ingestLines  = 400 // per chunk
)

// BenchmarkLogIngest measures how many megabytes of log are stored per second, through Append
// and through Postgres's own COPY of the same bytes (the lines as JSON, one row per chunk, the same
// key), on the same server, in turn. Each ratio is the share of the database's throughput that
// Append reaches: ratio against a table with Postgres's default compression, ratio-lz4 and
// ratio-plain against one whose text is compressed with lz4 or not at all.
func BenchmarkLogIngest(b *testing.B) {
	w := jobstest.New(b)
	runner := w.Runner(b, runners.KindBuild)
	copies := openCopies(b, w)
	var bytes int64
	var ours time.Duration
	kept := int64(0)
	for b.Loop() {
		w.Job(b, runner, "build", "")
		ref, _ := w.Start(b, runner)
		calls, texts := benchLog()
		for _, t := range texts {
			bytes += int64(len(t))
		}
		began := time.Now()
		for _, chunks := range calls {
			must(b, w.Logs.Append(b.Context(), runner.Caller, ref, chunks))
		}
		ours += time.Since(began)
		for _, c := range copies {
			c.fill(b, w, ref.Job, texts)
		}
		must(b, w.Jobs.Result(b.Context(), runner.Caller, ref, jobstest.Failed))
		_, err := fmt.Sscan(w.Text(b, "select sum(pg_column_size(lines))::text from log_chunks"), &kept)
		must(b, err)
	}
	rate := func(d time.Duration) float64 { return float64(bytes) / 1e6 / d.Seconds() }
	b.ReportMetric(0, "ns/op") // all of them together, which means nothing
	b.ReportMetric(rate(ours), "MB/s")
	b.ReportMetric(float64(bytes)/float64(kept), "times-smaller")
	for _, c := range copies {
		b.ReportMetric(rate(c.took), "MB/s-copy"+c.name)
		b.ReportMetric(rate(ours)/rate(c.took), "ratio"+c.name)
	}
}

// benchLog returns a log like Terraform's, in which no two lines are equal.
func benchLog() (calls [][]api.NewLogChunk, texts []string) {
	seq, number := int64(0), 0
	for range ingestCalls {
		var chunks []api.NewLogChunk
		for range ingestChunks {
			seq++
			c := api.NewLogChunk{Seq: seq}
			for range ingestLines {
				number++
				c.Lines = append(c.Lines, api.LogLine{T: at.Add(time.Duration(number) * 1_234_567),
					L: api.Info, M: fmt.Sprintf(
						"module.network.terraform_data.subnet[%d]: Creation complete after %ds [id=%08x-%04x-4%03x]",
						number%97, number%13, uint32(number*2654435761), number%65536, number*7%4096)})
			}
			text, _ := json.Marshal(c.Lines) // times, words and numbers marshal
			chunks, texts = append(chunks, c), append(texts, string(text))
		}
		calls = append(calls, chunks)
	}
	return calls, texts
}

// copyInto is one table to COPY into.
type copyInto struct {
	name, table string
	db          *pgx.Conn
	took        time.Duration
}

func openCopies(b *testing.B, w *jobstest.World) []*copyInto {
	db, err := pgx.Connect(b.Context(), w.DSN)
	must(b, err)
	b.Cleanup(func() { _ = db.Close(b.Context()) })
	var copies []*copyInto
	for _, c := range []struct{ name, kept string }{
		{"", ""}, {"-lz4", "alter table %s alter lines set compression lz4"},
		{"-plain", "alter table %s alter lines set storage external"},
	} {
		table := "copied" + fmt.Sprint(len(copies))
		w.Exec(b, "create table "+table+" (org_id text, job_id text, attempt int, seq bigint, lines text, at timestamptz "+
			"not null default now(), primary key (org_id, job_id, attempt, seq))")
		if c.kept != "" {
			w.Exec(b, fmt.Sprintf(c.kept, table))
		}
		copies = append(copies, &copyInto{name: c.name, table: table, db: db})
	}
	return copies
}

// fill copies the whole log in one statement, the fastest use of COPY.
func (c *copyInto) fill(b *testing.B, w *jobstest.World, job string, texts []string) {
	began := time.Now()
	_, err := c.db.CopyFrom(b.Context(), pgx.Identifier{c.table},
		[]string{"org_id", "job_id", "attempt", "seq", "lines"},
		pgx.CopyFromSlice(len(texts),
			func(i int) ([]any, error) { return []any{w.Org.ID, job, 1, int64(i), texts[i]}, nil }))
	must(b, err)
	c.took += time.Since(began)
}
