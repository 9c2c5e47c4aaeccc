package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	// version is the Kubernetes that the program says it is. It has to be the one of examples/cluster/go.mod.
	version = "1.36.3"
	// keptFor is how long a program is kept that nobody starts.
	keptFor = 14 * 24 * time.Hour
	// sayAgain is how often a build says that it goes on.
	sayAgain = 20 * time.Second
	prefix   = "cluster-"
)

// Source finds examples/cluster above the working directory.
func Source() (dir string, err error) {
	dir, err = os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find examples/cluster: %w", err)
	}
	for {
		found := filepath.Join(dir, "examples", "cluster")
		if _, err := os.Stat(filepath.Join(found, "go.mod")); err == nil {
			return found, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("examples/cluster is not above the working directory: go into the repository")
		}
		dir = above
	}
}

// Built gives the program built from the sources as they are now, if it is there. Source is the directory of examples/cluster.
func Built(source string) (path string, ok bool) {
	path, err := place(source)
	if err != nil {
		return "", false
	}
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular()
}

// Build gives the program built from the sources as they are now, and builds it if it is not there: several minutes the first time on a
// machine, for which it needs the Go proxy, some seconds after a change. Progress is told in lines. Builders on the same machine wait
// for each other. Programs that were not started for two weeks are removed.
func Build(ctx context.Context, source string, progress io.Writer) (path string, err error) {
	path, err = place(source)
	if err != nil {
		return "", err
	}
	if kept(path) {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("make a place for the cluster's program: %w", err)
	}
	release, err := takeLock(ctx, filepath.Join(filepath.Dir(path), prefix+"build.lock"), progress)
	if err != nil {
		return "", fmt.Errorf("build the cluster's program: %w", err)
	}
	defer release()
	if kept(path) { // another one has built it meanwhile
		return path, nil
	}
	removeOld(filepath.Dir(path), time.Now().Add(-keptFor))
	return path, build(ctx, source, path, progress)
}

func kept(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// place is where the program is kept that is built from the sources as they are now.
func place(source string) (string, error) {
	sum, err := digest(source)
	if err != nil {
		return "", err
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find a place for the cluster's program: %w", err)
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "nuon-tools", prefix+sum[:16]), nil
}

// digest names what the program is built from: the sources without tests, the modules, the compiler, the machine and the flags.
func digest(source string) (string, error) {
	names, err := filepath.Glob(filepath.Join(source, "*.go"))
	if err != nil {
		return "", fmt.Errorf("read the cluster's sources: %w", err)
	}
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH, linkerFlags())
	for _, name := range append(names, filepath.Join(source, "go.mod"), filepath.Join(source, "go.sum")) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("read the cluster's sources: %w", err)
		}
		fmt.Fprintf(sum, "%s %d\n%s", filepath.Base(name), len(content), content)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// linkerFlags say which version this is, without which the API server tells clients that it has none.
func linkerFlags() string {
	const at = "k8s.io/component-base/version."
	part := strings.Split(version, ".")
	return strings.Join([]string{
		"-s -w", "-X " + at + "gitVersion=v" + version, "-X " + at + "gitMajor=" + part[0], "-X " + at + "gitMinor=" + part[1],
		"-X " + at + "gitTreeState=clean",
	}, " ")
}

// build builds beside and renames, so that what is there is whole. It does not trim paths: whoever builds or tests examples/cluster by
// hand shares the build cache then, and a second copy of all packages has gigabytes.
func build(ctx context.Context, source, path string, progress io.Writer) error {
	fmt.Fprintln(progress, "building the one-process Kubernetes of examples/cluster, some two thousand packages: ten minutes and more the first time on a machine with two cores, seconds after")
	beside := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer os.Remove(beside) //nolint:errcheck // it is gone when all went well
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-buildvcs=false", "-ldflags", linkerFlags(), "-o", beside, ".")
	cmd.Dir, cmd.Cancel = source, func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly")
	said := &tail{}
	compiled := &packages{other: said}
	cmd.Stdout, cmd.Stderr = compiled, compiled
	stop := saying(progress, func() string { return fmt.Sprintf("still building, %d packages so far", compiled.count()) })
	err := cmd.Run()
	took := stop()
	if err != nil {
		return fmt.Errorf("build examples/cluster: %w: %s", err, said)
	}
	if err := os.Rename(beside, path); err != nil {
		return fmt.Errorf("keep the cluster's program: %w", err)
	}
	fmt.Fprintf(progress, "built it in %s: %s\n", took.Round(time.Second), path)
	return nil
}

// packages counts the packages that `go build -v` names, and passes on what else it prints.
type packages struct {
	other io.Writer

	mu   sync.Mutex
	n    int
	rest string // of a line that has not ended
}

// Write takes a part of the output.
func (p *packages) Write(said []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest += string(said)
	for {
		line, rest, ended := strings.Cut(p.rest, "\n")
		if !ended {
			return len(said), nil
		}
		p.rest = rest
		if line != "" && !strings.ContainsAny(line, " \t:") {
			p.n++
		} else if _, err := fmt.Fprintln(p.other, line); err != nil {
			return 0, err
		}
	}
}

func (p *packages) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

// saying prints every now and then how long something takes, until it is stopped.
func saying(progress io.Writer, what func() string) (stop func() time.Duration) {
	begun, done, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(sayAgain)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				fmt.Fprintf(progress, "%s (%s)\n", what(), now.Sub(begun).Round(time.Second))
			}
		}
	}()
	return func() time.Duration {
		close(done)
		<-ended
		return time.Since(begun)
	}
}

// removeOld removes programs that were last started before a time. The build lock is held.
func removeOld(dir string, before time.Time) {
	names, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
	for _, name := range names {
		info, err := os.Stat(name)
		if err == nil && !strings.HasSuffix(name, ".lock") && info.ModTime().Before(before) {
			_ = os.Remove(name) // one that cannot be removed costs space only
		}
	}
}
