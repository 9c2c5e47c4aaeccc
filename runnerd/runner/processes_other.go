//go:build !linux

package runner

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// interruptGroup sends SIGINT to the job process and to what it started in its own process group. It is called only while the job
// process holds its lock.
func interruptGroup(process spool.Process) error {
	return signalGroup(process, syscall.SIGINT)
}

// killAll kills the process group of the job. Without /proc what moved to a group of its own is not found; production runners are
// Linux.
func killAll(leader spool.Process) (int, error) {
	err := signalGroup(leader, syscall.SIGKILL)
	if errors.Is(err, errNoProcess) {
		return 0, nil
	}
	return 1, err
}

func signalGroup(process spool.Process, signal syscall.Signal) error {
	if process.PID <= 1 {
		return errNoProcess
	}
	err := syscall.Kill(-process.PID, signal)
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		return errNoProcess // a group of only zombies gives EPERM on Darwin
	}
	if err != nil {
		return fmt.Errorf("signal process group %d: %w", process.PID, err)
	}
	return nil
}
