package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain makes this test program the only program of the containers that the tests start, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[0] == "/tool" {
		if err := tool(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// facts is what a program sees of its container.
type facts struct {
	PID, UID, GID            int
	Groups                   []int
	Host, Dir                string
	Environ, Root, Processes []string
	Capabilities, Privileges string
}

func tool(args []string) error {
	switch args[0] {
	case "facts":
		return json.NewEncoder(os.Stdout).Encode(look())
	case "read":
		text, err := os.ReadFile(args[1])
		fmt.Print(string(text))
		return err
	case "write":
		return os.WriteFile(args[1], []byte(args[2]), 0o600)
	case "exit":
		code, _ := strconv.Atoi(args[1])
		os.Exit(code)
	case "echo":
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	case "disk": // opens what the machine's disk would be
		if err := unix.Mknod("/disk", unix.S_IFBLK|0o600, int(unix.Mkdev(8, 0))); err != nil {
			return err
		}
		_, err := os.Open("/disk")
		return err
	case "size":
		size, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
		if err == nil {
			fmt.Printf("%d x %d\n", size.Col, size.Row)
		}
		return err
	case "wait":
		fmt.Println("ready")
		time.Sleep(time.Hour)
	}
	return nil
}

func look() (f facts) {
	f.PID, f.UID, f.GID, f.Environ = os.Getpid(), os.Getuid(), os.Getgid(), os.Environ()
	f.Groups, _ = os.Getgroups()
	f.Host, _ = os.Hostname()
	f.Dir, _ = os.Getwd()
	names := func(pattern string) []string {
		found, _ := filepath.Glob(pattern)
		return found
	}
	f.Root, f.Processes = names("/*"), names("/proc/[0-9]*")
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if value, is := strings.CutPrefix(line, "CapEff:"); is {
			f.Capabilities = strings.TrimSpace(value)
		}
		if value, is := strings.CutPrefix(line, "NoNewPrivs:"); is {
			f.Privileges = strings.TrimSpace(value)
		}
	}
	return f
}

// world makes specs of containers with the tool.
func world(t *testing.T) Spec {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can run containers")
	}
	base := filepath.Join(t.TempDir(), "a,b:c") // overlayfs separates its options with these
	for _, dir := range []string{"root/etc", "scratch"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(program, filepath.Join(base, "root/tool")); err != nil {
		content, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(base, "root/tool"), string(content), 0o755)
	}
	write(t, filepath.Join(base, "root/etc/passwd"), "root:x:0:0::/:\nada:x:1000:100::/:\n", 0o644)
	write(t, filepath.Join(base, "root/etc/group"), "root:x:0:\nstaff:x:50:\n", 0o644)
	return Spec{Base: base, Root: "root", Scratch: "scratch", Hostname: "box",
		Process: Process{Args: []string{"/tool", "facts"}, Env: []string{"A=1"}, Capabilities: DefaultCapabilities}}
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// result is what a process wrote and how it ended.
type result struct {
	out, err string
	code     int
}

// run runs a process to its end.
func run(t *testing.T, start func(Streams) (*Running, error)) (r result) {
	t.Helper()
	outRead, outWrite, _ := os.Pipe()
	errRead, errWrite, _ := os.Pipe()
	process, err := start(Streams{Out: outWrite, Err: errWrite})
	_, _ = outWrite.Close(), errWrite.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(outRead)
	errs, _ := io.ReadAll(errRead)
	<-process.Done()
	return result{string(out), string(errs), process.ExitCode()}
}

func runContainer(t *testing.T, s Spec) result {
	t.Helper()
	return run(t, func(streams Streams) (*Running, error) {
		c, err := Start(s, streams)
		if err != nil {
			return nil, err
		}
		return c.Running, nil
	})
}

func factsOf(t *testing.T, r result) (f facts) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.out), &f); err != nil || r.code != 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	return f
}

func TestContainer(t *testing.T) {
	s := world(t)
	s.Process.Dir = "/made"
	f := factsOf(t, runContainer(t, s))
	if f.PID != 1 || f.UID != 0 || f.Host != "box" || f.Dir != "/made" || !slices.Equal(f.Environ, []string{"A=1"}) ||
		!slices.Equal(f.Processes, []string{"/proc/1"}) ||
		!slices.Equal(f.Root, []string{"/dev", "/etc", "/made", "/proc", "/tool"}) {
		t.Errorf("it sees %+v", f)
	}
	if f.Capabilities != "00000000a80425fb" { // Docker's
		t.Errorf("it has the capabilities %s", f.Capabilities)
	}
	if _, err := os.Stat(filepath.Join(s.Base, "root/made")); err == nil {
		t.Error("it changed the files of the image")
	}
}

func TestUsers(t *testing.T) {
	base := world(t)
	for name, test := range map[string]struct {
		change   func(*Process)
		uid, gid int
		groups   []int
	}{
		"name":            {func(p *Process) { p.User = "ada" }, 1000, 100, nil},
		"name and group":  {func(p *Process) { p.User = "ada:staff" }, 1000, 50, nil},
		"number":          {func(p *Process) { p.User = "7" }, 7, 0, nil},
		"listed number":   {func(p *Process) { p.User = "1000" }, 1000, 100, nil},
		"numbers":         {func(p *Process) { p.User = "7:8" }, 7, 8, nil},
		"of the pod":      {func(p *Process) { p.User, p.UID, p.GID = "ada", new(5), new(6) }, 5, 6, nil},
		"with groups":     {func(p *Process) { p.User, p.Groups = "7:8", []int{9} }, 7, 8, []int{9}},
		"nothing granted": {func(p *Process) { p.Capabilities, p.NoNewPrivileges = nil, true }, 0, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := base
			s.Scratch = "scratch-" + name
			if err := os.Mkdir(filepath.Join(s.Base, s.Scratch), 0o755); err != nil {
				t.Fatal(err)
			}
			test.change(&s.Process)
			f := factsOf(t, runContainer(t, s))
			if f.UID != test.uid || f.GID != test.gid || !slices.Equal(f.Groups, test.groups) {
				t.Errorf("it is %d:%d %v", f.UID, f.GID, f.Groups)
			}
			privileged := test.uid == 0 && s.Process.Capabilities != nil
			if (f.Capabilities != "0000000000000000") != privileged {
				t.Errorf("it has the capabilities %s", f.Capabilities)
			}
			if (f.Privileges == "1") != s.Process.NoNewPrivileges {
				t.Errorf("no new privileges: %s", f.Privileges)
			}
		})
	}
}

func TestMounts(t *testing.T) {
	s, outside := world(t), t.TempDir()
	write(t, filepath.Join(outside, "file"), "one", 0o644)
	write(t, filepath.Join(outside, "secret"), "of the machine", 0o644)
	volume := filepath.Join(outside, "volume")
	if err := os.Mkdir(volume, 0o755); err != nil {
		t.Fatal(err)
	}
	s.Mounts = []Mount{
		{Source: filepath.Join(outside, "file"), Target: "/in/file", ReadOnly: true},
		{Source: volume, Target: "/data/volume"},
		{Source: volume, SubPath: "a/b", Target: "/sub"},
	}
	s.ReadOnly = true
	s.Process.Args = []string{"/tool", "wait"}
	c, err := Start(s, Streams{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Signal(syscall.SIGKILL)
	for _, test := range []struct {
		args []string
		want result
	}{
		{[]string{"read", "/in/file"}, result{out: "one"}},
		{[]string{"write", "/in/file", "two"}, result{err: "open /in/file: read-only file system\n", code: 1}},
		{[]string{"write", "/data/volume/new", "three"}, result{}},
		{[]string{"write", "/sub/new", "four"}, result{}},
		{[]string{"write", "/new", "five"}, result{err: "open /new: read-only file system\n", code: 1}},
		{[]string{"disk"}, result{err: "read-only file system\n", code: 1}},
	} {
		got := run(t, func(streams Streams) (*Running, error) {
			return c.Exec(Process{Args: append([]string{"/tool"}, test.args...), Capabilities: DefaultCapabilities}, streams)
		})
		if got != test.want {
			t.Errorf("%q: %+v", test.args, got)
		}
	}
	for name, want := range map[string]string{"volume/new": "three", "volume/a/b/new": "four", "file": "one"} {
		if text, _ := os.ReadFile(filepath.Join(outside, name)); string(text) != want {
			t.Errorf("%s has %q", name, text)
		}
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 3 {
		t.Errorf("outside there are %v", entries)
	}
}

// TestMountsThatLeadOut mounts over a link of the image to a directory of the machine.
func TestMountsThatLeadOut(t *testing.T) {
	s, outside := world(t), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(s.Base, "root/data")); err != nil {
		t.Fatal(err)
	}
	s.Mounts = []Mount{{Source: t.TempDir(), Target: "/data/volume"}}
	if _, err := Start(s, Streams{}); err == nil || !strings.Contains(err.Error(), "mount /data/volume: mkdir /data") {
		t.Errorf("the error is %v", err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Errorf("outside there are %v", entries)
	}
}

// TestDevices makes a device file for a disk in a container that may make one. It cannot be opened.
func TestDevices(t *testing.T) {
	s := world(t)
	s.Process.Args = []string{"/tool", "disk"}
	if r := runContainer(t, s); r.code == 0 || !strings.Contains(r.err, "/disk: permission denied") {
		t.Errorf("it ended %+v", r)
	}
}

func TestSubPathThatLeadsOut(t *testing.T) {
	s, outside := world(t), t.TempDir()
	volume := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(volume, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"link", "link/x", "../x"} {
		s.Mounts = []Mount{{Source: volume, SubPath: path, Target: "/sub"}}
		if _, err := Start(s, Streams{}); err == nil || !strings.Contains(err.Error(), "escapes") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestExec(t *testing.T) {
	s := world(t)
	s.Process.Args = []string{"tool", "wait"}
	s.Process.Env = []string{"PATH=/"}
	s.Process.Args[0] = "/tool"
	c, err := Start(s, Streams{})
	if err != nil {
		t.Fatal(err)
	}
	f := factsOf(t, run(t, func(streams Streams) (*Running, error) {
		return c.Exec(Process{Args: []string{"/tool", "facts"}, User: "ada", Env: []string{"B=2"}, Dir: "/etc"}, streams)
	}))
	if f.UID != 1000 || f.Host != "box" || f.Dir != "/etc" || !slices.Equal(f.Environ, []string{"B=2"}) ||
		!slices.Contains(f.Processes, "/proc/1") || len(f.Processes) != 2 {
		t.Errorf("it sees %+v", f)
	}
	if r := run(t, func(streams Streams) (*Running, error) {
		return c.Exec(Process{Args: []string{"/tool", "exit", "7"}}, streams)
	}); r.code != 7 {
		t.Errorf("it ended %+v", r)
	}
	for _, p := range []Process{{Args: []string{"sh"}}, {Args: []string{"/bin/sh"}},
		{Args: []string{"/tool"}, User: "eve"}, {}} {
		if _, err := c.Exec(p, Streams{}); !errors.As(err, new(*StartError)) {
			t.Errorf("%q: %v", p.Args, err)
		}
	}
	lasting, err := c.Exec(Process{Args: []string{"/tool", "wait"}}, Streams{})
	if err != nil {
		t.Fatal(err)
	}
	c.Signal(syscall.SIGKILL)
	<-lasting.Done()
	<-c.Done()
	if c.ExitCode() != 137 || lasting.ExitCode() != 137 {
		t.Errorf("they ended %d and %d", c.ExitCode(), lasting.ExitCode())
	}
	if _, err := c.Exec(Process{Args: []string{"/tool", "facts"}}, Streams{}); err == nil {
		t.Error("a container that has ended starts a process")
	}
}

func TestTerminal(t *testing.T) {
	s := world(t)
	s.Process.Args = []string{"/tool", "size"}
	control, terminal, err := OpenTerminal()
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close() //nolint:errcheck // only read
	if err := Resize(control, 90, 30); err != nil {
		t.Fatal(err)
	}
	c, err := Start(s, Streams{Terminal: terminal})
	_ = terminal.Close()
	if err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(control) // it ends with EIO, when nobody has the terminal any more
	<-c.Done()
	if string(said) != "90 x 30\r\n" {
		t.Errorf("it said %q", said)
	}
}

func TestWhatCannotStart(t *testing.T) {
	base := world(t)
	for name, test := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"no command":    {func(s *Spec) { s.Process.Args = nil }, "no command specified"},
		"no program":    {func(s *Spec) { s.Process.Args = []string{"/bin/none"} }, `"/bin/none": no such file`},
		"not on PATH":   {func(s *Spec) { s.Process.Args = []string{"none"} }, `executable file not found in $PATH`},
		"no user":       {func(s *Spec) { s.Process.User = "eve" }, "unable to find eve: /etc/passwd does not have it"},
		"no executable": {func(s *Spec) { s.Process.Args = []string{"/etc/passwd"} }, "exec /etc/passwd: permission denied"},
		"relative dir":  {func(s *Spec) { s.Process.Dir = "x" }, "is not an absolute path"},
		"no source":     {func(s *Spec) { s.Mounts = []Mount{{Source: "/nowhere", Target: "/x"}} }, "mount /x: no such file"},
		"over the root": {func(s *Spec) { s.Mounts = []Mount{{Source: "/tmp", Target: "/"}} }, "mount path"},
	} {
		t.Run(name, func(t *testing.T) {
			s := base
			s.Scratch = "scratch-" + name
			if err := os.Mkdir(filepath.Join(s.Base, s.Scratch), 0o755); err != nil {
				t.Fatal(err)
			}
			test.change(&s)
			if _, err := Start(s, Streams{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
