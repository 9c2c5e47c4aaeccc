package subprocess

import (
	"maps"
	"os"
	"os/exec"
	"testing"
)

// TestStandInOfThisUser requires that without another user the program is started directly.
func TestStandInOfThisUser(t *testing.T) {
	executable, environ, err := Reexec("/bin/sh", map[string]string{"GREETING": "hello"})
	if want := map[string]string{"GREETING": "hello"}; err != nil || executable != "/bin/sh" ||
		!maps.Equal(environ, want) {
		t.Errorf("%v: %s %v", err, executable, environ)
	}
}

// TestStandInOfAnotherUser requires that the program runs as the other user and
// cannot regain rights.
func TestStandInOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: a stand-in becomes another user")
	}
	before := setup
	t.Cleanup(func() { setup = before })
	Configure(Setup{User: &User{UID: 65534, GID: 65534, Home: "/nonexistent", Temp: "/tmp"}})
	executable, environ, err := Reexec("/bin/sh", map[string]string{"GREETING": "hello"})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), executable, "-c",
		`echo "$GREETING $1"; env | grep NUON_CHILD; id -u; id -G; echo "$HOME"; grep NoNewPrivs /proc/self/status`, "sh",
		"world")
	for name, value := range environ {
		command.Env = append(command.Env, name+"="+value)
	}
	out, err := command.CombinedOutput()
	if want := "hello world\n65534\n65534\n/nonexistent\nNoNewPrivs:\t1\n"; err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}
