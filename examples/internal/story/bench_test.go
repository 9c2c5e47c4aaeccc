package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pelletier/go-toml/v2"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// provisioned starts the whole system with one install of all of examples/hello, and measures
// pushes.
const provisioned = `
dev start
until 60s 'build\s.*online' nuon runners list
until 60s 'local\s.*online' nuon runners list
origin hello
cd $REPO
nuon apps create hello --repo file://$ORIGIN --branch main --directory examples/hello
nuon sync examples/hello
env API_TOKEN=` + benchToken + `
nuon installs create --app hello --file examples/hello/installs/acme.toml --approval approve-all --secret api_token=env:API_TOKEN
until 180s '\tacme\t' nuon approvals list
approve acme/scripts
until 180s '^acme\thello\t\d+ \([0-9a-f]{7}\)\tcurrent' nuon installs list
nuon installs update acme --approval prompt
measure
dev stop
`

const benchToken = "bench-token-7f1c"

// benchModule is the path of the changed module in the repository.
const benchModule = "examples/hello/modules/web"

// BenchmarkPushToPlan measures the time from a push inside one module to the plan that a person can
// read, with the real programs. It alternates with a peer: git fetch, checkout, terraform init and
// terraform plan of the same commit, variables and state. Each plan is rejected, so every plan
// starts from the same state. The benchmark fails if the two plans differ, never because of the
// time.
func BenchmarkPushToPlan(b *testing.B) {
	repo, err := root()
	if err != nil {
		b.Fatal(err)
	}
	dir, err := place()
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system's temporary directory is emptied some day
	// The user that runs Postgres needs access to subdirectories when root runs the benchmark.
	file := filepath.Join(dir, "bench.txtar")
	if err := os.WriteFile(file, []byte(provisioned), 0o600); err != nil {
		b.Fatal(err)
	}
	story := &teller{bin: programs(b, repo), repo: repo, loud: io.Discard}
	p := story.params([]string{file}, dir)
	p.Cmds["measure"] = func(ts *testscript.TestScript, _ bool, _ []string) { measure(b, ts, story.dev.Process.Pid) }
	var said bytes.Buffer
	t := &person{log: &said}
	t.run(func() { testscript.RunT(t, p) })
	if t.failed {
		b.Fatalf("the system was not measured:\n%s\n%s", said.String(), story.tail())
	}
}

// BenchmarkStartup measures short commands: `nuon --version`, and the completion of an install's
// name from a control plane with a full page of installs. The peers are `git --version`, and
// `true`, which shows the minimum time to start a program.
func BenchmarkStartup(b *testing.B) {
	repo, err := root()
	if err != nil {
		b.Fatal(err)
	}
	nuon := filepath.Join(programs(b, repo), "nuon")
	plane := crowded(b)
	const each = 20 // starts in one round, because a single one is too short to measure
	var ours, names, git, bare series
	for b.Loop() {
		for range each {
			ours.add(timed(b, exec.Command(nuon, "--version")))
			completion := exec.Command(nuon, "__complete", "installs", "get", "")
			completion.Env = append(os.Environ(), "NUON_URL="+plane, "NUON_TOKEN=bench")
			names.add(timed(b, completion))
			git.add(timed(b, exec.Command("git", "--version")))
			bare.add(timed(b, exec.Command("true")))
		}
	}
	b.ReportMetric(0, "ns/op") // the sum of all is meaningless
	b.ReportMetric(1000*ours.median().Seconds(), "ms/nuon-version")
	b.ReportMetric(1000*names.median().Seconds(), "ms/nuon-completion")
	b.ReportMetric(1000*git.median().Seconds(), "ms/git-version")
	b.ReportMetric(1000*bare.median().Seconds(), "ms/true")
	b.ReportMetric(ours.median().Seconds()/git.median().Seconds(), "ratio")
	b.ReportMetric(names.median().Seconds()/git.median().Seconds(), "ratio-completion")
	b.Logf("nuon --version %s; nuon __complete installs get %s; git --version %s; true %s", ours, names, git, bare)
}

// crowded returns the address of a server that answers every request with a full page of installs.
func crowded(b *testing.B) string {
	b.Helper()
	var page api.InstallList
	for i := range 500 {
		page.Items = append(page.Items, api.InstallSummary{Name: fmt.Sprintf("customer-%03d", i), App: "hello",
			Status: api.InstallSummaryStatusCurrent, Reason: "everything is up to date"})
	}
	answer, err := json.Marshal(page)
	if err != nil {
		b.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(answer) // the benchmark detects a client that has disconnected
	}))
	b.Cleanup(s.Close)
	return s.URL
}

func timed(b *testing.B, command *exec.Cmd) time.Duration {
	b.Helper()
	began := time.Now()
	if err := command.Run(); err != nil {
		b.Fatalf("%s: %v", command, err)
	}
	return time.Since(began)
}

// series holds several measurements of one duration.
type series []time.Duration

func (s *series) add(d time.Duration) { *s = append(*s, d) }

// median returns the median, which depends less on the load of other processes than the mean.
func (s series) median() time.Duration {
	sorted := slices.Sorted(slices.Values(s))
	if len(sorted)%2 == 1 {
		return sorted[len(sorted)/2]
	}
	return (sorted[len(sorted)/2-1] + sorted[len(sorted)/2]) / 2
}

// String returns the median and the range.
func (s series) String() string {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return fmt.Sprintf("%.1f ms (%.1f to %.1f)", ms(s.median()), ms(slices.Min(s)), ms(slices.Max(s)))
}

// measure pushes changes of one module, one after the other, and reports the times of nuon and of
// the peer until the plan. dev is the pid of `nuon dev`, the ancestor of all nuon processes.
func measure(b *testing.B, ts *testscript.TestScript, dev int) {
	system, err := openSystem(b.Context(), ts, dev)
	ts.Check(err)
	bare, err := system.peer()
	ts.Check(err)
	_, _, said, err := bare.plan("provisioned")
	ts.Check(err)
	if said != (counts{}) {
		ts.Fatalf("the bare peer has not the same state and variables: its plan of what is deployed is %s", said)
	}
	t := tally{parts: make([]series, len(partNames)), before: load()}
	for b.Loop() {
		round := len(t.ours)
		pushed, ourUse, approval := system.push(firstHost + round)
		parts, atOnce, err := system.parts(pushed, approval)
		ts.Check(err)
		ts.Check(system.reject(approval))
		took, used, said, err := bare.plan(fmt.Sprint("round-", round))
		ts.Check(err)
		shown, err := countsOf(approval)
		ts.Check(err)
		if said != shown {
			ts.Fatalf("the two plans are not the same: ours %s, the bare one %s", shown, said)
		}
		t.ours.add(system.readAt.Sub(pushed))
		t.seen.add(atOnce)
		t.bare.add(took)
		t.cpu.add(ourUse)
		t.bareCPU.add(used)
		for i, part := range parts {
			t.parts[i].add(part)
		}
	}
	t.report(b)
}

// firstHost is the page's address after the first push. Each push sets another one, because an
// unchanged module is not built.
const firstHost = 20

// tally holds the measurements, with one duration per round.
type tally struct {
	ours series // from the push to the plan that a client has read
	seen series // the part of ours from the revision's row to the approval's
	bare series // of the peer
	// cpu and bareCPU are the processor times of both, user and system.
	cpu, bareCPU series
	parts        []series // of ours, in the order of partNames
	// before is the machine's load at the start.
	before string
}

// report prints medians. A benchmark's log is cut after ten lines, so it prints three parts per
// line.
func (t *tally) report(b *testing.B) {
	ratio := func(i int) float64 { return t.ours[i].Seconds() / t.bare[i].Seconds() }
	least, most := ratio(0), ratio(0)
	for i := range t.ours {
		least, most = min(least, ratio(i)), max(most, ratio(i))
	}
	b.ReportMetric(0, "ns/op") // the sum of both is meaningless
	b.ReportMetric(t.ours.median().Seconds(), "s/push-to-plan")
	b.ReportMetric(t.seen.median().Seconds(), "s/seen-to-plan")
	b.ReportMetric(t.bare.median().Seconds(), "s/bare")
	b.ReportMetric(t.ours.median().Seconds()/t.bare.median().Seconds(), "ratio")
	b.ReportMetric(t.cpu.median().Seconds(), "cpu-s/push-to-plan")
	b.ReportMetric(t.bareCPU.median().Seconds(), "cpu-s/bare")
	b.ReportMetric(t.cpu.median().Seconds()/t.bareCPU.median().Seconds(), "ratio-cpu")
	b.ReportMetric(least, "ratio-least")
	b.ReportMetric(most, "ratio-most")
	var text strings.Builder
	fmt.Fprintf(&text, "load %s before, %s after\nours %s, processor time %s\nbare %s, processor time %s",
		t.before, load(), t.ours, t.cpu, t.bare, t.bareCPU)
	for i, name := range partNames {
		mark := "; "
		if i%3 == 0 {
			mark = "\n"
		}
		fmt.Fprintf(&text, "%s%s: %s", mark, name, t.parts[i])
	}
	b.Log(text.String())
}

// load returns the machine's load: figures of a busy machine are less reliable.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

// system is the running control plane with its install, and the vendor's work tree.
type system struct {
	ctx    context.Context
	ts     *testscript.TestScript
	client *apiclient.Client
	dev    int       // ancestor of all nuon processes
	readAt time.Time // when a client had read the last plan
}

func openSystem(ctx context.Context, ts *testscript.TestScript, dev int) (*system, error) {
	text, err := os.ReadFile(ts.Getenv("NUON_CONFIG"))
	if err != nil {
		return nil, err
	}
	var file contexts.File
	if err := toml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	client, err := apiclient.New(file.Contexts[file.Current])
	return &system{ctx: ctx, ts: ts, client: client, dev: dev}, err
}

// push changes the page's address in the module, commits, pushes, requests a poll of the
// repository, and waits for the plan. It returns the time when the push had ended and the change
// became visible, and the processor time of nuon from then on.
func (s *system) push(host int) (time.Time, time.Duration, api.Approval) {
	ts := s.ts
	ts.Check(change(filepath.Join(ts.Getenv("REPO"), benchModule, "main.tf"), host))
	ts.Check(ts.Exec("git", "commit", "-q", "-a", "-m", fmt.Sprintf("Serve the page from address %d", host)))
	ts.Check(ts.Exec("git", "push", "-q", "origin", "main"))
	before, err := processorTime(s.dev)
	ts.Check(err)
	pushed := time.Now()
	if _, err := apiclient.Decode[api.Sync](s.client.SyncApp(s.ctx, "hello", api.SyncRequest{})); err != nil {
		ts.Fatalf("sync: %v", err)
	}
	approval, err := s.planned(pushed)
	ts.Check(err)
	after, err := processorTime(s.dev)
	ts.Check(err)
	return pushed, after - before, approval
}

// change sets the page's address in a file to another host of its network.
func change(file string, host int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, after, found := bytes.Cut(text, []byte("cidrhost(var.cidr, "))
	_, after, closed := bytes.Cut(after, []byte(")"))
	if !found || !closed {
		return fmt.Errorf("%s does not set the page's address as this benchmark expects", file)
	}
	return os.WriteFile(file, fmt.Appendf(nil, "%scidrhost(var.cidr, %d)%s", before, host, after), 0o644)
}

// The interval in which a client polls for the plan, which limits the precision of the figure, and
// the maximum wait.
const (
	lookEvery = 20 * time.Millisecond
	planLimit = 2 * time.Minute
)

// planned waits for the plan of the pushed commit.
func (s *system) planned(pushed time.Time) (api.Approval, error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for range look.C {
		list, err := apiclient.Decode[api.ApprovalList](s.client.ListApprovals(s.ctx, &api.ListApprovalsParams{Install: "acme"}))
		s.readAt = time.Now()
		switch {
		case err != nil:
			return api.Approval{}, err
		case len(list.Items) > 0:
			return list.Items[0], nil
		case time.Since(pushed) > planLimit:
			return api.Approval{}, fmt.Errorf("no plan %s after the push", planLimit)
		}
	}
	return api.Approval{}, errors.New("the ticker has ended")
}

// reject rejects the plan, and waits until nothing is running.
func (s *system) reject(a api.Approval) error {
	_, err := apiclient.Decode[api.Approval](s.client.RespondApproval(s.ctx, a.ID, api.Response{
		Answer: "reject", Plan: a.Plan, ContentDigest: a.ContentDigest, Reason: "only measured",
	}))
	if err != nil {
		return err
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for deadline := time.Now().Add(planLimit); time.Now().Before(deadline); <-look.C {
		w, err := apiclient.Decode[api.Workflow](s.client.GetWorkflow(s.ctx, a.Workflow))
		if err != nil {
			return err
		}
		if w.Status != "running" {
			return nil
		}
	}
	return fmt.Errorf("workflow %s does not end after its plan was rejected", a.Workflow)
}

// partNames lists the parts of the time from a push to its plan, in order.
var partNames = []string{
	"push to seen", "seen to build queued", "build queued to at work", "build at work", "build worked to ended",
	"build ended to sync queued", "sync queued to at work", "sync at work", "sync worked to ended",
	"sync ended to plan queued", "plan queued to at work", "plan at work", "plan worked to ready", "ready to read",
}

// parts splits the time of one push by the timestamps of its records, in the order of partNames,
// and returns the time from seen to ready. A job is at work from the first line of its log to the
// last. Before that it is leased, accepted and started; after that it finishes and delivers its
// result.
func (s *system) parts(pushed time.Time, a api.Approval) ([]time.Duration, time.Duration, error) {
	now, err := apiclient.Decode[api.Sync](s.client.GetSync(s.ctx, "hello", &api.GetSyncParams{}))
	if err != nil {
		return nil, 0, err
	}
	at := slices.IndexFunc(now.Builds, func(b api.Build) bool { return b.Component == "web" })
	if at < 0 {
		return nil, 0, errors.New("web has no build")
	}
	built, building, err := s.job(now.Builds[at].Job)
	if err != nil {
		return nil, 0, err
	}
	w, err := apiclient.Decode[api.Workflow](s.client.GetWorkflow(s.ctx, a.Workflow))
	if err != nil {
		return nil, 0, err
	}
	step := slices.IndexFunc(w.Steps, func(s api.Step) bool { return s.Kind == "plan" && s.Component == a.Component })
	if step < 0 {
		return nil, 0, fmt.Errorf("workflow %s has no step that plans %s", w.ID, a.Component)
	}
	planned, planning, err := s.job(w.Steps[step].Job)
	if err != nil {
		return nil, 0, err
	}
	copyStep := slices.IndexFunc(w.Steps, func(s api.Step) bool { return s.Kind == "sync" && s.Component == a.Component })
	if copyStep < 0 {
		return nil, 0, fmt.Errorf("workflow %s has no step that copies the artifact of %s", w.ID, a.Component)
	}
	// A sync without a job takes no time: its plan does the work.
	copied, copying := api.Job{CreatedAt: planned.CreatedAt, EndedAt: planned.CreatedAt},
		span{planned.CreatedAt, planned.CreatedAt}
	if id := w.Steps[copyStep].Job; id != "" {
		if copied, copying, err = s.job(id); err != nil {
			return nil, 0, err
		}
	}
	seen := now.App.Revision.ObservedAt
	moments := []time.Time{
		pushed, seen, built.CreatedAt, building.first, building.last, built.EndedAt,
		copied.CreatedAt, copying.first, copying.last, copied.EndedAt,
		planned.CreatedAt, planning.first, planning.last, a.CreatedAt, s.readAt,
	}
	var parts []time.Duration
	for i := range partNames {
		parts = append(parts, moments[i+1].Sub(moments[i]))
	}
	return parts, a.CreatedAt.Sub(seen), nil
}

// span is the time of the first and the last line of a log.
type span struct{ first, last time.Time }

func (s *system) job(id string) (api.Job, span, error) {
	j, err := apiclient.Decode[api.Job](s.client.GetJob(s.ctx, id))
	if err != nil {
		return j, span{}, err
	}
	chunks, err := apiclient.Decode[api.LogChunkList](s.client.GetLogs(s.ctx, id, &api.GetLogsParams{}))
	if err != nil {
		return j, span{}, err
	}
	var lines []api.LogLine
	for _, c := range chunks.Items {
		lines = append(lines, c.Lines...)
	}
	if len(lines) == 0 {
		return j, span{}, fmt.Errorf("job %s has no log", id)
	}
	byTime := func(a, b api.LogLine) int { return a.T.Compare(b.T) }
	return j, span{slices.MinFunc(lines, byTime).T, slices.MaxFunc(lines, byTime).T}, nil
}

// counts holds the counts that Terraform prints for a plan.
type counts struct{ add, change, destroy int }

func (c counts) String() string {
	return fmt.Sprintf("%d to add, %d to change, %d to destroy", c.add, c.change, c.destroy)
}

// countsOf returns the counts of a plan that was shown for approval. Terraform counts a replacement
// as one to add and one to destroy.
func countsOf(a api.Approval) (counts, error) {
	var report diff.Report
	if err := json.Unmarshal(a.Report, &report); err != nil {
		return counts{}, err
	}
	t := report.Totals
	return counts{add: t.Create + t.Replace, change: t.Update, destroy: t.Destroy + t.Replace}, nil
}

// peer plans with git and terraform only.
type peer struct {
	dir, origin, tool string
	environ           []string
	state, vars       []byte
}

// peer collects what the bare commands need and a person would have: the state and the values of the
// variables.
func (s *system) peer() (*peer, error) {
	state, err := s.state()
	if err != nil {
		return nil, err
	}
	vars, err := json.Marshal(map[string]string{
		"greeting": "hello from acme", "install_name": "acme", "replicas": "2", "settle_seconds": "0", "cidr": "10.42.0.0/16",
		"join_token": fmt.Sprintf("join-%x", sha256.Sum256([]byte("acme-network/"+benchToken))),
	})
	if err != nil {
		return nil, err
	}
	tool, err := exec.LookPath(cmp.Or(os.Getenv("NUON_TERRAFORM"), "terraform"))
	if err != nil {
		return nil, fmt.Errorf("%w; install Terraform 1.11.4 or name it in NUON_TERRAFORM", err)
	}
	p := &peer{dir: filepath.Join(s.ts.Getenv("WORK"), "bare"), origin: "file://" + s.ts.Getenv("ORIGIN"), tool: tool,
		state: state, vars: vars}
	// As clean as the environment of jobs: no checkpoint call, no configuration of the user.
	p.environ = []string{"CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	for _, name := range []string{"PATH", "HOME", "TZ"} {
		p.environ = append(p.environ, name+"="+s.ts.Getenv(name))
	}
	return p, nil
}

// plan fetches the newest commit into a new directory and plans there. It measures only the
// commands, not their preparation.
func (p *peer) plan(name string) (took, used time.Duration, found counts, err error) {
	dir := filepath.Join(p.dir, name)
	module := filepath.Join(dir, benchModule)
	vars := filepath.Join(p.dir, "web.tfvars.json")
	if err := os.MkdirAll(module, 0o755); err != nil {
		return 0, 0, counts{}, err
	}
	state := filepath.Join(module, "terraform.tfstate")
	if err := errors.Join(os.WriteFile(vars, p.vars, 0o600), os.WriteFile(state, p.state, 0o600)); err != nil {
		return 0, 0, counts{}, err
	}
	for _, args := range [][]string{{"init", "-q"}, {"remote", "add", "origin", p.origin}} {
		if _, _, err := p.run(dir, "git", args...); err != nil {
			return 0, 0, counts{}, err
		}
	}
	began := time.Now()
	var said string
	for _, command := range [][]string{
		{"git", "fetch", "-q", "--depth", "1", "origin", "main"},
		{"git", "checkout", "-q", "--detach", "FETCH_HEAD"},
		{p.tool, "-chdir=" + benchModule, "init", "-input=false", "-no-color"},
		{p.tool, "-chdir=" + benchModule, "plan", "-input=false", "-no-color", "-var-file=" + vars, "-out=plan.out"},
	} {
		var use time.Duration
		if said, use, err = p.run(dir, command[0], command[1:]...); err != nil {
			return 0, 0, counts{}, err
		}
		used += use
	}
	took = time.Since(began)
	found, err = countsIn(said)
	return took, used, found, err
}

// countsIn parses the counts in the output of `terraform plan`.
func countsIn(said string) (c counts, err error) {
	if strings.Contains(said, "\nNo changes.") {
		return c, nil
	}
	_, line, _ := strings.Cut(said, "\nPlan: ")
	if _, err := fmt.Sscanf(line, "%d to add, %d to change, %d to destroy", &c.add, &c.change, &c.destroy); err != nil {
		return c, fmt.Errorf("terraform plan does not say what it found: %s", said)
	}
	return c, nil
}

// run runs a command and returns its output and processor time.
func (p *peer) run(dir, name string, args ...string) (string, time.Duration, error) {
	command := exec.Command(name, args...)
	command.Dir, command.Env = dir, p.environ
	out, err := command.CombinedOutput()
	if err != nil {
		return "", 0, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return string(out), command.ProcessState.UserTime() + command.ProcessState.SystemTime(), nil
}

// state returns the install's newest state of the module, decrypted with the install's key, which
// is on this machine.
func (s *system) state() ([]byte, error) {
	data := filepath.Join(s.ts.Getenv("WORK"), "dev")
	key, err := seal.LoadIdentity(filepath.Join(data, "runners", "local", "install.key"))
	if err != nil {
		return nil, err
	}
	dsn, err := database(data)
	if err != nil {
		return nil, err
	}
	c, err := pgx.Connect(s.ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer c.Close(s.ctx) //nolint:errcheck // nothing is in flight on it
	var raw []byte
	context := seal.Context{Kind: seal.KindState}
	err = c.QueryRow(s.ctx, `select s.sealed, c.install_id, c.id from states s join install_components c on c.org_id = s.org_id and c.id = s.install_component_id
		where c.name = 'web' order by s.version desc limit 1`).Scan(&raw, &context.Install, &context.Component)
	if err != nil {
		return nil, fmt.Errorf("read the state of web: %w", err)
	}
	var sealed seal.Sealed
	if err := json.Unmarshal(raw, &sealed); err != nil {
		return nil, err
	}
	plain, err := key.Open(sealed, context)
	if err != nil {
		return nil, err
	}
	return plain.Reveal(), nil
}
