package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// follow prints what comes after the ends: of one log until it has ended, of a workflow until that has ended with all its steps.
func (s subject) follow(ctx context.Context, client *remote.Client, ends map[source]string, p *printer) error {
	if s.workflow == "" {
		return s.sources[0].follow(ctx, client, ends[s.sources[0]], p)
	}
	f := following{subject: s, client: client, ends: ends, print: p, known: map[string]bool{}}
	f.ctx, f.stop = context.WithCancelCause(ctx)
	defer f.stop(nil)
	err := f.run()
	f.readers.Wait()
	if cause := context.Cause(f.ctx); ctx.Err() == nil && cause != nil {
		return cause // what ended the readers ended all
	}
	return err
}

// following is a workflow whose steps are followed, each by a goroutine that reads its log; run waits for them.
type following struct {
	subject
	client *remote.Client
	ends   map[source]string
	print  *printer

	ctx     context.Context //nolint:containedctx // of run and its goroutines, which end before it returns
	stop    context.CancelCauseFunc
	readers sync.WaitGroup
	known   map[string]bool // jobs
	waits   bool            // it was said that it waits for a person
}

// run reads how the workflow stands, and begins to read the log of each step that gets one.
func (f *following) run() error {
	err := remote.Follow(f.ctx, func(last string) (*http.Response, error) {
		return f.client.StreamWorkflow(f.ctx, f.workflow, &api.StreamWorkflowParams{LastEventID: last})
	}, func(e remote.Event) (bool, error) {
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
			f.print.console.Say("workflow %s waits for an approval: `nuon review` shows it; its log goes on here", f.workflow)
		}
		f.waits = needs
		return w.Status != api.WorkflowStatusRunning, nil
	})
	if errors.Is(err, exit.Interrupted) && f.ctx.Err() != nil {
		return err
	}
	if err != nil {
		f.stop(err)
	}
	return err
}

// begin reads the log of a job that is not read yet.
func (f *following) begin(s source) {
	if f.known[s.job] {
		return
	}
	f.known[s.job] = true
	f.print.makeRoom([]source{s})
	f.readers.Go(func() {
		if err := s.follow(f.ctx, f.client, f.ends[s], f.print); err != nil {
			f.stop(err)
		}
	})
}
