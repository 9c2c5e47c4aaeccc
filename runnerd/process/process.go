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
	// Mark is an entry NAME=value of the environment that only this attempt's processes have; empty for none.
	Mark string
}
