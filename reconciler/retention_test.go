package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/retention"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// TestRetainCommand checks that it prints what would be removed in a dry run, removes it otherwise,
// and then has nothing left to remove; for one org or all, with the periods of its flags.
func TestRetainCommand(t *testing.T) {
	dsn := storetest.DSN(t)
	s, err := store.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, org := range []string{"acme", "globex"} {
		if _, err := s.AddOrg(t.Context(), "org_"+org, org); err != nil {
			t.Fatal(err)
		}
	}
	old := func(org string, days int) {
		t.Helper()
		exec(t, dsn,
			`insert into runners (org_id, id, name, kind) values ($1, 'run', 'run', 'install') on conflict do nothing`, "org_"+
				org)
		exec(t, dsn, `insert into registrations (org_id, id, runner_id, hash, expires_at) values ($1, gen_random_uuid()::text, 'run', sha256(gen_random_uuid()::text::bytea), now() - make_interval(days => $2))`, "org_"+org, days)
	}
	old("acme", 31)
	old("acme", 2)
	old("globex", 31)
	run := func(args ...string) string {
		t.Helper()
		var out strings.Builder
		c := newRoot()
		c.SetOut(&out)
		c.SetArgs(append([]string{"retain", "--database-url", dsn}, args...))
		if err := c.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("retain %v: %v", args, err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"--dry-run"}, "ORG WHAT WOULD GO acme registrations 1 globex registrations 1"},
		{[]string{"--dry-run"}, "ORG WHAT WOULD GO acme registrations 1 globex registrations 1"}, // it removed nothing
		{[]string{"--dry-run", "--keep-logs", "24h", "--org", "acme"}, "ORG WHAT WOULD GO acme registrations 2"},
		{[]string{"--org", "acme"}, "ORG WHAT REMOVED acme registrations 1"},
		{nil, "ORG WHAT REMOVED acme nothing 0 globex registrations 1"},
		{nil, "ORG WHAT REMOVED acme nothing 0 globex nothing 0"},
	} {
		if got := run(step.args...); got != step.want {
			t.Errorf("retain %v printed %q, want %q", step.args, got, step.want)
		}
	}
	var list []orgRemoved
	if err := json.Unmarshal([]byte(run("--dry-run", "-o", "json", "--keep-logs", "24h")), &list); err != nil {
		t.Fatal(err)
	}
	want := []orgRemoved{{"acme", []retention.Removed{{What: "registrations", Rows: 1}}},
		{"globex", []retention.Removed{}}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("as JSON (-want +got):\n%s", diff)
	}
	c := newRoot()
	c.SetArgs([]string{"retain", "--database-url", dsn, "--org", "initech"})
	if err := c.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "org initech not found") {
		t.Errorf("an org that is not there: %v", err)
	}
}

// TestRetentionIsScheduled checks that what serve schedules for an org is queued as its retention
// when it is due.
func TestRetentionIsScheduled(t *testing.T) {
	dsn := storetest.DSN(t)
	s, err := store.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.AddOrg(t.Context(), "org_acme", "acme"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); scheduleRetention(ctx, s) }()
	for count(t, dsn, "select count(*) from due where kind = 'org' and id = 'org_acme' and at > now()") == 0 {
		select {
		case <-ended:
			t.Fatal("it ended without a word")
		case <-time.After(10 * time.Millisecond): //walltime: the pause between two looks
		}
	}
	stop()
	<-ended
	if got := jobForDue(store.DueItem{
		Org: "org_acme", Kind: store.DueOrg, ID: "org_acme",
	}); got != (queue.Retain{Org: "org_acme"}) {
		t.Errorf("what is due becomes %+v", got)
	}
}

// exec runs one statement as the database's owner.
func exec(t *testing.T, dsn, sql string, args ...any) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context()) //nolint:errcheck // nothing is in flight on it
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// count reads one number as the database's owner.
func count(t *testing.T, dsn, sql string) (n int) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context()) //nolint:errcheck // nothing is in flight on it
	if err := db.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}
