package pgcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/pkg/testprogram"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// superviseVariable makes the test binary run as a supervisor: a process that can be killed, or run
// as another user.
const superviseVariable = "NUON_TEST_SUPERVISE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(superviseVariable); dir != "" {
		os.Exit(supervise(dir))
	}
	os.Exit(m.Run())
}

func supervise(dir string) int {
	cluster, err := Start(context.Background(), Options{Dir: dir})
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println("ready", cluster.PID())
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test closes it
	if err := cluster.Stop(); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	return 0
}

// place returns a directory that is accessible to the server's user; t.TempDir is not.
func place(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "nuon-pg-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func start(t testing.TB, dir string) *Cluster {
	t.Helper()
	ctx := testtime.Context(t)
	var log strings.Builder
	before := time.Now()
	cluster, err := Start(ctx, Options{Dir: dir, Log: &log})
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	t.Logf("ready after %s", time.Since(before).Round(time.Millisecond))
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// query runs SQL with a single text result, over a new connection.
func query(t testing.TB, cluster *Cluster, sql string) string {
	t.Helper()
	ctx := testtime.Context(t)
	connection, err := pgx.Connect(ctx, cluster.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close(ctx) }()
	var text string
	if err := connection.QueryRow(ctx, sql).Scan(&text); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatal(err)
	}
	return text
}

// made returns a cluster with one row in it.
func made(t testing.TB, dir string) *Cluster {
	t.Helper()
	cluster := start(t, dir)
	query(t, cluster, "create table kept (word text)")
	query(t, cluster, "insert into kept values ('here')")
	return cluster
}

func mustKeep(t testing.TB, cluster *Cluster) {
	t.Helper()
	if word := query(t, cluster, "select word from kept"); word != "here" {
		t.Errorf("the row is %q", word)
	}
}

func TestNewThenExisting(t *testing.T) {
	dir := filepath.Join(place(t), "pg")
	cluster := made(t, dir)
	if got := query(t, cluster,
		"select current_setting('listen_addresses') || current_setting('server_encoding')"); got != "UTF8" {
		t.Errorf("listen addresses and encoding are %q, want none and UTF8", got)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v: %v", info.Mode(), err)
	}
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-cluster.Done():
	default:
		t.Error("stopped, but not done")
	}
	if err := cluster.Stop(); err != nil {
		t.Errorf("a second stop: %v", err)
	}
	mustKeep(t, start(t, dir))
}

// A child that is forked during a stop has a copy of the lock file's descriptor until it executes
// its program.
func TestAForkDoesNotKeepTheDirectory(t *testing.T) {
	dir := filepath.Join(place(t), "pg")
	first := start(t, dir)
	forked, err := syscall.Dup(int(first.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(forked) //nolint:errcheck // it is a number
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	start(t, dir)
}

func TestSecondSupervisorIsRefused(t *testing.T) {
	dir := filepath.Join(place(t), "pg")
	cluster := made(t, dir)
	_, err := Start(t.Context(), Options{Dir: dir})
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("the second gets %v, want ErrInUse", err)
	}
	mustKeep(t, cluster)
}

func TestPostmasterKilled(t *testing.T) {
	dir := filepath.Join(place(t), "pg")
	cluster := made(t, dir)
	// A busy child uses the shared memory for a moment longer than its parent lives.
	busy, err := pgx.Connect(t.Context(), cluster.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = busy.Exec(context.WithoutCancel(t.Context()), "select pg_sleep(60)") }()
	if err := syscall.Kill(cluster.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testtime.Receive(t, cluster.Done(), "the end of the killed server")
	if cluster.Err() == nil {
		t.Error("no reason is given")
	}
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	mustKeep(t, start(t, dir))
}

// TestNeverTwoOnTheSameData stops a child of a killed postmaster with a signal. While the child
// exists it could write, so no new postmaster may start on the data.
func TestNeverTwoOnTheSameData(t *testing.T) {
	dir := filepath.Join(place(t), "pg")
	cluster := made(t, dir)
	held, err := pgx.Connect(t.Context(), cluster.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	child := int(held.PgConn().PID())
	if err := syscall.Kill(child, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
	if err := syscall.Kill(cluster.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-cluster.Done()
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) //walltime: the time for which it must not start
	defer cancel()
	if again, err := Start(ctx, Options{Dir: dir}); err == nil {
		t.Errorf("a second server runs beside a child of the first: %v", again.Stop())
	}
	if err := syscall.Kill(child, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	mustKeep(t, start(t, dir))
}

func TestStalePidFiles(t *testing.T) {
	dir := filepath.Join(place(t), "pg")
	cluster := made(t, dir)
	whole, err := os.ReadFile(cluster.pidFileName())
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(whole), "\n")
	// A live process of the server's user is the difficult case: to PostgreSQL it looks like a
	// running postmaster.
	alive := exec.Command("sleep", "1000")
	alive.SysProcAttr = &syscall.SysProcAttr{Credential: cluster.owner.credential()}
	if err := alive.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = alive.Process.Kill(); _ = alive.Wait() })
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"a dead process":    fmt.Sprintf("%d\n%s", dead.Process.Pid, rest),
		"a live process":    fmt.Sprintf("%d\n%s", alive.Process.Pid, rest),
		"process 1":         "1\n" + rest,
		"this test":         fmt.Sprintf("%d\n%s", os.Getpid(), rest),
		"only a pid":        fmt.Sprintf("%d\n", alive.Process.Pid),
		"no number":         "hello\n",
		"nothing":           "",
		"a negative number": "-1\n" + rest,
	} {
		t.Run(name, func(t *testing.T) {
			for _, file := range []string{cluster.pidFileName(), filepath.Join(cluster.socketDir, socketName+".lock")} {
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := cluster.owner.chown(file); err != nil {
					t.Fatal(err)
				}
			}
			again := start(t, dir)
			mustKeep(t, again)
			if err := again.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	if err := syscall.Kill(alive.Process.Pid, 0); err != nil {
		t.Errorf("the foreign process was harmed: %v", err)
	}
}

// TestStray starts a postmaster without a supervisor, as one that remains on systems that do not
// signal a child when its parent dies.
func TestStray(t *testing.T) {
	dir := filepath.Join(place(t), "pg")
	cluster := made(t, dir)
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	stray := exec.Command(filepath.Join(cluster.binaries.Dir, "postgres"), "-D", cluster.data, "-k", cluster.socketDir,
		"-c", "listen_addresses=")
	stray.Dir = dir
	stray.SysProcAttr = &syscall.SysProcAttr{Credential: cluster.owner.credential(), Setpgid: true}
	if err := stray.Start(); err != nil {
		t.Fatal(err)
	}
	left := make(chan error, 1)
	go func() { left <- stray.Wait() }()
	testtime.Until(t, "the stray is ready", func() bool { return cluster.readPidFile().status == "ready" })
	again := start(t, dir)
	mustKeep(t, again)
	_ = testtime.Receive(t, left, "the end of the stray") // how it exited does not matter
}

// supervisor runs this test binary as a supervisor process.
func supervisor(t *testing.T, binary, dir string, as *syscall.Credential) (*exec.Cmd, io.Closer, int) {
	t.Helper()
	command := exec.Command(binary)
	command.Env = append(os.Environ(), superviseVariable+"="+dir)
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the supervisor says nothing: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "ready")))
	if err != nil {
		t.Fatalf("the supervisor says %q", line)
	}
	return command, in, pid
}

func TestSupervisorKilled(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(place(t), "pg")
	cluster := made(t, dir)
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	for round, killPostmaster := range []bool{false, true} {
		command, _, pid := supervisor(t, binary, dir, nil)
		if err := command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if killPostmaster {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Fatal(err)
			}
		}
		if err := command.Wait(); err == nil {
			t.Errorf("round %d: the killed supervisor ended well", round)
		}
		again := start(t, dir)
		mustKeep(t, again)
		if pid == again.PID() {
			t.Errorf("round %d: the postmaster is the same", round)
		}
		if err := again.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOrphanLeavesByItself requires a kernel that signals orphans, such as Linux.
func TestOrphanLeavesByItself(t *testing.T) {
	if childAttributes(nil, syscall.SIGINT).Pdeathsig == 0 {
		t.Skip("this system does not tell a child that its parent is gone")
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(place(t), "pg")
	command, _, pid := supervisor(t, binary, dir, nil)
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	testtime.Until(t, "the end of the postmaster", func() bool { return commandLine(pid) == "" })
}

func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("all other tests run as an ordinary user already")
	}
	server, err := serverOwner()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := place(t)
	binary := filepath.Join(dir, "supervisor")
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	testprogram.Write(t, binary, string(content))
	home := filepath.Join(dir, "home")
	if err := makeOwned(home, server); err != nil {
		t.Fatal(err)
	}
	command, in, pid := supervisor(t, binary, filepath.Join(home, "pg"), server.credential())
	if commandLine(pid) == "" {
		t.Error("there is no postmaster")
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
}

func TestSettings(t *testing.T) {
	cluster, err := Start(t.Context(), Options{Dir: filepath.Join(place(t), "pg"),
		Settings: map[string]string{"fsync": "off", "listen_addresses": "127.0.0.1", "max_connections": "17"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Stop() })
	for name, want := range map[string]string{"fsync": "off", "max_connections": "17", "listen_addresses": ""} {
		if got := query(t, cluster, "select current_setting('"+name+"')"); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestInitCutShort(t *testing.T) {
	dir := filepath.Join(place(t), "pg")
	if err := os.MkdirAll(filepath.Join(dir, "data.new", "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data.new", "PG_VERSION"), []byte("15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	query(t, start(t, dir), "select 'up'")
}

func TestForeignDirectories(t *testing.T) {
	for name, test := range map[string]struct{ file, content, want string }{
		"not a cluster":    {"data/hello", "x", "move it away"},
		"garbled":          {"data/PG_VERSION", "hello", "move it away"},
		"another version":  {"data/PG_VERSION", "13\n", "made by version 13"},
		"a file as socket": {"run", "x", "is not a directory of ours"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(place(t), "pg")
			file := filepath.Join(dir, test.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(test.content), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Start(t.Context(), Options{Dir: dir})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
			if content, err := os.ReadFile(file); err != nil || string(content) != test.content {
				t.Errorf("what was there became %q: %v", content, err)
			}
		})
	}
}

func TestLongPath(t *testing.T) {
	dir := filepath.Join(place(t), strings.Repeat("long-", 25), "it's a \\ dir")
	cluster := made(t, dir)
	if strings.HasPrefix(cluster.socketDir, dir) || len(cluster.socketDir) > 80 {
		t.Errorf("the socket lies in %s", cluster.socketDir)
	}
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	again := start(t, dir)
	mustKeep(t, again)
	if again.socketDir != cluster.socketDir {
		t.Errorf("the socket moved from %s to %s", cluster.socketDir, again.socketDir)
	}
	t.Cleanup(func() { _ = os.RemoveAll(cluster.socketDir) })
}

func TestDSNQuotes(t *testing.T) {
	cluster := &Cluster{socketDir: `/tmp/it's a \ dir`}
	config, err := pgx.ParseConfig(cluster.DSN("my db"))
	if err != nil || config.Host != cluster.socketDir || config.Database != "my db" || config.User != Superuser {
		t.Errorf("%s parses as host %q, database %q, user %q: %v",
			cluster.DSN("my db"), config.Host, config.Database, config.User, err)
	}
}

func TestClosedPlace(t *testing.T) {
	server := owner{name: "postgres", uid: 12345, gid: 12345, switched: true}
	dir := filepath.Join(place(t), "closed")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(dir, "not", "yet", "there")
	err := server.checkDir(inside)
	if err == nil || !strings.Contains(err.Error(), "postgres") || !strings.Contains(err.Error(), dir) ||
		!strings.Contains(err.Error(), "/var/lib") {
		t.Errorf("a closed parent gives %v, want who, where and what to do", err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := server.checkDir(inside); err != nil {
		t.Errorf("a passable parent gives %v", err)
	}
	server.switched = false
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := server.checkDir(inside); err != nil {
		t.Errorf("for ourselves: %v", err)
	}
}

func TestStartIsCancelled(t *testing.T) {
	dir := filepath.Join(place(t), "pg")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Options{Dir: dir}); err == nil {
		t.Fatal("started under a cancelled context")
	}
	query(t, start(t, dir), "select 'up'")
}
