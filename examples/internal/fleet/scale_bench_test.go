package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// manyComponents is the number of components in the app of BenchmarkManyInstalls, with its sandbox.
const manyComponents = 20

// manySize returns the number of installs, and the number of those with the history of a whole
// provision, which makes 300,000 jobs and 400,000 steps. With -short both are small, to try the
// benchmark out.
func manySize() (installs, history int) {
	if testing.Short() {
		return 100, 50
	}
	return 10_000, 5_000
}

// settleLimit bounds the wait for the benchmark's install and its builds. The wait for a new
// release has no limit.
const settleLimit = 10 * time.Minute

// BenchmarkManyInstalls measures one reconciler with 10,000 installs of an app with 20 components,
// all copies of one that was really deployed (Seed): a list of 100, `nuon sync`, reconciling one
// install, the time until all installs have a workflow for a new release that changes one
// component, and for one that changes all, the time of people's requests and answers meanwhile, the
// cost of an idle system, and the memory that the releases leave.
func BenchmarkManyInstalls(b *testing.B) {
	p := startPlane(b, "acme")
	ctx := b.Context()
	repo := p.deployed("many", "acme", chainOfModules(0))
	desk := p.deployed("forms", "desk", independentModules(0))
	p.awaitApprovals(desk)
	installs, history := manySize()
	begun := time.Now()
	rows, err := Seed(ctx, p.Database.DSN(), SeedOptions{Org: Org, Install: "acme", Installs: installs, History: history})
	must(b, err)
	b.Logf("seeded %d jobs and %d steps in %s", rows["jobs"], rows["steps"], time.Since(begun).Round(time.Second))
	rest := p.memoryAfterWork()
	var looks []reconciled
	for b.Loop() {
		b.ReportMetric(100*p.atRest(), "%core-at-rest")
		b.ReportMetric(1000*p.median(20, func() { p.get("/v1/installs?limit=100") }), "ms-list-of-100")
		b.ReportMetric(p.median(3, func() { must(b, ignore(p.Nuon(ctx, "sync", "--app", "many"))) }), "s-sync")
		looks = p.reconcileOne()
	}
	// Only one round: the copies have no runners, so their workflows never end.
	ordinary := fstest.MapFS{"components/c10.toml": chainOfModules(1)["components/c10.toml"]}
	one, slowest, answer := p.release(repo, ordinary, installs, manyComponents/2)
	p.forgetStarted()
	all, slowestOfAll, answerOfAll := p.release(repo, chainOfModules(2), installs, manyComponents/4)
	once := p.memoryAfterWork()
	p.forgetStarted()
	_, slowestAgain, answerAgain := p.release(repo, chainOfModules(3), installs, manyComponents/4)
	slowest, answer = max(slowest, slowestOfAll, slowestAgain), max(answer, answerOfAll, answerAgain)
	b.ReportMetric(0, "ns/op")
	for _, look := range looks {
		b.ReportMetric(1000*look.took, "ms-reconcile-"+look.name)
		b.ReportMetric(look.statements, "statements-reconcile-"+look.name)
	}
	b.ReportMetric(one.Seconds(), "s-one-component-everywhere")
	b.ReportMetric(all.Seconds(), "s-all-components-everywhere")
	b.ReportMetric(1000*slowest.Seconds(), "ms-slowest-request-meanwhile")
	b.ReportMetric(1000*answer.Seconds(), "ms-slowest-answer-meanwhile")
	// What the first releases need once stays; what each release would leave shows after another one.
	again := p.memoryAfterWork()
	b.ReportMetric((once.private-rest.private)/(1<<20), "MiB-grown")
	b.ReportMetric((again.private-once.private)/(1<<20), "MiB-grown-by-another-release")
	b.ReportMetric((once.live-rest.live)/(1<<20), "MiB-live-grown")
	b.ReportMetric((again.live-once.live)/(1<<20), "MiB-live-grown-by-another-release")
}

func ignore(_ []byte, err error) error { return err }

// chainOfModules returns an app with a sandbox and modules, each of which reads three outputs of the
// previous one. generation is in all of them.
func chainOfModules(generation int) fstest.MapFS {
	files := fstest.MapFS{"metadata.toml": {Data: []byte("version = \"v2\"\n")}}
	for i := range manyComponents {
		name, file, head, from := fmt.Sprintf("c%02d", i), fmt.Sprintf("components/c%02d.toml", i), "",
			fmt.Sprintf("components.c%02d", i-1)
		switch i {
		case 0:
			name, file = "sandbox", "sandbox.toml"
		case 1:
			from = "sandbox"
		}
		if i > 0 {
			head = fmt.Sprintf("name = %q\ntype = \"terraform_module\"\n", name)
		}
		var vars, module strings.Builder
		fmt.Fprintf(&vars, "generation = \"%d\"\n", generation)
		module.WriteString("variable \"generation\" { type = string }\n")
		for v := range 3 {
			if i > 0 {
				fmt.Fprintf(&vars, "v%d = \"{{.nuon.%s.outputs.out%d}}\"\n", v, from, v)
				fmt.Fprintf(&module, "variable \"v%d\" { type = string }\n", v)
			}
		}
		for o := range 5 {
			fmt.Fprintf(&module, "output \"out%d\" { value = \"%s-%d\" }\n", o, name, o)
		}
		files[file] = &fstest.MapFile{Data: fmt.Appendf(nil,
			"%sterraform_version = \"1.11.4\"\n\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/%s\"\n\n[vars]\n%s", head,
			name, vars.String())}
		files["modules/"+name+"/main.tf"] = &fstest.MapFile{Data: []byte(module.String())}
	}
	return files
}

// deployed creates an app with its own repository and one install, and returns once that is up to
// date.
func (p *plane) deployed(app, install string, files fstest.MapFS) *Repository {
	p.b.Helper()
	ctx := p.b.Context()
	repo, err := p.NewRepository(ctx, app, files)
	must(p.b, err)
	must(p.b, ignore(p.Nuon(ctx, "apps", "create", app, "--repo", repo.URL, "--branch", "main", "--directory", ".")))
	must(p.b, ignore(p.Nuon(ctx, "sync", "--app", app)))
	must(p.b, ignore(p.Nuon(ctx, "installs", "create", install, "--app", app, "--runner", "acme", "--approval",
		"approve-all")))
	must(p.b, Until(ctx, settleLimit, install+" is up to date", func() (bool, error) {
		return p.number("select count(*) from workflows w join installs i on i.id = w.install_id where i.name = $1 and "+
			"w.status = 'succeeded'", install) > 0 &&
			p.number("select count(*) from install_components where applied_digest <> desired_digest or "+
				"desired_digest = ''") == 0, nil
	}))
	return repo
}

// independentModules returns an app with a sandbox and modules without dependencies. generation is
// in all of them except the sandbox.
func independentModules(generation int) fstest.MapFS {
	const module = "variable \"generation\" { type = string }\n\nresource \"terraform_data\" \"form\" { input = " +
		"var.generation }\n"
	files := fstest.MapFS{
		"metadata.toml": {Data: []byte("version = \"v2\"\n")},
		"sandbox.toml": {Data: []byte("terraform_version = \"1.11.4\"\n\n[public_repo]\nrepo = \".\"\ndirectory " +
			"= \"modules/sandbox\"\n")},
		"modules/sandbox/main.tf": {Data: []byte("output \"one\" { value = 1 }\n")},
		"modules/form/main.tf":    {Data: []byte(module)},
	}
	for i := range manyComponents {
		files[fmt.Sprintf("components/f%02d.toml", i)] = &fstest.MapFile{Data: fmt.Appendf(nil,
			"name = \"f%02d\"\ntype = \"terraform_module\"\n"+
				"terraform_version = \"1.11.4\"\n\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/form\"\n\n[vars]\n"+
				"generation = \"%d\"\n", i, generation)}
	}
	return files
}

// awaitApprovals changes all modules of the install desk, and returns once the plan of each waits
// for a person.
func (p *plane) awaitApprovals(repo *Repository) {
	p.b.Helper()
	ctx := p.b.Context()
	must(p.b, ignore(p.Nuon(ctx, "installs", "update", "desk", "--approval", "prompt")))
	for file, content := range independentModules(1) {
		must(p.b, repo.Write(file, string(content.Data)))
	}
	must(p.b, repo.Push(ctx, "generation 1"))
	must(p.b, ignore(p.Nuon(ctx, "sync", "--app", "forms")))
	must(p.b, Until(ctx, settleLimit, "the plans of desk wait", func() (bool, error) {
		return len(p.waiting()) == manyComponents, nil
	}))
}

// waiting returns the pending approvals, oldest first.
func (p *plane) waiting() []string {
	p.b.Helper()
	rows, err := p.admin.Query(p.b.Context(), `select a.id from approvals a join installs i on i.id = a.install_id
		where a.status = 'waiting' and i.name = 'desk' order by a.id`)
	must(p.b, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(p.b, err)
	return ids
}

// get requests a path of the control API and reads the response.
func (p *plane) get(path string) {
	p.b.Helper()
	p.read(p.ready[0].ControlURL + path)
}

// read returns what a URL of the reconciler responds.
func (p *plane) read(address string) string {
	p.b.Helper()
	r, err := http.NewRequestWithContext(p.b.Context(), http.MethodGet, address, nil)
	must(p.b, err)
	r.Header.Set("Authorization", "Bearer "+p.Token)
	answer, err := http.DefaultClient.Do(r)
	must(p.b, err)
	defer answer.Body.Close() //nolint:errcheck // it was read
	said, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		p.b.Fatalf("%s: %s %v %.300s", address, answer.Status, err, said)
	}
	return string(said)
}

// median returns the median duration of do, in seconds.
func (p *plane) median(rounds int, do func()) float64 {
	var all []time.Duration
	for range rounds {
		begun := time.Now()
		do()
		all = append(all, time.Since(begun))
	}
	slices.Sort(all)
	return all[len(all)/2].Seconds()
}

// atRest returns how much of a core the reconciler and Postgres use while nothing happens.
func (p *plane) atRest() float64 {
	used := func() time.Duration {
		postgres := p.postmaster()
		return processorTime(p.b, append(children(p.b, postgres), p.Replicas[0].PID())...) + reapedTime(p.b, postgres)
	}
	before, begun := used(), time.Now()
	backoff.Pause(p.b.Context(), window)
	return (used() - before).Seconds() / time.Since(begun).Seconds()
}

// reconciled holds the cost of reconciling an install without anything to do.
type reconciled struct {
	name       string
	took       float64 // seconds
	statements float64
}

// reconcileOne reconciles an ordinary install, one with the history of its provision, and one with
// twenty plans that wait for a person. It measures the time on a separate connection to Postgres,
// like that of the reconciler, and counts the statements on another one.
func (p *plane) reconcileOne() []reconciled {
	meter := storetest.NewStatementCounter(p.b, p.Database.DSN())
	open := func(dsn string) *rollout.Rollout {
		s, err := store.Open(p.b.Context(), dsn)
		must(p.b, err)
		p.b.Cleanup(s.Close)
		return rollout.New(s, seal.Identity{})
	}
	direct, counted := open(p.Database.DSN()), open(meter.DSN)
	const rounds = 50
	var all []reconciled
	for _, kind := range []struct{ name, find string }{
		{"one", "select id from installs where name like 'acme-%' order by id desc limit 1"},
		{"history", "select id from installs where name = 'acme-1'"},
		{"waiting", "select id from installs where name = 'desk'"},
	} {
		var install string
		must(p.b, p.admin.QueryRow(p.b.Context(), kind.find).Scan(&install))
		for range 10 { // connects, and lets Postgres settle on query plans
			must(p.b, direct.Reconcile(p.b.Context(), p.org, install))
			must(p.b, counted.Reconcile(p.b.Context(), p.org, install))
		}
		before := meter.Statements()
		must(p.b, counted.Reconcile(p.b.Context(), p.org, install))
		one := reconciled{name: kind.name, statements: float64(meter.Statements() - before)}
		one.took = p.median(rounds, func() { must(p.b, direct.Reconcile(p.b.Context(), p.org, install)) })
		all = append(all, one)
	}
	return all
}

// afterWork holds the reconciler's memory when it has nothing to do, in bytes.
type afterWork struct {
	live    float64 // what its objects occupy after a garbage collection
	private float64 // what the process has, without the file of its program
}

// memoryAfterWork waits until the reconciler has nothing to do, and returns its memory.
func (p *plane) memoryAfterWork() afterWork {
	p.b.Helper()
	const due = "select count(*) from river.river_job where state in ('available', 'running', 'pending')"
	must(p.b, Until(p.b.Context(), settleLimit, "the queue is empty", func() (bool, error) {
		return p.number(due) == 0, nil
	}))
	live := p.liveHeap()
	return afterWork{live: live, private: private(p.b, p.Replicas[0].PID())}
}

// forgetStarted removes what a release started on the copies, which have no runners, so that the
// next release has the same start.
func (p *plane) forgetStarted() {
	p.b.Helper()
	const copies = "(select id from installs where name like 'acme-%')"
	for _, sql := range []string{
		"delete from jobs where status = 'queued' and install_id in " + copies,
		"delete from workflows where status = 'running' and install_id in " + copies,
	} {
		// The reconciler may still work on the installs, and lock them in another order.
		must(p.b, Until(p.b.Context(), settleLimit, "what was started is removed", func() (bool, error) {
			_, err := p.admin.Exec(p.b.Context(), sql)
			if deadlock := (*pgconn.PgError)(nil); errors.As(err, &deadlock) && deadlock.Code == "40P01" {
				return false, nil
			}
			return true, err
		}))
	}
}

// release pushes files, waits until every install has a workflow because of it, and meanwhile
// answers some approvals. It returns the time since the end of the last build, the slowest of a
// person's occasional requests, and the slowest `nuon approve`.
func (p *plane) release(repo *Repository, files fstest.MapFS, installs, answers int) (all, slowest,
	answer time.Duration) {
	ctx := p.b.Context()
	before := p.number("select count(*) from workflows")
	for file, content := range files {
		must(p.b, repo.Write(file, string(content.Data)))
	}
	must(p.b, repo.Push(ctx, fmt.Sprintf("change %d files", len(files))))
	must(p.b, ignore(p.Nuon(ctx, "sync", "--app", "many")))
	begun, forms := time.Now(), p.waiting()
	forms = forms[:min(answers, len(forms))]
	answers = len(forms)
	must(p.b, Until(ctx, time.Hour, "every install has a workflow", func() (bool, error) {
		asked := time.Now()
		p.get("/v1/approvals?limit=20")
		p.get("/v1/workflows?limit=20&status=running")
		slowest = max(slowest, time.Since(asked))
		if len(forms) > 0 && time.Since(begun) > time.Duration(answers-len(forms))*time.Second {
			asked = time.Now()
			must(p.b, ignore(p.Nuon(ctx, "approve", forms[0])))
			answer, forms = max(answer, time.Since(asked)), forms[1:]
		}
		return p.number("select count(*) from workflows")-before >= float64(installs), context.Cause(ctx)
	}))
	if len(forms) == answers {
		p.b.Fatal("nothing was approved while the release went to all installs")
	}
	return time.Since(begun), slowest, answer
}
