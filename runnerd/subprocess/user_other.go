//go:build !linux

package subprocess

import (
	"os/exec"
	"syscall"
)

// start starts the command, as another user with only that user's own group if Setup has one.
func start(command *exec.Cmd) error {
	if user := setup.User; user != nil {
		command.SysProcAttr.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID}
	}
	return command.Start()
}
