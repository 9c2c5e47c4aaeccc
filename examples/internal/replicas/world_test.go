package replicas

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// world is a fleet with one customer and an app of two components. Each push changes one of them.
type world struct {
	*testing.T
	fleet *fleet.Fleet
	tree  string
	// pushed counts the versions of the code, which is also the expected number of builds.
	pushed int
	db     *questions
}

// questions is a connection to the database as its owner. It is reused, because connecting costs as
// much as a hundred queries.
type questions struct{ conn *pgx.Conn }

func newWorld(t *testing.T, o fleet.Options) *world {
	t.Helper()
	dir, err := fleet.Place()
	must(t, err)
	// otherwise it remains until the system's temporary directory is cleared
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	o.Bin, err = fleet.Programs(t.Context(), t.TempDir())
	must(t, err)
	o.Dir, o.Installers, o.Poll = dir, []string{"customer"}, 200*time.Millisecond
	o.Serve = append(o.Serve, // install stacks are rendered for runners in an account
		"--runner-url", "https://runners.example", "--runner-program", filepath.Join(o.Bin, "runnerd"))
	w := &world{T: t, tree: filepath.Join(dir, "vendor"), db: &questions{}}
	// The fleet is stopped after the test's own context has ended.
	w.fleet, err = fleet.Start(context.WithoutCancel(t.Context()), o)
	t.Cleanup(func() { must(t, w.fleet.Stop()) })
	t.Cleanup(w.db.close)
	t.Cleanup(func() {
		if t.Failed() {
			w.tellLogs()
		}
	})
	must(t, err)
	return w
}

// tellLogs prints the end of each program's log.
func (w *world) tellLogs() {
	files, _ := filepath.Glob(filepath.Join(w.fleet.Dir, "logs", "*.log")) // the pattern is well formed
	for _, file := range files {
		if filepath.Base(file) == "postgres.log" {
			continue
		}
		text, err := os.ReadFile(file)
		w.Logf("%s (%v):\n%s", filepath.Base(file), err, text[max(0, len(text)-4000):])
	}
}

// app is the vendor's repository.
var app = map[string]string{
	"metadata.toml": "version = \"v2\"\ndisplay_name = \"Replicas\"\n",
	"sandbox.toml":  "terraform_version = \"1.11.4\"\n\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/base\"\n",
	"components/web.toml": "type = \"terraform_module\"\nname = \"web\"\nterraform_version = \"1.11.4\"\n\n" +
		"[public_repo]\nrepo = \".\"\ndirectory = \"modules/web\"\n\n[vars]\nregion = \"{{.nuon.sandbox.outputs.region}}\"\n",
	"modules/base/main.tf": "resource \"terraform_data\" \"base\" {\n  input = \"local-1\"\n}\n\noutput \"region\" {\n  " +
		"value = terraform_data.base.output\n}\n",
}

// start connects the app and creates an install of it.
func (w *world) start(approval string) {
	w.Helper()
	bare := filepath.Join(w.fleet.Dir, "git", "app.git")
	for name, text := range app {
		w.write(name, text)
	}
	w.git("init", "-q", "--bare", "-b", "main", bare)
	w.git("init", "-q", "-b", "main")
	w.git("remote", "add", "origin", bare)
	w.push()
	w.nuon("apps", "create", "app", "--repo", "file://"+bare, "--branch", "main", "--directory", ".")
	w.nuon("sync", "--app", "app")
	w.nuon("installs", "create", "acme", "--app", "app", "--runner", "customer", "--approval", approval)
}

// push changes the code of web and pushes it.
func (w *world) push() {
	w.Helper()
	w.pushed++
	w.write("modules/web/main.tf", fmt.Sprintf("variable \"region\" {\n  type = string\n}\n\nresource "+
		"\"terraform_data\" \"web\" {\n  input = \"${var.region} %d\"\n}\n", w.pushed))
	w.publish()
}

// publish commits and pushes what was written.
func (w *world) publish() {
	w.Helper()
	w.git("add", "-A")
	w.git("commit", "-q", "-m", fmt.Sprintf("Push %d", w.pushed))
	w.git("push", "-q", "-u", "origin", "main")
}

func (w *world) write(name, text string) {
	w.Helper()
	file := filepath.Join(w.tree, name)
	must(w, os.MkdirAll(filepath.Dir(file), 0o755))
	must(w, os.WriteFile(file, []byte(text), 0o644))
}

func (w *world) git(args ...string) {
	w.Helper()
	must(w, os.MkdirAll(w.tree, 0o755))
	cmd := exec.CommandContext(w.Context(), "git", args...)
	cmd.Dir = w.tree
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=Vera",
		"GIT_AUTHOR_EMAIL=vera@vendor.example",
		"GIT_COMMITTER_NAME=Vera", "GIT_COMMITTER_EMAIL=vera@vendor.example")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func (w *world) nuon(args ...string) string {
	w.Helper()
	out, err := w.fleet.Nuon(w.Context(), args...)
	must(w, err)
	return string(out)
}

// arrived waits until the newest push is applied and nothing is running.
func (w *world) arrived() {
	w.Helper()
	w.until(fmt.Sprintf("push %d is applied", w.pushed), w.isApplied)
}

// isApplied reports whether the newest push is applied and nothing is running.
func (w *world) isApplied() (bool, error) {
	n, err := w.ask(`select (
		(select count(*) from builds b join components c using (org_id)
			where c.id = b.component_id and c.name = 'web' and b.status = 'succeeded') >= $1
		and not exists (select from workflows where status = 'running')
		and (select ic.applied_artifact from install_components ic where ic.name = 'web') =
			(select b.artifact_digest from builds b join components c using (org_id)
				where c.id = b.component_id and c.name = 'web' order by b.number desc limit 1)
	)::int`, w.pushed)
	return n == 1, err
}

func (w *world) until(what string, look func() (bool, error)) {
	w.Helper()
	must(w, fleet.Until(w.Context(), testtime.Limit, what, look))
}

// ask reads one number as the database's owner, who sees every org. It returns -1 while the
// database is down.
func (w *world) ask(sql string, args ...any) (n int, err error) {
	if w.db.conn == nil {
		if w.db.conn, err = pgx.Connect(w.Context(), w.fleet.Database.DSN()); err != nil {
			w.db.conn = nil
			return -1, nil //nolint:nilerr // the caller retries
		}
	}
	var found *int
	err = w.db.conn.QueryRow(w.Context(), sql, args...).Scan(&found)
	if w.db.conn.IsClosed() {
		w.db.conn = nil
		return -1, nil // the server went down; the caller retries
	}
	if err != nil || found == nil {
		return -1, err
	}
	return *found, nil
}

func (q *questions) close() {
	if q.conn != nil {
		_ = q.conn.Close(context.Background()) // nothing is in flight on it
	}
}

// count is ask for a database that must be up.
func (w *world) count(sql string, args ...any) int {
	w.Helper()
	n, err := w.ask(sql, args...)
	must(w, err)
	return n
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
