package runner

import "context"

// executor runs the job process of one attempt. Everything that has to outlive runnerd is in the spool, so that the
// next runnerd continues with it. Only superviseLoop calls its methods.
type executor interface {
	// start starts the job process. After an error it may be called again.
	start(ctx context.Context) error
	// alive reports whether the job process may run. It returns false only with proof.
	alive(ctx context.Context) (bool, error)
	// changes returns a channel that receives an element, or is closed, when alive may return something else;
	// nil if that has to be polled.
	changes() <-chan struct{}
	// memory returns how many bytes of memory the job uses; zero where the cluster limits that.
	memory() (int64, error)
	// interrupt asks the job process to end. It returns false when it has to be called again.
	interrupt(ctx context.Context) bool
	// kill ends all processes of the job. It may return before they have ended.
	kill(ctx context.Context) error
	// finish makes sure that nothing of an ended job process runs any more.
	finish(ctx context.Context) error
}
