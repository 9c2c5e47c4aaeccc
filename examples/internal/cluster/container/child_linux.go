package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// childName is the name of the process that becomes the program of a container. It reads the spec from specFile, and
// writes an error to errorFile, which is closed when the program of the container starts.
const (
	childName           = "cluster-container"
	specFile, errorFile = 3, 4
)

func init() {
	if os.Args[0] != childName {
		return
	}
	runtime.LockOSThread()
	unix.CloseOnExec(errorFile)
	// without the cluster there are no containers
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	err := become()
	fmt.Fprint(os.NewFile(errorFile, "error"), err)
	os.Exit(1)
}

// become makes this process the program of a container. It returns only with an error.
func become() error {
	var s Spec
	in := os.NewFile(specFile, "spec")
	if err := errors.Join(json.NewDecoder(in).Decode(&s), in.Close()); err != nil {
		return fmt.Errorf("read the spec: %w", err)
	}
	syscall.Umask(0)
	if err := s.makeRoot(); err != nil {
		return err
	}
	if s.Trial {
		os.Exit(0)
	}
	syscall.Umask(0o022)
	if s.Hostname != "" {
		if err := unix.Sethostname([]byte(s.Hostname)); err != nil {
			return fmt.Errorf("set the host name: %w", err)
		}
	}
	p := s.Process
	who, err := identify(p)
	if err != nil {
		return err
	}
	program, err := search(p)
	if err != nil {
		return err
	}
	if err := confine(p); err != nil {
		return err
	}
	if err := take(who); err != nil {
		return err
	}
	// a change of the user resets this
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("tie the container to the cluster: %w", err)
	}
	if err := os.Chdir(p.Dir); err != nil {
		return fmt.Errorf("change to the working directory: %w", err)
	}
	return &os.PathError{Op: "exec", Path: program, Err: syscall.Exec(program, p.Args, p.Env)}
}

// take makes this process one of a user.
func take(who *syscall.Credential) error {
	groups := make([]int, len(who.Groups))
	for i, g := range who.Groups {
		groups[i] = int(g)
	}
	err := errors.Join(syscall.Setgroups(groups), syscall.Setgid(int(who.Gid)), syscall.Setuid(int(who.Uid)))
	if err != nil {
		return fmt.Errorf("become the user %d:%d: %w", who.Uid, who.Gid, err)
	}
	return nil
}

// makeRoot makes the files of the container the root of this process. Paths of the image and of the spec are resolved
// only after that, so that none of their links leads to the machine.
func (s *Spec) makeRoot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separate the mounts: %w", err)
	}
	sources, err := s.open()
	if err != nil {
		return err
	}
	merged, err := s.overlay()
	if err != nil {
		return err
	}
	if err := os.Chdir(merged); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if err := errors.Join(os.Chdir("/"), makeSystem()); err != nil {
		return err
	}
	for i, m := range s.Mounts {
		if err := m.attach(sources[i]); err != nil {
			return err
		}
	}
	if info, err := os.Stat(s.Process.Dir); err != nil || !info.IsDir() {
		if err := os.MkdirAll(s.Process.Dir, 0o755); err != nil {
			return fmt.Errorf("make the working directory: %w", err)
		}
	}
	if s.ReadOnly {
		return readOnly("/")
	}
	return nil
}

// overlay mounts the files of the image with a layer for what the container writes, and returns where.
func (s *Spec) overlay() (merged string, err error) {
	merged = filepath.Join(s.Base, s.Scratch, "merged")
	for _, dir := range []string{"merged", "upper", "work"} {
		if err := os.Mkdir(filepath.Join(s.Base, s.Scratch, dir), 0o755); err != nil {
			return "", err
		}
	}
	if err := os.Chdir(s.Base); err != nil {
		return "", err
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", s.Root, path.Join(s.Scratch, "upper"),
		path.Join(s.Scratch, "work"))
	if err := unix.Mount("overlay", merged, "overlay", unix.MS_NODEV, options); err != nil {
		return "", fmt.Errorf("mount the files of the container as overlayfs: %w", err)
	}
	return merged, nil
}

// open returns the sources of the mounts as file descriptors of detached mounts.
func (s *Spec) open() (sources []int, err error) {
	for _, m := range s.Mounts {
		fd, err := m.open()
		if err != nil {
			return nil, fmt.Errorf("mount %s: %w", m.Target, err)
		}
		sources = append(sources, fd)
	}
	return sources, nil
}

const cloneTree = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE

func (m Mount) open() (fd int, err error) {
	if m.SubPath == "" {
		return unix.OpenTree(unix.AT_FDCWD, m.Source, cloneTree)
	}
	root, err := os.OpenRoot(m.Source)
	if err != nil {
		return 0, err
	}
	defer root.Close() //nolint:errcheck // only read
	f, err := root.Open(m.SubPath)
	if errors.Is(err, os.ErrNotExist) {
		if err = root.MkdirAll(m.SubPath, 0o755); err == nil {
			f, err = root.Open(m.SubPath)
		}
	}
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // only read
	return unix.OpenTree(int(f.Fd()), "", cloneTree|unix.AT_EMPTY_PATH)
}

// attach mounts a source in the container, whose root is that of this process.
func (m Mount) attach(source int) error {
	var info unix.Stat_t
	err := unix.Fstat(source, &info)
	if err == nil {
		err = makePlace(m.Target, info.Mode&unix.S_IFMT == unix.S_IFDIR)
	}
	if err == nil {
		err = unix.MoveMount(source, "", unix.AT_FDCWD, m.Target, unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_SYMLINKS)
	}
	if err == nil && m.ReadOnly {
		err = readOnly(m.Target)
	}
	if err = errors.Join(err, unix.Close(source)); err != nil {
		return fmt.Errorf("mount %s: %w", m.Target, err)
	}
	return nil
}

// makePlace makes a mount point that is missing.
func makePlace(at string, directory bool) error {
	if _, err := os.Stat(at); err == nil {
		return nil
	}
	if directory {
		return os.MkdirAll(at, 0o755)
	}
	if err := os.MkdirAll(path.Dir(at), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(at, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

func readOnly(at string) error {
	if err := unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NODEV, ""); err != nil {
		return fmt.Errorf("make %s read-only: %w", at, err)
	}
	return nil
}

// devices are those of each container, with their numbers.
var devices = map[string]uint64{"null": unix.Mkdev(1, 3), "zero": unix.Mkdev(1, 5), "full": unix.Mkdev(1, 7),
	"random": unix.Mkdev(1, 8), "urandom": unix.Mkdev(1, 9), "tty": unix.Mkdev(5, 0)}

// makeSystem mounts /proc and /dev.
func makeSystem() error {
	for _, m := range []struct {
		at, kind string
		flags    uintptr
		options  string
	}{
		{"/proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"/dev", "tmpfs", unix.MS_NOSUID, "mode=0755,size=64k"},
		{"/dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"},
		{"/dev/shm", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, "mode=1777,size=64m"},
	} {
		if err := os.MkdirAll(m.at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.at, m.kind, m.flags, m.options); err != nil {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	for name, number := range devices {
		if err := unix.Mknod("/dev/"+name, unix.S_IFCHR|0o666, int(number)); err != nil {
			return fmt.Errorf("make /dev/%s: %w", name, err)
		}
	}
	err := os.Symlink("pts/ptmx", "/dev/ptmx")
	err = errors.Join(err, os.Symlink("/proc/self/fd", "/dev/fd"))
	for i, name := range []string{"stdin", "stdout", "stderr"} {
		err = errors.Join(err, os.Symlink("/proc/self/fd/"+strconv.Itoa(i), "/dev/"+name))
	}
	return err
}
