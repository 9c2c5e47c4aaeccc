package process

import (
	"errors"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// ErrNoProcess is returned when the process to signal does not exist.
var ErrNoProcess = errors.New("there is no such process")

// Job identifies the processes of one attempt.
type Job struct {
	// Leader is the job process.
	Leader spool.Process
	// Members are descendants of the job process that it recorded.
	Members []spool.Member
}

// JobOf returns the job of an attempt. It returns false when the job process has
// not recorded itself yet.
func JobOf(attempt spool.Attempt) (Job, bool, error) {
	leader, found, err := attempt.Process()
	if err != nil || !found {
		return Job{}, found, err
	}
	members, err := attempt.Members()
	return Job{Leader: leader, Members: members}, true, err
}
