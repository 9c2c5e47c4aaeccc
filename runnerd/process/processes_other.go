//go:build !linux

package process

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// Adopt does nothing here; production runners are Linux.
func Adopt() error { return nil }

// Interrupt sends SIGINT to the job process and to the processes in its process group.
// It is called only while the job process holds its lock.
func (j Job) Interrupt() error { return j.signal(syscall.SIGINT) }

// Kill kills the process group of the job. Without /proc it does not find processes in other
// groups; production runners are Linux.
func (j Job) Kill() (int, error) {
	err := j.signal(syscall.SIGKILL)
	if errors.Is(err, ErrNoProcess) {
		return 0, nil
	}
	return 1, err
}

// InterruptOrphans finds nothing without /proc.
func (j Job) InterruptOrphans() (int, error) { return 0, nil }

// CountLive finds nothing without /proc.
func (j Job) CountLive() (int, error) { return 0, nil }

// KillDescendants finds nothing without /proc.
func KillDescendants() (int, error) { return 0, nil }

// Children finds none without /proc.
func Children() (map[int]bool, error) { return map[int]bool{}, nil }

// KillOrphans finds none without /proc.
func KillOrphans(map[int]bool, []Job) (int, error) { return 0, nil }

// Memory returns 0, because it is unknown without /proc.
func (j Job) Memory() (int64, error) { return 0, nil }

func (j Job) signal(signal syscall.Signal) error {
	if j.Leader.PID <= 1 {
		return ErrNoProcess
	}
	err := syscall.Kill(-j.Leader.PID, signal)
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		return ErrNoProcess // a group of only zombies gives EPERM on Darwin
	}
	if err != nil {
		return fmt.Errorf("signal process group %d: %w", j.Leader.PID, err)
	}
	return nil
}

// Cgroups is empty on systems other than Linux.
type Cgroups struct{}

// FindCgroups returns an error.
func FindCgroups(string) (Cgroups, error) {
	return Cgroups{}, errors.New("this system has no control groups")
}

// Create does nothing.
func (Cgroups) Create(string) (string, error) { return "", nil }

// Close does nothing.
func (Cgroups) Close() {}

// Join does nothing.
func Join(string) error { return nil }

// RemoveCgroup does nothing.
func (j Job) RemoveCgroup() error { return nil }

// Recorder records nothing without /proc.
type Recorder struct{ Attempt spool.Attempt }

// Record does nothing.
func (r *Recorder) Record() error { return nil }
