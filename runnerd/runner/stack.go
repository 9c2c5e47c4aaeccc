package runner

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
	"github.com/nuon-toolkit/nuon/runnerd/cloud/gcp"
)

// The attributes of a machine on GCP that its stack sets.
const (
	attributeInstall = "nuon-install"
	attributeVersion = "nuon-stack-version"
	attributeOutputs = "nuon-outputs"
)

// stackLoop reports the outputs of the stack that this machine belongs to, whenever the attributes of
// the machine change.
func (r *runner) stackLoop(ctx context.Context) {
	reported := ""
	for {
		now, report, err := stackOf(ctx)
		if err == nil && now != reported {
			if err = r.reportStack(ctx, report); err == nil {
				reported = now
				r.log.Info("reported the outputs of the stack", "stack_version", report.StackVersion)
			}
		}
		if err != nil && ctx.Err() == nil {
			r.log.Warn("cannot report the outputs of the stack now", "error", err)
		}
		if !backoff.Pause(ctx, r.Timing.CleanupInterval) {
			return
		}
	}
}

// stackOf returns what the stack of this machine set, also as one text.
func stackOf(ctx context.Context) (text string, report api.StackReport, err error) {
	var outputs string
	for name, into := range map[string]*string{attributeInstall: &report.Install,
		attributeVersion: &report.StackVersion, attributeOutputs: &outputs} {
		if *into, err = gcp.Attribute(ctx, name); err != nil {
			return "", report, err
		}
	}
	if err := json.Unmarshal([]byte(outputs), &report.Outputs); err != nil {
		return "", report, fmt.Errorf("the attribute %s of this machine is no JSON: %w", attributeOutputs, err)
	}
	return report.Install + " " + report.StackVersion + " " + outputs, report, nil
}

func (r *runner) reportStack(ctx context.Context, report api.StackReport) error {
	answer, err := r.short.ReportStackOutputsWithResponse(ctx, report)
	if err != nil {
		return err
	}
	return apiclient.CheckResponse("report the outputs of the stack", answer.HTTPResponse, answer.Body)
}
