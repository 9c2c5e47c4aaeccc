package job

import (
	"context"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Handler does the work of one kind of job.
//
// An error becomes the result failed with the error's text, which a person reads: it states
// what is wrong and what to do next. Known secrets are masked in it. A *StaleError becomes
// the result stale. ctx ends when the job is canceled or reaches its time limit; an error after
// that becomes the result cancelled. A result without an error is used as it is, even after ctx
// has ended, because it reports what was done. It needs a status, for example Succeeded.
//
// After the end of ctx the handler waits up to timing.ToolGrace for its tool to finish, and
// then has to kill it; after timing.JobGrace all processes of the job are killed. All processes
// that the handler started, and their descendants, are killed at the latest when it returns.
type Handler interface {
	Run(ctx context.Context, env *Env) (api.JobResult, error)
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(ctx context.Context, env *Env) (api.JobResult, error)

// Run calls the function.
func (f HandlerFunc) Run(ctx context.Context, env *Env) (api.JobResult, error) { return f(ctx, env) }

// Handlers maps each kind of job to its handler.
type Handlers map[api.JobSpecKind]Handler

// Succeeded is the status of a successful job.
const Succeeded = api.JobResultStatusSucceeded
