package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// envRole makes this test binary act as the cluster's program, or as a process that starts one.
const envRole = "NUON_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "":
		os.Exit(m.Run())
	case "cluster":
		playCluster()
	case "deaf", "broken":
		playTrouble(os.Getenv(envRole))
	case "starter":
		playStarter()
	}
}

// playCluster is ready at once and ends with its input, like the real program.
func playCluster() {
	fmt.Fprintln(os.Stderr, "starting", os.Getpid())
	fmt.Printf("something else\nKUBECONFIG=%s/kubeconfig\nready\n", os.Args[3])
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = os.WriteFile(filepath.Join(os.Args[3], "untied"), nil, 0o600)
}

func playTrouble(kind string) {
	fmt.Fprintln(os.Stderr, "the", kind, "one says this")
	if kind == "broken" {
		os.Exit(3)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// playStarter starts a cluster and is killed.
func playStarter() {
	_ = os.Setenv(envRole, "cluster")
	c, err := Start(context.Background(), Options{Program: os.Args[0], Dir: os.Getenv("NUON_TEST_DIR")})
	fmt.Println(c.cmd.Process.Pid, err)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

func program(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStart(t *testing.T) {
	t.Setenv(envRole, "cluster")
	dir, log := t.TempDir(), &bytes.Buffer{}
	c, err := Start(t.Context(), Options{Program: program(t), Dir: dir, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "kubeconfig"); c.Kubeconfig != want {
		t.Errorf("the kubeconfig is %s, want %s", c.Kubeconfig, want)
	}
	c.Kill()
	if _, open := <-c.Ended(); open || !strings.Contains(log.String(), "starting") {
		t.Errorf("it has not ended, or said nothing: %s", log)
	}
}

func TestStop(t *testing.T) {
	t.Setenv(envRole, "cluster")
	c, err := Start(t.Context(), Options{Program: program(t), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	// playCluster ignores signals
	if err := c.Stop(); err == nil || !strings.Contains(err.Error(), "terminated") {
		t.Errorf("its end is %v", err)
	}
}

func TestStartThatFails(t *testing.T) {
	t.Setenv(envRole, "broken")
	_, err := Start(t.Context(), Options{Program: program(t), Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") ||
		!strings.Contains(err.Error(), "the broken one says this") {
		t.Errorf("the error is %v", err)
	}
	t.Setenv(envRole, "deaf")
	said := &written{first: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-said.first
		cancel()
	}()
	_, err = Start(ctx, Options{Program: program(t), Dir: t.TempDir(), Log: said})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the deaf one says this") {
		t.Errorf("the error is %v", err)
	}
	if _, err = Start(t.Context(), Options{Program: filepath.Join(t.TempDir(), "none"), Dir: t.TempDir()}); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
}

// written closes first at the first write.
type written struct {
	once  sync.Once
	first chan struct{}
}

func (w *written) Write(p []byte) (int, error) {
	w.once.Do(func() { close(w.first) })
	return len(p), nil
}

func TestItEndsWithItsStarter(t *testing.T) {
	dir := t.TempDir()
	starter := exec.Command(program(t))
	starter.Env = append(os.Environ(), envRole+"=starter", "NUON_TEST_DIR="+dir)
	said, err := starter.Output()
	word, rest, _ := strings.Cut(strings.TrimSpace(string(said)), " ")
	pid, mistake := strconv.Atoi(word)
	if mistake != nil || rest != "<nil>" || err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the starter says %q and ends %v", said, err)
	}
	testtime.UntilNoError(t, fmt.Sprintf("the process %d ends", pid), func() error {
		_, err := os.Stat(filepath.Join(dir, "untied"))
		return err
	})
}

// sources creates a program that builds quickly.
func sources(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example.test/cluster\n\ngo 1.26\n", "go.sum": "", "main.go": "package main\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// by default it is below the directory that is set next
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return dir
}

func TestDigest(t *testing.T) {
	dir := sources(t)
	seen := map[string]string{}
	for _, test := range []struct {
		name, content string
		same          bool
	}{
		{"main.go", "package main\n\nfunc main() { println() }\n", false},
		{"other.go", "package main\n", false},
		{"inner/other.go", "package inner\n", false},
		{"inner/some_test.go", "package inner\n", true},
		{"go.mod", "module example.test/other\n", false},
		{"go.sum", "x\n", false},
		{"some_test.go", "package main\n", true},
		{"notes.md", "notes\n", true},
	} {
		before, err := digest(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, test.name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, test.name), []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		after, err := digest(dir)
		if err != nil {
			t.Fatal(err)
		}
		if (before == after) != test.same {
			t.Errorf("a change of %s: the digest stays is %t, want %t", test.name, before == after, test.same)
		}
		if at, there := seen[after]; there && !test.same {
			t.Errorf("%s gives the digest of %s", test.name, at)
		}
		seen[after] = test.name
	}
	if _, err := digest(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without sources the error is %v", err)
	}
}

func TestTwoBuilders(t *testing.T) {
	dir := sources(t)
	if path, ok := Built(dir); ok {
		t.Fatalf("%s is there before it is built", path)
	}
	const builders = 3
	var all sync.WaitGroup
	said, paths, errs := make([]bytes.Buffer, builders), make([]string, builders), make([]error, builders)
	for i := range builders {
		all.Go(func() { paths[i], errs[i] = Build(t.Context(), dir, &said[i]) })
	}
	all.Wait()
	built := 0
	for i := range builders {
		if errs[i] != nil || paths[i] != paths[0] {
			t.Fatalf("%s: %v", paths[i], errs[i])
		}
		built += strings.Count(said[i].String(), "built it in")
	}
	if built != 1 {
		t.Errorf("it was built %d times", built)
	}
	if path, ok := Built(dir); !ok || path != paths[0] {
		t.Errorf("it is not there: %s", path)
	}
	if left, _ := filepath.Glob(paths[0] + ".*"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestBuildThatFails(t *testing.T) {
	dir := sources(t)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() { wrong }\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(t.Context(), dir, io.Discard); err == nil || !strings.Contains(err.Error(), "undefined: wrong") {
		t.Errorf("the error is %v", err)
	}
	if path, ok := Built(dir); ok {
		t.Errorf("%s is there", path)
	}
}

func TestOldProgramsAreRemoved(t *testing.T) {
	dir := sources(t)
	path, err := place(dir)
	if err != nil {
		t.Fatal(err)
	}
	keep := filepath.Dir(path)
	if err := os.MkdirAll(keep, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{
		"cluster-0123456789abcdef": keptFor + time.Hour, "cluster-1123456789abcdef": keptFor - time.Hour,
		"sqlc-v1": 2 * keptFor,
	} {
		if err := os.WriteFile(filepath.Join(keep, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(keep, name), then, then); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Build(t.Context(), dir, io.Discard); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"cluster-0123456789abcdef": false, "cluster-1123456789abcdef": true, "sqlc-v1": true, filepath.Base(path): true,
	} {
		if _, err := os.Stat(filepath.Join(keep, name)); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", name, err == nil, want)
		}
	}
}

func TestTools(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bin")
	for _, program := range []string{"/of/the/first", program(t)} { // the second replaces the first
		if err := Tools(program, dir); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(filepath.Join(dir, "kubectl")); got != program || err != nil {
			t.Errorf("kubectl is %s, %v; want %s", got, err, program)
		}
	}
}

// TestVersion compares the version in the program with the one that is built.
func TestVersion(t *testing.T) {
	source, err := Source()
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), "\tk8s.io/kubernetes v"+version+"\n") {
		t.Errorf("examples/internal/cluster/go.mod does not require Kubernetes %s: change it there or the version here",
			version)
	}
}

// TestPackagesAreCounted checks that the package names of go build -v are counted, and that its
// errors are passed on.
func TestPackagesAreCounted(t *testing.T) {
	var other strings.Builder
	p := &packages{other: &other}
	for _, part := range []string{"interna", "l/cpu\nk8s.io/api\n", "# k8s.io/api\na.go:1:2: undefined: x\n"} {
		if _, err := p.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if p.count() != 2 || other.String() != "# k8s.io/api\na.go:1:2: undefined: x\n" {
		t.Errorf("%d packages, and %q", p.count(), other.String())
	}
}
