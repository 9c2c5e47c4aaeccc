package process

import (
	"errors"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// ErrNone: there is no process to signal, or not any more.
var ErrNone = errors.New("there is no such process")

// Job is what tells the processes of one attempt from all others.
type Job struct {
	// Leader is the job process.
	Leader spool.Process
	// Members are processes that descended from it when it last looked.
	Members []spool.Member
}

// Of returns the job of an attempt; false when its process has not noted yet which one it is.
func Of(attempt spool.Attempt) (Job, bool, error) {
	leader, found, err := attempt.Process()
	if err != nil || !found {
		return Job{}, found, err
	}
	members, err := attempt.Members()
	return Job{Leader: leader, Members: members}, true, err
}
