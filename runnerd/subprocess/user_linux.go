package subprocess

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// start starts the command, as another user if Setup has one: with only that user's own group,
// and with no way to gain rights. No program that it runs gets rights from its file's
// set-user-ID bit or capabilities.
func start(command *exec.Cmd) error {
	user := setup.User
	if user == nil {
		return command.Start()
	}
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
