package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// launcher is the environment variable that makes this program run its arguments and print the
// resources that they used. The peak memory of a process includes that of its parent between fork
// and exec, so the parent must hold no inputs.
const launcher = "DIFF_BENCH_LAUNCHER"

func TestMain(m *testing.M) {
	if os.Getenv(launcher) != "" {
		os.Exit(launch())
	}
	os.Exit(m.Run())
}

// taken holds the resources that a process used.
type taken struct {
	Time time.Duration
	// Peak is the maximum resident memory, in bytes.
	Peak int64
	// Exit is the exit code.
	Exit int
	// Errors is the standard error output.
	Errors string
}

func launch() int {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, launcher) })
	var errs bytes.Buffer
	cmd.Stderr = &errs
	start := time.Now()
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return 1
	}
	t := taken{Time: time.Since(start), Exit: cmd.ProcessState.ExitCode(), Errors: errs.String()}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		t.Peak = usage.Maxrss << 10
	}
	if json.NewEncoder(os.Stdout).Encode(t) != nil {
		return 1
	}
	return 0
}

// process runs a program, discards its output and returns the resources that it used.
func process(b *testing.B, mayExit int, program string, args ...string) taken {
	b.Helper()
	cmd := exec.Command(os.Args[0], append([]string{program}, args...)...)
	cmd.Env = append(os.Environ(), launcher+"=1", "HOME="+b.TempDir(), "GIT_CONFIG_NOSYSTEM=1")
	var t taken
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&t); err != nil {
		b.Fatal(err)
	}
	if t.Exit != mayExit {
		b.Fatalf("%s ended with %d: %s", program, t.Exit, t.Errors)
	}
	return t
}

// nuon returns the path of a release build: the program that NUON_BIN names, or one that it builds.
func nuon(b *testing.B) string {
	b.Helper()
	if dir := os.Getenv("NUON_BIN"); dir != "" {
		return filepath.Join(dir, "nuon")
	}
	bin := filepath.Join(b.TempDir(), "nuon")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "./cli")
	cmd.Dir, cmd.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// files writes two sides to files.
func files(b *testing.B, before, after []byte) (string, string) {
	b.Helper()
	dir := b.TempDir()
	names := []string{filepath.Join(dir, "before.yaml"), filepath.Join(dir, "after.yaml")}
	for i, data := range [][]byte{before, after} {
		if err := os.WriteFile(names[i], data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return names[0], names[1]
}
