//go:build unix

package screentest

import (
	"os/exec"
	"testing"
)

// TestPresses types keys again after a refusal, and only then.
func TestPresses(t *testing.T) {
	const program = `was=$(stty -g); stty raw -echo
key() { dd bs=1 count=1 2>/dev/null; }
printf 'ready'
key >/dev/null; printf ', the plan is not loaded yet'
key >/dev/null; printf '\r\033[Kapproved '
key; stty "$was"`
	s := Sit(t, exec.Command("sh", "-c", program), true)
	s.Sees("ready")
	s.Presses("a", "approved")
	s.Keys("z")
	s.Sees("approved z")
	s.Leaves(0)
}

// TestAnswers reopens a question whose answer is refused, and only then.
func TestAnswers(t *testing.T) {
	const program = `was=$(stty -g); stty raw -echo
key() { dd bs=1 count=1 2>/dev/null; }
printf 'ready'
key >/dev/null; printf '\r\033[Ktype 4'
key >/dev/null; printf '\r\033[Kcontrol plane unreachable'
key >/dev/null; printf '\r\033[Ktype 4'
key >/dev/null; printf '\r\033[Kapproved '
key; stty "$was"`
	s := Sit(t, exec.Command("sh", "-c", program), true)
	s.Sees("ready")
	s.Answers("a", "type 4", "4", "approved")
	s.Keys("z")
	s.Sees("approved z")
	s.Leaves(0)
}
