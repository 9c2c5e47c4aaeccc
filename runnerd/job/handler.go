package job

import (
	"context"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Handler does the work of one kind of job.
//
// An error becomes the result failed with the error's text, which a person reads: it says what is wrong and what to do next.
// Known secrets are taken out of it. A *StaleError becomes the result stale. ctx ends when the job is cancelled or runs out of time; an error after that becomes the
// result cancelled. A result that is given without an error is taken as it is, also after ctx has ended: what was done counts. It
// needs a status, and Succeeded gives one.
//
// After ctx ended the handler has timing.ToolGrace to let its tool finish, then has to kill it; after timing.JobGrace all
// processes of the job are killed. What it starts, and what that starts in turn, is killed at the latest when the handler returns.
type Handler interface {
	Run(ctx context.Context, env *Env) (api.JobResult, error)
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, env *Env) (api.JobResult, error)

// Run calls the function.
func (f HandlerFunc) Run(ctx context.Context, env *Env) (api.JobResult, error) { return f(ctx, env) }

// Handlers is the handler of each kind of job.
type Handlers map[api.JobSpecKind]Handler

// Succeeded is the status of a job that did what it was to do.
const Succeeded = api.JobResultStatusSucceeded
