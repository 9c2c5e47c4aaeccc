package child

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A stand-in is the program that it stands in for, with its arguments and its environment, and with none of the stand-in's variables.
func TestStandIn(t *testing.T) {
	executable, environ, err := StandIn("/bin/sh", map[string]string{"GREETING": "hello"})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), executable, "-c", `echo "$GREETING $1"; env; id -u`, "sh", "world")
	for name, value := range environ {
		command.Env = append(command.Env, name+"="+value)
	}
	out, err := command.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "hello world\n") || strings.Contains(string(out), "NUON_CHILD") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestStandInOfAnotherUser: it is the other user's, who gets no rights back.
func TestStandInOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: a stand-in becomes another user")
	}
	before := setup
	t.Cleanup(func() { setup = before })
	Configure(Setup{User: &User{UID: 65534, GID: 65534, Home: "/nonexistent", Temp: "/tmp"}})
	executable, environ, err := StandIn("/bin/sh", map[string]string{})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), executable, "-c", `id -u; id -G; echo "$HOME"; grep NoNewPrivs /proc/self/status`)
	for name, value := range environ {
		command.Env = append(command.Env, name+"="+value)
	}
	out, err := command.CombinedOutput()
	if want := "65534\n65534\n/nonexistent\nNoNewPrivs:\t1\n"; err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}
