// Package logs is `nuon logs`: what a runner said while it worked.
package logs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New is the command.
func New(e *env.Env) *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use: "logs JOB|BUILD|WORKFLOW|latest:INSTALL", Short: "Print the log of a job, a build, or each step of a workflow", Args: cobra.ExactArgs(1),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			jobs, err := jobsOf(ctx, client, args[0])
			if err != nil {
				return err
			}
			for _, j := range jobs {
				if j.of != "" && e.Console.Output == "table" {
					e.Console.Say("%s:", j.of)
				}
				if err := printLog(ctx, e.Console, client, j.id, follow); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the job ends")
	return c
}

// job is one job and, where there may be several, what it is a job of.
type job struct{ id, of string }

// jobsOf are the jobs behind an id, which says by its prefix what it names.
func jobsOf(ctx context.Context, client *remote.Client, id string) ([]job, error) {
	switch prefix, _, _ := strings.Cut(id, "_"); {
	case prefix == "bld":
		b, err := remote.Get[api.Build](client.GetBuild(ctx, id))
		switch {
		case err == nil && b.Job == "" && b.EndedAt.IsZero():
			err = errors.New("this build has no log: its job has not been made yet")
		case err == nil && b.Job == "":
			err = errors.New("the log of this build is no longer kept; `nuon builds get` shows how it ended")
		}
		return []job{{id: b.Job}}, err
	case prefix == "wfl", strings.HasPrefix(id, "latest:"):
		w, err := workflows.Find(ctx, client, id)
		var jobs []job
		for _, s := range w.Steps {
			if s.Job != "" {
				jobs = append(jobs, job{s.Job, fmt.Sprintf("%s %s (%s)", s.Kind, cmp.Or(s.Action, s.Component), s.Status)})
			}
		}
		if err == nil && len(jobs) == 0 {
			err = fmt.Errorf("workflow %s has no log: none of its steps has begun; `nuon workflows get %s` says why", w.ID, w.ID)
		}
		return jobs, err
	}
	return []job{{id: id}}, nil
}

func printLog(ctx context.Context, c *console.Console, client *remote.Client, job string, follow bool) error {
	if !follow {
		l, err := remote.Get[api.LogChunkList](client.GetLogs(ctx, job, &api.GetLogsParams{}))
		if err != nil {
			return err
		}
		if len(l.Items) == 0 && c.Output == "table" {
			c.Say("no lines are kept of this log: the job has written none yet, or it is older than the control plane keeps logs")
		}
		return c.Result(l, func(io.Writer) error {
			for _, chunk := range l.Items {
				if err := printChunk(c, chunk); err != nil {
					return err
				}
			}
			return nil
		})
	}
	stream := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Accept", "text/event-stream")
		return nil
	}
	return remote.Follow(ctx, func(last string) (*http.Response, error) {
		return client.GetLogs(ctx, job, &api.GetLogsParams{LastEventID: last}, stream)
	}, func(e remote.Event) (bool, error) {
		if e.Name != "log" {
			return e.Name == "end", nil
		}
		var chunk api.LogChunk
		if err := json.Unmarshal(e.Data, &chunk); err != nil {
			return true, fmt.Errorf("read the log of %s: %w", job, err)
		}
		return false, c.Result(chunk, func(io.Writer) error { return printChunk(c, chunk) })
	})
}

// printChunk prints lines for people. A pipe whose reader has gone ends the command.
func printChunk(c *console.Console, chunk api.LogChunk) error {
	for _, l := range chunk.Lines {
		if _, err := fmt.Fprintf(c.Out, "%s %-5s %s\n", l.T.Local().Format("15:04:05.000"), l.L, console.Line(l.M)); err != nil {
			return err
		}
	}
	return nil
}
