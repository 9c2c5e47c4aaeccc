package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
)

// TestSoak injects faults for some seconds with fixed seeds, and then checks that the count would
// detect losses.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes; make soak and make test LONG=1 run it")
	}
	bin, err := fleet.Programs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"processes are killed": {Seed: 7, Faults: []string{"job", "machine", "runner", "terraform"}},
		"stores and lines": {Seed: 21, Faults: []string{"hole", "postgres", "reconciler", "registry", "reset", "slow",
			"twice"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := fleet.Place()
			if err != nil {
				t.Fatal(err)
			}
			// The test's own context ends before the programs are stopped.
			ctx := context.WithoutCancel(t.Context())
			o.Bin, o.Dir, o.For, o.Pause = bin, dir, 14*time.Second, time.Second
			o.Verbose, o.Say = true, func(line string) { t.Log(line) }
			s, err := begin(ctx, o)
			t.Cleanup(func() {
				if err := s.fleet.Stop(); err != nil {
					t.Error(err)
				}
				if t.Failed() {
					t.Logf("the logs and the evidence are in %s", dir)
					return
				}
				if err := os.RemoveAll(dir); err != nil {
					t.Error(err)
				}
			})
			for _, part := range []func(context.Context) error{s.install, s.storm, s.rest, s.count} {
				if err == nil {
					err = part(ctx)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			if t.Logf("%s", s.figures); !s.figures.Good() {
				t.FailNow()
			}
			countSeesWhatIsLost(t, s)
		})
	}
}

// countSeesWhatIsLost removes one thing after the other and checks that the count detects it.
func countSeesWhatIsLost(t *testing.T, s *soak) {
	t.Helper()
	all, err := s.deeds()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d deeds: %v", len(all), err)
	}
	ended, err := s.endings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// A successful apply, so that all of its records must exist.
	i := slices.IndexFunc(all, func(d deed) bool { return ended[d.attempt()] == "succeeded" })
	if i < 0 {
		t.Fatal("no deed is of an apply that succeeded")
	}
	d := all[i]
	for _, test := range []struct {
		name, sql string
		args      []any
		found     func(Figures) []string
		words     string
	}{
		{"a lock", `insert into state_locks (org_id, install_component_id, lock_id, info, job_id, attempt) select org_id, id, 'l', '{}', 'j', 1 from install_components limit 1`,
			nil, func(f Figures) []string { return f.Locks }, "is locked by"},
		{"a contested version", `update states set status = 'contested' where ctid in (select ctid from states order by version desc limit 1)`,
			nil, func(f Figures) []string { return f.Contested }, "contested"},
		{"a log", `delete from log_chunks where job_id = $1`, []any{d.Job}, func(f Figures) []string { return f.Lost },
			"log of " + d.Job},
		{"an end", `update jobs set status = 'running' where id = $1`, []any{d.Job},
			func(f Figures) []string { return f.Lost }, d.Job + " is running"},
		{"an attempt", `delete from attempts where job_id = $1`, []any{d.Job}, func(f Figures) []string { return f.Lost },
			"how it ended is nowhere"},
		{"a version between", `insert into states (org_id, install_component_id, version, serial, lineage, digest, sealed, job_id, attempt)
			select s.org_id, s.install_component_id, s.version + 1, s.serial + 2, s.lineage, s.digest, s.sealed, s.job_id, s.attempt from states s
			join attempts a on a.org_id = s.org_id and a.job_id = s.job_id and a.number = s.attempt
			where s.status = 'kept' and a.status = 'succeeded' and not exists (
				select from states n where n.install_component_id = s.install_component_id and n.version > s.version)
			order by s.version desc limit 1`, // the count considers only what successful applies left
			nil, func(f Figures) []string { return f.Lost }, "follows on"},
		{"the newest states", `delete from states s where not exists (select from states n where n.install_component_id = s.install_component_id and n.version > s.version)`,
			nil, func(f Figures) []string { return f.Lost }, "the newest state"},
	} {
		tamper(t, s, test.sql, test.args...)
		if err := s.count(t.Context()); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if !slices.ContainsFunc(test.found(s.figures), func(f string) bool { return strings.Contains(f, test.words) }) {
			t.Errorf("%s was not missed in\n%s", test.name, s.figures)
		}
	}
	left := filepath.Join(s.fleet.Builder.Dir, "undelivered", "something")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if found, err := s.lostResults(t.Context(), nil); err != nil || len(found) != 1 {
		t.Errorf("what a runner could not deliver was not missed: %v %v", found, err)
	}
}

func tamper(t *testing.T, s *soak, sql string, args ...any) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.fleet.Database.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // nothing is in flight on it
	done, err := c.Exec(t.Context(), sql, args...)
	if err != nil || done.RowsAffected() == 0 {
		t.Fatalf("%s: %v: %s", sql, err, done)
	}
}

func TestTwice(t *testing.T) {
	plan := deed{Install: "a", Component: "c", Planned: "noon", Terraform: "1", Job: "j", Attempt: 1, Began: 10, Ended: 20}
	with := func(change func(*deed)) deed { d := plan; change(&d); return d }
	for name, test := range map[string]struct {
		second deed
		found  int
	}{
		"one Terraform does two things": {with(func(d *deed) { d.Began, d.Ended = 15, 25 }), 0},
		"another plan, later": {with(func(d *deed) {
			d.Planned, d.Terraform, d.Began, d.Ended = "one", "2",
				30, 40
		}), 0},
		"the same plan again": {with(func(d *deed) { d.Terraform, d.Began, d.Ended = "2", 30, 40 }), 1},
		"another plan, at once": {with(func(d *deed) {
			d.Planned, d.Terraform, d.Began, d.Ended = "one", "2",
				15, 40
		}), 1},
		"another component, at once": {with(func(d *deed) { d.Component, d.Terraform, d.Began = "e", "2", 15 }), 0},
		"after one that was given up": {with(func(d *deed) {
			d.Planned, d.Terraform, d.Job, d.Began = "one", "2",
				"gone", 15
		}), 0},
		"the plan of one that was given up": {with(func(d *deed) { d.Terraform, d.Job, d.Began = "2", "gone", 30 }), 1},
		"the same plan at once":             {with(func(d *deed) { d.Terraform, d.Began = "2", 15 }), 2},
		"another plan that was cut off later": {with(func(d *deed) {
			d.Planned, d.Terraform, d.Began, d.Ended = "one", "2",
				30, 0
		}), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := twice([]deed{plan, test.second}, map[string]bool{"gone/1": true}); len(got) != test.found {
				t.Errorf("got %q, want %d", got, test.found)
			}
		})
	}
}

func TestGapsInLogs(t *testing.T) {
	for name, test := range map[string]struct {
		ended string
		seen  []int
		found int
	}{
		"all":                       {"succeeded", []int{1, 2, 3}, 0},
		"all of one that failed":    {"failed", []int{1, 2, 3}, 0},
		"the last is missing":       {"succeeded", []int{1, 2}, 1},
		"the last of one that died": {"lost", []int{1, 2}, 0},
		"none of one that died":     {"lost", nil, 0},
		"none":                      {"succeeded", nil, 1},
		"a gap":                     {"lost", []int{1, 3}, 1},
		"the first is missing":      {"failed", []int{2, 3}, 1},
		"one is there twice":        {"failed", []int{1, 2, 2, 3}, 1},
		"the last is there twice":   {"lost", []int{1, 2, 3, 3}, 1},
		"two changed places":        {"failed", []int{1, 3, 2}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := deed{Tag: "t", Job: "j", Attempt: 2, Lines: 3}
			got := gapsInLogs([]deed{d}, map[string]string{"j/2": test.ended}, map[string][]int{"t": test.seen})
			if len(got) != test.found {
				t.Errorf("got %q, want %d", got, test.found)
			}
		})
	}
}

func TestTornEvidenceIsNoEvidence(t *testing.T) {
	for _, text := range []string{"begin t create i c", "end t 3 5", "begin t create i c s r p tf job/one 5", "nonsense"} {
		log := filepath.Join(t.TempDir(), "witness.log")
		if err := os.WriteFile(log, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if all, err := readDeeds(log); err == nil {
			t.Errorf("%q was read as %v", text, all)
		}
	}
}

// TestAWitnessWhoseJobWasJustKilled checks deeds whose witness could not determine the attempt:
// other deeds of the same Terraform process supply it, and without any the deed still counts.
func TestAWitnessWhoseJobWasJustKilled(t *testing.T) {
	log := filepath.Join(t.TempDir(), "witness.log")
	text := "begin t1 destroy i c s r1 p tf-1 job_1/2 5\nend t1 2 6\nbegin t2 create i c s r2 p tf-1 unknown 7\nbegin " +
		"t3 create i d s r3 p tf-2 unknown 8\n"
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := readDeeds(log)
	if err != nil || len(all) != 3 {
		t.Fatalf("read %v, %v", all, err)
	}
	if got := all[1].attempt(); got != "job_1/2" {
		t.Errorf("the second deed is that of %s", got)
	}
	if all[2].Job != "" {
		t.Errorf("nobody can know whose the third deed is, and it is that of %s", all[2].attempt())
	}
}
