package hardening_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/hardening"
)

// TestMain runs the test binary as the process that holds a key, if the environment selects that.
func TestMain(m *testing.M) {
	switch os.Getenv("HARDENING_TEST") {
	case "hidden":
		if err := hardening.HideMemory(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fallthrough
	case "plain":
		fmt.Println("ready")
		_, _ = io.ReadAll(os.Stdin) // until the test has inspected this process
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestHideMemory checks that another process of the same user can read the environment, memory and
// files of an ordinary process, and none of a hidden one.
func TestHideMemory(t *testing.T) {
	for _, role := range []string{"plain", "hidden"} {
		t.Run(role, func(t *testing.T) {
			holder := as(t, exec.Command(os.Args[0]))
			if os.Getuid() == 0 {
				holder.Path = shared(t, os.Args[0])
			}
			holder.Env = []string{"HARDENING_TEST=" + role}
			input, err := holder.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			output, err := holder.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := holder.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = input.Close(); _ = holder.Wait() }()
			if line, _ := bufio.NewReader(output).ReadString('\n'); line != "ready\n" {
				t.Fatalf("%q", line)
			}
			proc := fmt.Sprintf("/proc/%d/", holder.Process.Pid)
			for _, try := range [][]string{
				{"cat", proc + "environ"}, {"cat", proc + "maps"}, {"ls", proc + "fd/"}, {"readlink", proc + "cwd"},
				{"sh", "-c", "exec 3<" + proc + "mem"},
			} {
				//nolint:gosec // the test's own commands
				said, err := as(t, exec.Command(try[0], try[1:]...)).CombinedOutput()
				if (err == nil) != (role == "plain") {
					t.Errorf("%v: %v %q", try, err, said)
				}
			}
		})
	}
}

// as makes a command run as an ordinary user if the test runs as root, because root can read
// everything.
func as(t *testing.T, command *exec.Cmd) *exec.Cmd {
	t.Helper()
	command.Dir = "/"
	if os.Getuid() == 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	return command
}

// shared copies a program to a directory in which every user may run it.
func shared(t *testing.T, program string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hardening-*") // below /tmp itself: the directories of a test are private to its user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	content, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "program"), content, 0o755)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "program")
}
