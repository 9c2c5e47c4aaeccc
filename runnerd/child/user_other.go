//go:build !linux

package child

import (
	"os/exec"
	"syscall"
)

// start starts the command; as another user, with no groups but that user's own.
func start(command *exec.Cmd) error {
	if user := setup.User; user != nil {
		command.Env = user.environ(command.Env)
		command.SysProcAttr.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID}
	}
	return command.Start()
}
