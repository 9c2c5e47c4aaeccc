package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// DefaultJobUser is the user that programs of jobs run as where runnerd is root, no other user
// is named, and this one exists.
const DefaultJobUser = "nuon-job"

// findJobUser returns the user that programs of jobs run as; nil for this process's own user.
func findJobUser(named string) (*subprocess.User, error) {
	root := os.Geteuid() == 0
	if named == "" {
		if _, err := user.Lookup(DefaultJobUser); err != nil || !root {
			return nil, nil //nolint:nilerr // without such a user, jobs run as this one
		}
		named = DefaultJobUser
	}
	made, err := parseJobUser(named)
	switch {
	case err != nil:
		return nil, err
	case int(made.UID) == os.Geteuid():
		return nil, nil
	case !root:
		return nil, fmt.Errorf("--job-user %s: only root can start programs as another user; start runnerd as root, or "+
			"leave the flag out", named)
	}
	return made, nil
}

// parseJobUser parses NAME, UID or UID:GID. A user of the machine that is given by name
// or number has its own group.
func parseJobUser(named string) (*subprocess.User, error) {
	uid, gid, both := strings.Cut(named, ":")
	known, err := user.Lookup(uid)
	// The C library's lookup truncates a number of more than 32 bits, possibly to root's.
	if _, bad := strconv.ParseUint(uid, 10, 32); err != nil && bad == nil {
		known, err = user.LookupId(uid)
	}
	if err == nil && !both {
		uid, gid = known.Uid, known.Gid
	} else if err == nil {
		uid = known.Uid
	}
	if gid == "" {
		gid = uid
	}
	first, wrong := strconv.ParseUint(uid, 10, 32)
	second, alsoWrong := strconv.ParseUint(gid, 10, 32)
	if err := errors.Join(wrong, alsoWrong); err != nil {
		return nil, fmt.Errorf("--job-user %s: there is no such user; name one of this machine, or give UID:GID", named)
	}
	if first != 0 && second == 0 {
		return nil, fmt.Errorf("--job-user %s: group 0 is root's; give the user a group of its own", named)
	}
	return &subprocess.User{UID: uint32(first), GID: uint32(second)}, nil
}

// ProgramUser describes the user that the programs of jobs run as, for ReadStatus.
type ProgramUser struct {
	// User is UID:GID; empty for the runner's own user.
	User string `json:"user,omitempty"`
	// Root is set when the runner's own user is root.
	Root bool `json:"root,omitempty"`
}

// String describes it to the runner's owner.
func (p ProgramUser) String() string {
	switch {
	case p.User != "":
		return "run as user " + p.User + ", which cannot read the runner's files"
	case p.Root:
		return "run as root, and can read and change everything on this machine; see --job-user"
	}
	return "run as the runner's own user, and can read its files, the keys among them"
}

func programsFile(dir string) string { return filepath.Join(dir, "programs.json") }

// setUpJobUser determines the user that programs of jobs run as, and gives that user access
// to the directories that it works in and to no others.
func (r *runner) setUpJobUser() error {
	found, err := findJobUser(r.JobUser)
	if err != nil {
		return err
	}
	says := ProgramUser{Root: os.Geteuid() == 0}
	if found != nil {
		says.User = fmt.Sprintf("%d:%d", found.UID, found.GID)
		subprocess.Configure(subprocess.Setup{User: found})
		if err := share(r.Dir, found); err != nil {
			return fmt.Errorf("separate the programs of jobs from the runner: %w", err)
		}
		r.log.Info("programs of jobs " + says.String())
	} else {
		r.log.Warn("programs of jobs " + says.String())
	}
	r.jobUser = says.User
	return spool.SaveJSON(programsFile(r.Dir), says)
}

// shared are the directories below the runner's own that the jobs' user can traverse.
var shared = []string{"work", "jobs", "tools"}

// share allows the jobs' user to traverse dir to the shared directories, and denies access
// to everything else in it.
func share(dir string, to *subprocess.User) error {
	for above := filepath.Dir(dir); ; above = filepath.Dir(above) {
		if err := checkTraversable(above, to); err != nil {
			return err
		}
		if above == filepath.Dir(above) {
			break
		}
	}
	for _, name := range shared {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
		if err := subprocess.AllowTraverse(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && (isShared(entry.Name()) || info.Mode()&fs.ModeSymlink != 0) {
			continue
		}
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(filepath.Join(dir, entry.Name()), info.Mode().Perm()&0o700)
		}
		if err != nil {
			return err
		}
	}
	return subprocess.AllowTraverse(dir)
}

func isShared(name string) bool {
	for _, each := range shared {
		if name == each {
			return true
		}
	}
	return false
}

// checkTraversable returns an error unless the user can traverse a directory above the runner's.
func checkTraversable(dir string, to *subprocess.User) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	bits := info.Mode().Perm()
	if ok && stat.Uid == to.UID {
		bits >>= 6
	} else if ok && stat.Gid == to.GID {
		bits >>= 3
	}
	if bits&1 == 0 {
		return fmt.Errorf("user %d:%d has no access to %s, and its programs run below it; choose another directory with "+
			"--dir, such as /var/lib/nuon-runner", to.UID, to.GID, dir)
	}
	return nil
}
