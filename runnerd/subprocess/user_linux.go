package subprocess

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// execProgram replaces this process with a program of another user, with the
// restrictions that start applies.
func execProgram(path string, args, environ []string, user *User) error {
	// The prctl setting belongs to a thread, and this thread becomes the program.
	runtime.LockOSThread()
	if err := errors.Join(
		syscall.Setgroups(nil), syscall.Setgid(int(user.GID)), syscall.Setuid(int(user.UID)),
		unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
	); err != nil {
		return fmt.Errorf("become user %d: %w", user.UID, err)
	}
	return fmt.Errorf("become %s: %w", path, syscall.Exec(path, args, environ)) //nolint:gosec // it is the program that runnerd was to run
}

// start starts the command, as another user if Setup has one: with only that user's own group,
// and with no way to gain rights. No program that it runs gets rights from its file's
// set-user-ID bit or capabilities.
func start(command *exec.Cmd) error {
	user := setup.User
	if user == nil {
		return command.Start()
	}
	command.Env = user.environ(command.Env)
	command.SysProcAttr.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID}
	started := make(chan error)
	go func() { // ends when the program is started
		// The setting belongs to the thread, and its children inherit it. The goroutine stays
		// locked to the thread, so the thread ends with it.
		runtime.LockOSThread()
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			started <- fmt.Errorf("forbid the program new rights: %w", err)
			return
		}
		started <- command.Start()
	}()
	return <-started
}
