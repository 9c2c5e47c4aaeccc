//go:build !linux

package subprocess

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// start starts the command, as another user with only that user's own group if Setup has one.
func start(command *exec.Cmd) error {
	if user := setup.User; user != nil {
		command.Env = user.environ(command.Env)
		command.SysProcAttr.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID}
	}
	return command.Start()
}

// execProgram replaces this process with a program of another user.
func execProgram(path string, args, environ []string, user *User) error {
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(int(user.GID)),
		syscall.Setuid(int(user.UID))); err != nil {
		return fmt.Errorf("become user %d: %w", user.UID, err)
	}
	return fmt.Errorf("become %s: %w", path, syscall.Exec(path, args, environ)) //nolint:gosec // it is the program that runnerd was to run
}
