package child

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// start starts the command; as another user, with no groups but that user's own, and without a way to more rights: no program that it
// runs gets any from its file's set-user-ID bit or capabilities.
func start(command *exec.Cmd) error {
	user := setup.User
	if user == nil {
		return command.Start()
	}
	command.Env = user.environ(command.Env)
	command.SysProcAttr.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID}
	started := make(chan error)
	go func() { // until the program is started
		// The setting is that of a thread, and inherited by what it starts. The thread ends with this goroutine, which keeps it.
		runtime.LockOSThread()
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			started <- fmt.Errorf("forbid the program new rights: %w", err)
			return
		}
		started <- command.Start()
	}()
	return <-started
}
