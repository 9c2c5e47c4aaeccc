package runner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
)

// spare is a job process that waits for an attempt: most of the start of a job process is the initialization of its
// packages, and a spare process has that behind it. It holds no secret, no file and no lock of an attempt, and gets
// these only after the attempt was accepted and marked as started. It ends when this process ends.
type spare struct {
	mutex sync.Mutex
	// assigns is the socket to the waiting process; nil if there is none.
	assigns *net.UnixConn
	ended   <-chan struct{}
}

// assign passes an attempt to the waiting process. It returns a channel that is closed when the process has ended, or
// nil if no process has the attempt.
func (s *spare) assign(a job.Assignment) <-chan struct{} {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.assigns == nil {
		return nil
	}
	err := a.Send(s.assigns)
	_ = s.assigns.Close() // the end of the message
	s.assigns = nil
	if err != nil {
		<-s.ended // without a whole message it ends
		return nil
	}
	return s.ended
}

// close ends the waiting process.
func (s *spare) close() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.assigns != nil {
		_ = s.assigns.Close()
		<-s.ended
		s.assigns = nil
	}
}

// spareLoop starts a spare process whenever there is none and no job runs: while one runs, its programs have the
// processors. It returns when ctx ends, and ends the process.
func (r *runner) spareLoop(ctx context.Context) {
	defer r.spare.close()
	task := status.Register(ctx, "spare job process")
	defer task.Unregister()
	for {
		task.ReportResult(r.startSpare())
		task.SetWaiting("for a job to end")
		select {
		case <-r.jobEnded:
		case <-ctx.Done():
			return
		}
	}
}

// startSpare starts a spare process unless there is one, a job runs, or jobs run as pods.
func (r *runner) startSpare() error {
	rule, _ := r.rules.currentRule()
	if rule.Executor.Kind == policy.ExecutorKubernetes {
		return nil
	}
	for _, a := range r.listAttempts() {
		if !a.isConcluded() {
			return nil
		}
	}
	r.spare.mutex.Lock()
	defer r.spare.mutex.Unlock()
	if r.spare.assigns != nil {
		select {
		case <-r.spare.ended: // somebody killed it
			_ = r.spare.assigns.Close()
			r.spare.assigns = nil
		default:
			return nil
		}
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return fmt.Errorf("start a spare job process: %w", err)
	}
	defer func() { _ = theirs.Close() }()
	command := r.jobCommand("--dir", filepath.Join(r.Dir, "spool"), "--spare")
	command.Dir = r.Dir
	command.ExtraFiles = []*os.File{theirs} // number 3
	command.Env = append(command.Env, job.VarSpare+"=3")
	ended, err := r.children.start(command)
	if err != nil {
		return errors.Join(fmt.Errorf("start a spare job process: %w", err), ours.Close())
	}
	r.spare.assigns, r.spare.ended = ours, ended
	return nil
}

// socketPair returns two connected sockets. No child process inherits them by accident.
func socketPair() (ours *net.UnixConn, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(pair[0])
		syscall.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	theirs = os.NewFile(uintptr(pair[1]), "spare")
	own := os.NewFile(uintptr(pair[0]), "spare")
	conn, err := net.FileConn(own)
	err = errors.Join(err, own.Close())
	socket, is := conn.(*net.UnixConn)
	if err != nil || !is {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return socket, theirs, nil
}
