package replicas

import (
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// drainDelay is the time that a stopping replica reports not ready before it closes its listeners.
const drainDelay = time.Second

// TestTwoReplicas runs two reconcilers with shared storage through pushes, a rolling restart, a
// kill, a crash of Postgres and an outage of the registry. A crowd sends requests throughout.
func TestTwoReplicas(t *testing.T) {
	w := newWorld(t, fleet.Options{Replicas: 2, Serve: []string{"--drain-delay", drainDelay.String(), "--insight-listen",
		"127.0.0.1:0"}})
	w.start("approve-all")
	w.arrived()
	c := newCrowd(t, w)
	w.push()
	w.arrived()
	c.check(t)
	on := func(name string, do func(*testing.T, *world, *crowd)) {
		if !t.Run(name, func(t *testing.T) { here := *w; here.T = t; do(t, &here, c); w.pushed = here.pushed }) {
			t.FailNow()
		}
	}
	on("rolling restart", rollingRestart)
	on("kill", kill)
	on("postgres", crashPostgres)
	on("registry", withoutRegistry)
	on("newer schema", newerSchema)
	on("refused", refused)
	c.end()
	on("followed log", followed)
	nothingTwice(w)
	on("watch", everyWatch)
}

// rollingRestart checks that no request fails, and that a push during the restart is rolled out.
func rollingRestart(t *testing.T, w *world, c *crowd) {
	for n, replica := range w.fleet.Replicas {
		if n == 1 {
			w.push()
		}
		began := time.Now()
		must(t, replica.Stop(testtime.Limit))
		t.Logf("%s stopped after %s", replica.Name, time.Since(began).Round(time.Millisecond))
		must(t, w.fleet.StartReplica(t.Context(), n))
		ready := w.fleet.Ready(n).ControlURL
		w.until("replica "+replica.Name+" is taken up again", func() (bool, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.ready[ready], nil
		})
	}
	w.arrived()
	if counts := c.check(t); counts["ok"] == 0 || counts["503"] > 0 {
		t.Errorf("during a rolling restart the crowd was told %v", counts)
	}
}

// kill checks that the remaining replica continues the work of a killed one at once.
func kill(t *testing.T, w *world, c *crowd) {
	w.push()
	began := time.Now()
	must(t, w.fleet.Replicas[0].Kill())
	w.arrived()
	t.Logf("with one replica killed as the push came, it was applied after %s", time.Since(began).Round(time.Millisecond))
	must(t, w.fleet.StartReplica(t.Context(), 0))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = nil // its connections broke, which clients of a killed server must tolerate
}

// crashPostgres checks that requests wait or are answered with a retry, and that nothing is missed.
func crashPostgres(t *testing.T, w *world, c *crowd) {
	c.check(t)
	w.push()
	must(t, w.fleet.Database.Crash(t.Context()))
	w.arrived()
	c.check(t)
}

// withoutRegistry checks that a build waits for the registry, that the status reports why, and that
// the build continues.
func withoutRegistry(t *testing.T, w *world, _ *crowd) {
	must(t, w.fleet.Registry.Down())
	w.push()
	w.until("the status says that the registry is away and that work is tried again", func() (bool, error) {
		out, err := w.fleet.Nuon(t.Context(), "status", "--system")
		return err != nil && strings.Contains(string(out), "registry\taway") &&
			strings.Contains(string(out), "work\tfailing"), nil
	})
	must(t, w.fleet.Registry.Up())
	w.arrived()
	w.until("all is well", func() (bool, error) {
		_, err := w.fleet.Nuon(t.Context(), "status", "--system")
		return err == nil, nil
	})
}

// nothingTwice checks in the database that nothing was done more often than requested.
func nothingTwice(w *world) {
	w.Helper()
	if n := w.count("select count(*) from builds b join components c using (org_id) where c.id = b.component_id and " +
		"c.name = 'web'"); n != w.pushed {
		w.Errorf("%d pushes made %d builds of web", w.pushed, n)
	}
	if n := w.count("select count(*) from workflows where status <> 'succeeded'"); n != 0 {
		w.Errorf("%d workflows did not succeed", n)
	}
	if n := w.count("select count(*) from workflows"); n != w.pushed {
		w.Errorf("%d pushes made %d workflows", w.pushed, n)
	}
	for what, sql := range map[string]string{
		"builds of one input": "select count(*) from (select from builds group by input_id having count(*) " +
			"> 1) twice",
		"plans of one component": "select count(*) from (select from plans group by workflow_id, component " +
			"having count(*) > 1) twice",
		"jobs of one step or build": "select count(*) from (select from jobs group by owner_id having count(*) " +
			"> 1) twice",
		// A runner on a busy machine may accept an offer too late; nothing runs of such an attempt.
		"attempts of one job": "select count(*) from (select from attempts where status <> 'withdrawn' group by job_id " +
			"having count(*) > 1) twice",
		"states of one job": "select count(*) from (select from states group by job_id, serial having " +
			"count(*) > 1) twice",
		"jobs without an end":              "select count(*) from jobs where ended_at is null",
		"state locks that nobody needs":    "select count(*) from state_locks",
		"workflows of one component":       "select count(*) from workflows where status = 'running'",
		"replicas that were not forgotten": "select greatest(count(*) - 2, 0) from replicas",
	} {
		if n := w.count(sql); n != 0 {
			w.Errorf("%s: %d", what, n)
		}
	}
}
