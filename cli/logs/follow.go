package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// follow prints what follows the given ends, until the log has ended or, for a
// workflow, until the workflow and the logs of all its steps have ended.
func (s subject) follow(ctx context.Context, client *apiclient.Client, ends map[source]string, p *printer) error {
	if s.workflow == "" {
		return s.sources[0].follow(ctx, client, ends[s.sources[0]], p)
	}
	f := workflowFollower{subject: s, client: client, ends: ends, print: p, known: map[string]bool{}}
	f.ctx, f.stop = context.WithCancelCause(ctx)
	defer f.stop(nil)
	err := f.run()
	f.readers.Wait()
	if cause := context.Cause(f.ctx); ctx.Err() == nil && cause != nil {
		return cause // the error of the reader that stopped all others
	}
	return err
}

// workflowFollower follows a workflow, with a goroutine for the log of each step; run waits
// for all of them.
type workflowFollower struct {
	subject
	client *apiclient.Client
	ends   map[source]string
	print  *printer

	ctx     context.Context //nolint:containedctx // of run and its goroutines, which end before it returns
	stop    context.CancelCauseFunc
	readers sync.WaitGroup
	known   map[string]bool // ids of the jobs that are being read
	waits   bool            // the message that the workflow waits for approval was printed
}

// run follows the state of the workflow, and starts to read the log of each step once it has one.
func (f *workflowFollower) run() error {
	err := apiclient.Follow(f.ctx, func(last string) (*http.Response, error) {
		return f.client.StreamWorkflow(f.ctx, f.workflow, &api.StreamWorkflowParams{LastEventID: last})
	}, func(e apiclient.Event) (bool, error) {
		if e.Name != "workflow" {
			return false, nil
		}
		var w api.Workflow
		if err := json.Unmarshal(e.Data, &w); err != nil {
			return true, fmt.Errorf("read workflow %s: %w", f.workflow, err)
		}
		for _, s := range f.sourcesOf(w) {
			f.begin(s)
		}
		needs := w.Status == api.WorkflowStatusRunning && workflows.NeedsPerson(w)
		if needs && !f.waits {
			f.print.console.Messagef("workflow %s is waiting for an approval; review it with `nuon review`; its log "+
				"continues here",
				f.workflow)
		}
		f.waits = needs
		return w.Status != api.WorkflowStatusRunning, nil
	})
	if errors.Is(err, exitcode.Interrupted) && f.ctx.Err() != nil {
		return err
	}
	if err != nil {
		f.stop(err)
	}
	return err
}

// begin starts to read the log of a job, unless it is being read already.
func (f *workflowFollower) begin(s source) {
	if f.known[s.job] {
		return
	}
	f.known[s.job] = true
	f.print.widenNames([]source{s})
	f.readers.Go(func() {
		if err := s.follow(f.ctx, f.client, f.ends[s], f.print); err != nil {
			f.stop(err)
		}
	})
}
