package jobs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/pgcluster"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// The parameters of each round of BenchmarkClaims, on either side.
const (
	claimers     = 8 // at once
	claimRunners = 200
	claimTime    = 4 * time.Second
	// claimStock is the number of jobs queued before each side's turn, more than either could claim
	// in its time.
	claimStock = 60_000
)

// BenchmarkClaims measures how many jobs are claimed per second, one at a time, through the store
// and through pgbench: the same statement in the same transaction with the same settings, from as
// many clients, on the same data and server, in turn. The ratio is the share of the database's
// throughput that the store reaches.
func BenchmarkClaims(b *testing.B) {
	bench := pgbench(b)
	w := jobstest.New(b)
	w.Exec(b, `insert into runners (org_id, id, name, kind) select $1, 'run_' || n, 'run-' || n, 'install' from generate_series(1, $2::int) n`,
		w.Org.ID, claimRunners)
	var ours, bare float64
	rounds := 0
	for b.Loop() {
		stock(b, w)
		ours += claimsOfOurs(b, w)
		stock(b, w)
		bare += bench.claims(b, w)
		rounds++
	}
	b.ReportMetric(0, "ns/op") // both together, which means nothing
	b.ReportMetric(ours/float64(rounds), "claims/s")
	b.ReportMetric(bare/float64(rounds), "pgbench-claims/s")
	b.ReportMetric(ours/bare, "ratio")
}

// stock removes all earlier jobs and claims, with what refers to them, and queues the jobs.
func stock(b *testing.B, w *jobstest.World) {
	w.Exec(b, "truncate jobs, attempts, due, log_chunks cascade")
	w.Exec(b, `insert into jobs (org_id, id, runner_id, kind, status, owner_kind, owner_id, spec, reason, created_at)
		select $1, 'job_' || n, 'run_' || 1 + n % $2::int, 'plan', 'queued', 'step', 's', '{}', 'r', now() - n * interval '1 ms' from generate_series(1, $3::int) n`,
		w.Org.ID, claimRunners, claimStock)
	w.Exec(b, "vacuum analyze jobs, attempts, due")
}

func claimsOfOurs(b *testing.B, w *jobstest.World) float64 {
	var claimed atomic.Int64
	var clients sync.WaitGroup
	began := time.Now()
	ctx, stop := context.WithDeadline(b.Context(), began.Add(claimTime))
	defer stop()
	for range claimers {
		clients.Go(func() {
			for ctx.Err() == nil {
				claim := store.ClaimJobsParams{
					OrgID: w.Org.ID, RunnerID: fmt.Sprint("run_", 1+rand.IntN(claimRunners)), Most: 1, OfferSeconds: 15,
					Allowed: []string{"plan"},
				}
				got := 0
				err := w.Store.InTx(ctx, w.Org.ID, func(ctx context.Context, tx *store.Tx) error {
					rows, err := tx.ClaimJobs(ctx, claim)
					got = len(rows)
					return err
				})
				if err != nil && ctx.Err() == nil {
					b.Error(err)
					return
				}
				if err == nil {
					claimed.Add(int64(got))
				}
			}
		})
	}
	clients.Wait()
	return float64(claimed.Load()) / time.Since(began).Seconds()
}

// peer is pgbench with a script of the same transaction.
type peer struct{ program string }

func pgbench(b *testing.B) peer {
	found, err := exec.LookPath("pgbench")
	if err == nil {
		return peer{found}
	}
	server, err := pgcluster.Find(b.Context(), pgcluster.Search{})
	if err != nil {
		b.Fatal(err)
	}
	program := filepath.Join(server.Dir, "pgbench")
	if _, err := os.Stat(program); err != nil {
		b.Fatalf("the peer of this benchmark is pgbench, which is not beside the server's programs: %v; install "+
			"PostgreSQL's contrib package", err)
	}
	return peer{program}
}

var perSecond = regexp.MustCompile(`tps = ([0-9.]+)`)

// claims runs the script, in which each transaction claims one job, and returns the jobs per
// second.
func (p peer) claims(b *testing.B, w *jobstest.World) float64 {
	file, err := os.ReadFile("../store/queries/jobs.sql")
	must(b, err)
	_, query, found := strings.Cut(string(file), "-- name: ClaimJobs :many\n")
	query, _, ended := strings.Cut(query, ";")
	if !found || !ended {
		b.Fatal("jobs.sql has no query ClaimJobs")
	}
	query = strings.NewReplacer("@org_id", ":org::text", "@runner_id", "('run_' || :runner::text)",
		"@allowed::text[]", ":allowed::text[]", "@components_limited::bool", ":limited::bool",
		"@components::text[]", ":none::text[]", "@granted::text[]", ":none::text[]",
		"@need_grant::text[]", ":none::text[]", "@unusable::text[]", ":none::text[]",
		"@most", ":most::int", "@offer_seconds::float8", ":offer::float8").Replace(query)
	if left := regexp.MustCompile(`@\w+`).FindString(query); left != "" {
		b.Fatalf("this benchmark does not know the parameter %s of the claim", left)
	}
	script := filepath.Join(b.TempDir(), "claim.sql")
	must(b, os.WriteFile(script, []byte(`\set runner random(1, `+strconv.Itoa(claimRunners)+`)
begin;
select set_config('nuon.org', :org::text, true);
`+query+`;
commit;
`), 0o600))
	database := w.Text(b, "select current_database()")
	host := w.Text(b, "select split_part(current_setting('unix_socket_directories'), ',', 1)")
	command := exec.CommandContext(b.Context(), p.program, "-n", "-M", "prepared", "-c", strconv.Itoa(claimers), "-j",
		"2", "-T", strconv.Itoa(int(claimTime.Seconds())),
		"-D", "org="+w.Org.ID, "-D", "limited=false", "-D", "allowed={plan}", "-D", "none={}", "-D", "most=1",
		"-D", "offer=15", "-f", script,
		"-h", host, "-p", w.Text(b, "select current_setting('port')"), "-U",
		w.Text(b, "select current_user::text"), database)
	// The role of the program's own connections, which is subject to row-level security.
	command.Env = append(os.Environ(), "PGOPTIONS=-c role=nuon_app")
	said, err := command.CombinedOutput()
	if err != nil {
		b.Fatalf("pgbench: %v\n%s", err, said)
	}
	match := perSecond.FindSubmatch(said)
	if match == nil || strings.Contains(string(said), "ERROR") {
		b.Fatalf("pgbench does not say what it did:\n%s", said)
	}
	rate, err := strconv.ParseFloat(string(match[1]), 64)
	must(b, err)
	claimed, err := strconv.Atoi(w.Text(b, "select count(*)::text from jobs where status = 'offered'"))
	must(b, err)
	if least := int(rate * claimTime.Seconds() * 0.9); claimed < least {
		b.Fatalf("pgbench says %.0f transactions a second, but only %d jobs were claimed in %s",
			rate, claimed, claimTime)
	}
	return rate
}
