package jobs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
)

// Every poll of every runner runs the claim, so its cost must depend on what is queued for that
// runner and not on past jobs.
func TestTheClaimReadsItsIndexInOrder(t *testing.T) {
	w := jobstest.New(t)
	mine, other := w.Runner(t, runners.KindInstall), w.Runner(t, runners.KindInstall)
	insert := `insert into jobs (org_id, id, runner_id, kind, status, owner_kind, owner_id, spec, reason, created_at)
		select $1, 'job_' || $2 || n, $2, 'plan', $3, 'step', 's', '{}', 'r', now() - n * interval '1 second' from generate_series(1, $4::int) n`
	w.Exec(t, insert, w.Org.ID, mine.Runner, "succeeded", 20_000)
	w.Exec(t, strings.ReplaceAll(insert, "'job_'", "'jobq_'"), w.Org.ID, mine.Runner, "queued", 300)
	w.Exec(t, insert, w.Org.ID, other.Runner, "queued", 300)
	w.Exec(t, "analyze jobs")
	plan := w.Plan(t, claim(t, mine))
	limit := regexp.MustCompile(`(?s)CTE oldest.*?CTE `).FindString(plan)
	if !strings.Contains(limit, "Index Scan using jobs_claim on jobs") || strings.Contains(limit, "Sort") ||
		!strings.Contains(limit, "Limit") {
		t.Errorf("the claim does not walk jobs_claim in order:\n%s", plan)
	}
	if strings.Contains(plan, "Seq Scan on jobs") {
		t.Errorf("the claim reads the whole table:\n%s", plan)
	}
}

// claim returns the statement of the query file with values in place of its parameters.
func claim(t *testing.T, runner jobstest.Runner) string {
	t.Helper()
	file, err := os.ReadFile("../store/queries/jobs.sql")
	must(t, err)
	_, query, found := strings.Cut(string(file), "-- name: ClaimJobs :many\n")
	query, _, ended := strings.Cut(query, ";")
	if !found || !ended {
		t.Fatal("jobs.sql has no query ClaimJobs")
	}
	return strings.NewReplacer("@org_id", "'"+runner.Org+"'", "@runner_id", "'"+runner.Runner+"'",
		"@limited::bool", "true",
		"@allowed::text[]", "array['plan', 'apply']", "@components_limited::bool", "true", "@components::text[]",
		"array['sandbox']", "@granted::text[]", "array['ins-%']",
		"@need_grant::text[]", "array['%-repair']", "@unusable::text[]",
		"array['ins-off']", "@most", "4", "@offer_seconds::float8", "15").Replace(query)
}
