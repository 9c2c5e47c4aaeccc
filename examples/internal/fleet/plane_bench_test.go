package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/examples/internal/proc"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// plane is one real reconciler with its own Postgres, and the data of a benchmark about both.
type plane struct {
	*Fleet
	b     testing.TB
	admin *pgx.Conn
	org   string
}

// startPlane starts Postgres, a registry, one reconciler, a build runner and the named install
// runners, and stops them at the end of the benchmark.
func startPlane(b testing.TB, installers ...string) *plane {
	bin, err := filepath.Abs(cmp.Or(os.Getenv("NUON_BIN"), "../../../bin"))
	must(b, err)
	dir, err := os.MkdirTemp("/var/tmp", "nuon-fleet-")
	must(b, err)
	must(b, os.Chmod(dir, 0o755)) // the user that runs Postgres needs access to subdirectories
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	f, err := Start(b.Context(), Options{Bin: bin, Dir: dir, Poll: time.Minute, Installers: installers,
		Serve: []string{"--insight-listen", "127.0.0.1:0", "--insight-pprof"}})
	b.Cleanup(func() {
		if err := f.Stop(); err != nil {
			b.Error(err)
		}
	})
	must(b, err)
	p := &plane{Fleet: f, b: b}
	p.admin, err = pgx.Connect(b.Context(), f.Database.DSN())
	must(b, err)
	b.Cleanup(func() { _ = p.admin.Close(context.WithoutCancel(b.Context())) })
	must(b, p.admin.QueryRow(b.Context(), "select id from orgs").Scan(&p.org))
	return p
}

// startNothing starts an idle Go program, and returns its memory in bytes.
func (p *plane) startNothing() float64 {
	dir := p.b.TempDir()
	must(p.b, os.WriteFile(filepath.Join(dir, "main.go"),
		[]byte("package main\n\nimport \"os\"\n\nfunc main() { _, _ = os.Stdin.Read(make([]byte, 1)) }\n"), 0o600))
	built, err := exec.Command("go", "build", "-o", filepath.Join(dir, "nothing"),
		filepath.Join(dir, "main.go")).CombinedOutput()
	if err != nil {
		p.b.Fatalf("build a program that does nothing: %v\n%s", err, built)
	}
	nothing := exec.CommandContext(p.b.Context(), filepath.Join(dir, "nothing"))
	line, err := nothing.StdinPipe()
	must(p.b, err)
	must(p.b, nothing.Start())
	defer func() { _ = line.Close(); _ = nothing.Wait() }()
	backoff.Pause(p.b.Context(), time.Second)
	return resident(p.b, nothing.Process.Pid)
}

func (p *plane) exec(sql string, args ...any) {
	p.b.Helper()
	_, err := p.admin.Exec(p.b.Context(), sql, args...)
	must(p.b, err)
}

func (p *plane) number(sql string, args ...any) float64 {
	p.b.Helper()
	var n float64
	must(p.b, p.admin.QueryRow(p.b.Context(), sql, args...).Scan(&n))
	return n
}

// crowd is a set of registered runners that only poll.
type crowd struct {
	plane   *plane
	clients []*api.ClientWithResponses
	ids     []string
	offered chan offer // their offers; nobody works on them
	polls   sync.WaitGroup
}

type offer struct {
	client *api.ClientWithResponses
	ref    api.AttemptRef
	at     time.Time
}

// register creates count runners in the database, as if each had registered.
func (p *plane) register(count int) *crowd {
	f := &crowd{plane: p, offered: make(chan offer, count)}
	line := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: count, MaxIdleConns: count}}
	var rows [][]any
	var check []byte
	must(p.b, p.admin.QueryRow(p.b.Context(), "select key from token_keys order by id desc limit 1").Scan(&check))
	keys := token.NewKeys(check)
	for n := range count {
		id := fmt.Sprintf("run_%05d", n)
		key, hash := keys.Mint(token.Runner, p.org, id)
		rows = append(rows, []any{p.org, id, fmt.Sprint("runner-", n), "install", hash, "0.1.0", 2})
		client, err := api.NewClientWithResponses(p.ready[0].RunnerURL, api.WithHTTPClient(line),
			api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
				r.Header.Set("Authorization", "Bearer "+key)
				return nil
			}))
		must(p.b, err)
		f.clients, f.ids = append(f.clients, client), append(f.ids, id)
	}
	_, err := p.admin.CopyFrom(p.b.Context(), pgx.Identifier{"runners"},
		[]string{"org_id", "id", "name", "kind", "key_hash", "version", "capacity"}, pgx.CopyFromRows(rows))
	must(p.b, err)
	p.exec("analyze runners")
	return f
}

// poll makes every runner poll for work continuously, as a real one does. Their first polls end at
// different times within one poll period, as those of long-running runners do. It returns when all
// have polled once.
func (f *crowd) poll(ctx context.Context) {
	const spread, longest = 25 * time.Second, 270 // average duration of a poll in seconds
	var first sync.WaitGroup
	for n, client := range f.clients {
		first.Add(1)
		f.polls.Go(func() {
			started := sync.OnceFunc(first.Done)
			defer started()
			wait := time.NewTimer(spread * time.Duration(n) / time.Duration(len(f.clients)))
			defer wait.Stop()
			select {
			case <-wait.C:
			case <-ctx.Done():
				return
			}
			for hold := 1 + rand.IntN(longest); ctx.Err() == nil; hold = 0 {
				time.AfterFunc(time.Second, started)
				answer, err := client.LeaseWithResponse(ctx, api.LeaseRequest{Free: 2, Version: "0.1.0", WaitSeconds: hold})
				if ctx.Err() != nil {
					return
				}
				if err != nil || answer.JSON200 == nil {
					f.plane.b.Errorf("a poll came to nothing: %v %s", err, body(answer))
					return
				}
				for _, o := range answer.JSON200.Offers {
					f.offered <- offer{client, api.AttemptRef{Job: o.Job, Attempt: o.Attempt}, time.Now()}
				}
			}
		})
	}
	first.Wait()
}

// ring sends a notification for every runner once per period, spread evenly, although there is no
// work for them.
func (f *crowd) ring(ctx context.Context, each time.Duration) {
	db, err := pgx.Connect(ctx, f.plane.Database.DSN())
	if err != nil {
		f.plane.b.Error(err)
		return
	}
	defer db.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is in flight on it
	rung, began := 0, time.Now()
	for backoff.Pause(ctx, time.Second) {
		due := int(float64(len(f.ids)) * time.Since(began).Seconds() / each.Seconds())
		var ids []string
		for ; rung < due; rung++ {
			ids = append(ids, f.ids[rung%len(f.ids)])
		}
		if _, err := db.Exec(ctx, "select pg_notify('nuon_jobs', $1 || '/' || id) from unnest($2::text[]) as r (id)",
			f.plane.org, ids); err != nil && ctx.Err() == nil {
			f.plane.b.Errorf("ring for %d runners: %v", len(ids), err)
			return
		}
	}
}

func body(answer *api.LeaseResponse) string {
	if answer == nil {
		return ""
	}
	return answer.Status() + " " + string(answer.Body)
}

// processorTime returns the processor time of running processes so far.
func processorTime(b testing.TB, pids ...int) (sum time.Duration) {
	b.Helper()
	for _, pid := range pids {
		times, err := proc.Read(pid)
		if err == nil || !errors.As(err, new(*proc.MalformedError)) {
			sum += times.Own
			continue
		}
		b.Fatal(err)
	}
	return sum
}

// reapedTime returns the processor time of those children of a process that have ended.
func reapedTime(b testing.TB, pid int) time.Duration {
	b.Helper()
	times, err := proc.Read(pid)
	if errors.As(err, new(*proc.MalformedError)) {
		b.Fatal(err)
	}
	return times.Reaped
}

// children returns the child processes of a process.
func children(b testing.TB, parent int) []int {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	must(b, err)
	var pids []int
	for _, field := range strings.Fields(string(raw)) {
		pid, err := strconv.Atoi(field)
		must(b, err)
		pids = append(pids, pid)
	}
	return pids
}

// resident returns a process's memory in bytes, with the pages of its program's file that are mapped. Their number
// depends on how the file came into the page cache.
func resident(b testing.TB, pid int) float64 {
	b.Helper()
	return memory(b, pid, "VmRSS:")
}

// private returns the bytes of memory that a process does not share with the file of its program.
func private(b testing.TB, pid int) float64 {
	b.Helper()
	return memory(b, pid, "RssAnon:")
}

// memory returns a field of the kernel's status of a process, in bytes.
func memory(b testing.TB, pid int, field string) float64 {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(b, err)
	_, rest, found := strings.Cut(string(raw), field)
	fields := strings.Fields(rest)
	if !found || len(fields) < 2 {
		b.Fatalf("process %d does not say how much memory it has", pid)
	}
	kib, err := strconv.ParseFloat(fields[0], 64)
	must(b, err)
	return kib * 1024
}

// liveHeap returns the bytes that the reconciler's objects occupy after a garbage collection.
func (p *plane) liveHeap() float64 {
	p.b.Helper()
	profile := p.read(p.ready[0].MetricsURL + "/debug/pprof/heap?gc=1&debug=1")
	_, rest, found := strings.Cut(profile, "\n# HeapAlloc = ")
	size, _, _ := strings.Cut(rest, "\n")
	live, err := strconv.ParseFloat(size, 64)
	if !found || err != nil {
		p.b.Fatalf("the heap profile has no size: %v", err)
	}
	return live
}

func must(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
