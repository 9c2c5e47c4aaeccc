package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Cgroups is a runner's control group (version 2), below which it makes one for each attempt.
// The zero value makes none.
type Cgroups struct{ dir string }

// FindCgroups makes the runner's control group below that of this process, and removes
// the control groups of attempts that have ended. It returns an error when this process has
// no permission. Without control groups everything works, except that a process that leaves
// both the session and the process tree of its job is found only by the list that the
// job process recorded.
func FindCgroups(name string) (Cgroups, error) {
	own, err := ownCgroup()
	if err != nil {
		return Cgroups{}, err
	}
	made := Cgroups{dir: filepath.Join(own, name)}
	if err := os.Mkdir(made.dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return Cgroups{}, fmt.Errorf("make a control group: %w", err)
	}
	// The group must also accept processes. That of another user does not.
	if file, err := os.OpenFile(filepath.Join(made.dir, "cgroup.procs"), os.O_WRONLY, 0); err != nil {
		return Cgroups{}, fmt.Errorf("use a control group: %w", err)
	} else if err := file.Close(); err != nil {
		return Cgroups{}, fmt.Errorf("use a control group: %w", err)
	}
	left, err := os.ReadDir(made.dir)
	if err != nil {
		return Cgroups{}, fmt.Errorf("use a control group: %w", err)
	}
	for _, entry := range left {
		if entry.IsDir() {
			_ = removeCgroup(filepath.Join(made.dir, entry.Name())) // fails for one that has processes
		}
	}
	return made, nil
}

// Create makes the control group of an attempt and returns its directory, or "" where there
// are no control groups.
func (c Cgroups) Create(attempt string) (string, error) {
	if c.dir == "" {
		return "", nil
	}
	dir := filepath.Join(c.dir, attempt)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the control group of the attempt: %w", err)
	}
	return dir, nil
}

// Close removes the runner's control group, unless jobs still run in it.
func (c Cgroups) Close() {
	if c.dir != "" {
		_ = os.Remove(c.dir)
	}
}

// Join moves this process, and with it all processes that it starts later,
// into a control group.
func Join(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
		return fmt.Errorf("join the control group of the attempt: %w", err)
	}
	return nil
}

// RemoveCgroup removes the control group of a job whose processes have ended.
func (j Job) RemoveCgroup() error {
	if j.Leader.Cgroup == "" {
		return nil
	}
	if err := removeCgroup(j.Leader.Cgroup); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the control group of the attempt: %w", err)
	}
	return nil
}

// removeCgroup removes a control group with all groups below it. The kernel removes their
// files.
func removeCgroup(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			err = errors.Join(err, removeCgroup(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(err, os.Remove(dir))
}

// killCgroup kills all processes of a control group at once if the kernel supports it (since
// 5.14). The caller kills the rest one by one.
func killCgroup(dir string) {
	if dir != "" {
		if file, err := os.OpenFile(filepath.Join(dir, "cgroup.kill"), os.O_WRONLY, 0); err == nil {
			_, _ = file.WriteString("1")
			_ = file.Close()
		}
	}
}

// cgroupMembers returns the processes of a control group and of the groups below it.
func cgroupMembers(dir string) []int {
	var pids []int
	if dir == "" {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "cgroup.procs" {
			return nil //nolint:nilerr // one that has just been removed has no processes
		}
		content, _ := os.ReadFile(name)
		for _, line := range strings.Fields(string(content)) {
			if pid, err := strconv.Atoi(line); err == nil && pid > 0 { // 0 is a process outside of this container
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}

// ownCgroup returns the directory of this process's control group (cgroups(7)).
func ownCgroup() (string, error) {
	membership, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", fmt.Errorf("find the own control group: %w", err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("find the own control group: %w", err)
	}
	return cgroupDir(string(membership), string(mounts))
}

func cgroupDir(membership, mounts string) (string, error) {
	var own string
	for line := range strings.Lines(membership) {
		if path, found := strings.CutPrefix(strings.TrimSpace(line), "0::"); found {
			own = path
		}
	}
	if own == "" || strings.HasPrefix(own, "/..") {
		return "", errors.New("this process is in no control group of version 2")
	}
	for line := range strings.Lines(mounts) {
		// The format is "36 35 98:0 /root /mount/point options - type source options",
		// see proc_pid_mountinfo(5).
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if len(fields) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		if below, err := filepath.Rel(fields[3], own); err == nil && filepath.IsLocal(below) {
			return filepath.Join(fields[4], below), nil
		}
	}
	return "", errors.New("no file system of control groups of version 2 is mounted")
}
