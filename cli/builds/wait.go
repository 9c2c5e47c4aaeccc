package builds

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/progress"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// waitOptions holds the --wait and --timeout flags of the commands that start builds.
type waitOptions struct {
	env     *cmdenv.Env
	wait    bool
	timeout time.Duration
}

func (w *waitOptions) flags(c *cobra.Command) {
	c.Flags().BoolVar(&w.wait, "wait", false, "wait until the build ends")
	c.Flags().DurationVar(&w.timeout, "timeout", 30*time.Minute, "with --wait: maximum time to wait")
}

// waitForBuilds waits, with --wait, until the builds have ended, and updates them in place. It
// returns an error if one failed.
func (w *waitOptions) waitForBuilds(ctx context.Context, client *apiclient.Client, builds []componentResult) error {
	if !w.wait {
		return nil
	}
	err := progress.Wait(ctx, w.env.Console, progress.Work{
		Poll:      func(ctx context.Context) error { return pollBuilds(ctx, client, builds) },
		Ended:     func() bool { return allEnded(builds) },
		Lines:     func() []progress.Line { return progressLines(builds) },
		Timeout:   w.timeout,
		OnTimeout: fmt.Errorf("not built within %s; the build continues, check it with `nuon builds list`", w.timeout),
		Continues: func() (string, []progress.Next) {
			return "the builds continue", []progress.Next{{Command: "nuon builds list --watch", To: "follow it"}}
		},
	})
	if err != nil {
		return err
	}
	return exitError(builds)
}

// pollBuilds updates the builds that have not ended.
func pollBuilds(ctx context.Context, client *apiclient.Client, builds []componentResult) error {
	for _, d := range builds {
		if d.Build == nil || hasEnded(*d.Build) {
			continue
		}
		b, err := apiclient.Decode[api.Build](client.GetBuild(ctx, d.Build.ID))
		if err != nil {
			return err
		}
		*d.Build = b
	}
	return nil
}

func hasEnded(b api.Build) bool {
	return b.Status == api.BuildStatusSucceeded || b.Status == api.BuildStatusFailed
}

func allEnded(builds []componentResult) bool {
	for _, d := range builds {
		if d.Build != nil && !hasEnded(*d.Build) {
			return false
		}
	}
	return true
}

// exitError returns an error that names the builds that failed.
func exitError(builds []componentResult) error {
	var failed []string
	for _, d := range builds {
		if d.Build != nil && d.Build.Status == api.BuildStatusFailed {
			failed = append(failed, fmt.Sprintf("build %d of %s failed: %s; read its log with `nuon logs %s`",
				d.Build.Number, d.Component, d.Build.Error, d.Build.ID))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return exitcode.With(exitcode.Failed, errors.New(strings.Join(failed, "\n")))
}

func progressLines(builds []componentResult) []progress.Line {
	var out []progress.Line
	for _, d := range builds {
		if d.Build == nil {
			continue
		}
		mark := "✓"
		if d.Build.Status == api.BuildStatusFailed {
			mark = "✗"
		}
		out = append(out, progress.Line{Mark: mark, Busy: !hasEnded(*d.Build),
			Text: fmt.Sprintf("%-16s build %d %s  %s", d.Component, d.Build.Number, d.Build.Status, d.Build.Waits)})
	}
	return out
}
