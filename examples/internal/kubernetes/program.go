package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	// version is the Kubernetes version that the program reports. It must match
	// examples/internal/cluster/go.mod.
	version = "1.36.3"
	// keptFor is the time after which an unused program is removed.
	keptFor = 14 * 24 * time.Hour
	// sayAgain is the interval of progress lines during a build.
	sayAgain = 20 * time.Second
	prefix   = "cluster-"
)

// Source finds examples/internal/cluster above the working directory.
func Source() (dir string, err error) {
	dir, err = os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find examples/internal/cluster: %w", err)
	}
	for {
		found := filepath.Join(dir, "examples", "internal", "cluster")
		if _, err := os.Stat(filepath.Join(found, "go.mod")); err == nil {
			return found, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("examples/internal/cluster is not above the working directory: go into the repository")
		}
		dir = above
	}
}

// Built returns the cached program for the current sources, if it exists. source is the directory of
// examples/internal/cluster.
func Built(source string) (path string, ok bool) {
	path, err := place(source)
	if err != nil {
		return "", false
	}
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular()
}

// Build returns the program for the current sources, and builds it if necessary: several minutes
// the first time on a machine, for which it needs the Go proxy, some seconds after a change. It
// writes lines to progress. Builders on the same machine wait for each other. Build removes
// programs that were not started for two weeks.
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
	if kept(path) { // another process has built it meanwhile
		return path, nil
	}
	removeOld(filepath.Dir(path), time.Now().Add(-keptFor))
	return path, build(ctx, source, path, progress)
}

func kept(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// place returns the cache path of the program for the current sources.
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

// digest returns the digest of the build inputs: sources without tests, modules, compiler, machine
// and flags.
func digest(source string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH, linkerFlags())
	err := filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(source, path)
		switch {
		case err != nil:
			return err
		case d.IsDir(), strings.HasSuffix(name, "_test.go"),
			filepath.Ext(name) != ".go" && name != "go.mod" && name != "go.sum":
			return nil
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", filepath.ToSlash(name), len(content), content)
		return err
	})
	if err == nil {
		_, err = os.Stat(filepath.Join(source, "go.mod"))
	}
	if err != nil {
		return "", fmt.Errorf("read the cluster's sources: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// linkerFlags returns the flags that set the version, without which the API server reports none.
func linkerFlags() string {
	const at = "k8s.io/component-base/version."
	part := strings.Split(version, ".")
	return strings.Join([]string{
		"-s -w", "-X " + at + "gitVersion=v" + version, "-X " + at + "gitMajor=" + part[0],
		"-X " + at + "gitMinor=" + part[1], "-X " + at + "gitTreeState=clean",
	}, " ")
}

// build builds to a temporary name and renames, so that the program is always complete. It does not
// trim paths, to share the build cache with manual builds and tests of examples/internal/cluster: a second
// copy of all packages takes gigabytes.
func build(ctx context.Context, source, path string, progress io.Writer) error {
	fmt.Fprintln(progress, "building the one-process Kubernetes of examples/internal/cluster, some two thousand "+
		"packages: ten minutes and more the first time on a machine with two cores, seconds after")
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
		return fmt.Errorf("build examples/internal/cluster: %w: %s", err, said)
	}
	if err := os.Rename(beside, path); err != nil {
		return fmt.Errorf("keep the cluster's program: %w", err)
	}
	fmt.Fprintf(progress, "built it in %s: %s\n", took.Round(time.Second), path)
	return nil
}

// packages counts the package names of `go build -v`, and passes on its other output.
type packages struct {
	other io.Writer

	mu   sync.Mutex
	n    int
	rest string // an incomplete line
}

// Write consumes a part of the output.
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

// saying prints the elapsed time in intervals until it is stopped.
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

// removeOld removes programs that were last started before a time. The caller holds the build lock.
func removeOld(dir string, before time.Time) {
	names, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
	for _, name := range names {
		info, err := os.Stat(name)
		if err == nil && !strings.HasSuffix(name, ".lock") && info.ModTime().Before(before) {
			_ = os.Remove(name) // a program that cannot be removed only costs space
		}
	}
}
