package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
	"github.com/nuon-toolkit/nuon/runnerd/cloud/azure"
	"github.com/nuon-toolkit/nuon/runnerd/cloud/gcp"
)

// The attributes of a machine on GCP that its stack sets.
const (
	attributeInstall = "nuon-install"
	attributeVersion = "nuon-stack-version"
	attributeOutputs = "nuon-outputs"
)

// stackReaders are the clouds where the runner reports the outputs of the stack that its machine belongs to, as the
// machine has them. On AWS, the stack itself reports them.
var stackReaders = map[string]func(ctx context.Context) (api.StackReport, error){
	"gcp": stackOnGCP, "azure": azure.Stack}

// stackLoop reports the outputs of the stack whenever they change.
func (r *runner) stackLoop(ctx context.Context, read func(ctx context.Context) (api.StackReport, error)) {
	var reported api.StackReport
	for {
		report, err := read(ctx)
		if err == nil && !reflect.DeepEqual(report, reported) {
			if err = r.reportStack(ctx, report); err == nil {
				reported = report
				r.log.Info("reported the outputs of the stack", "stack_version", report.StackVersion)
			}
		}
		if err != nil && ctx.Err() == nil {
			r.log.Warn("cannot report the outputs of the stack now", "error", err)
		}
		if !backoff.Pause(ctx, r.Timing.StackInterval) {
			return
		}
	}
}

// stackOnGCP returns what the stack of this machine set in its attributes.
func stackOnGCP(ctx context.Context) (report api.StackReport, err error) {
	var outputs string
	for name, into := range map[string]*string{attributeInstall: &report.Install,
		attributeVersion: &report.StackVersion, attributeOutputs: &outputs} {
		if *into, err = gcp.Attribute(ctx, name); err != nil {
			return report, err
		}
	}
	if err := json.Unmarshal([]byte(outputs), &report.Outputs); err != nil {
		return report, fmt.Errorf("the attribute %s of this machine is no JSON: %w", attributeOutputs, err)
	}
	return report, nil
}

func (r *runner) reportStack(ctx context.Context, report api.StackReport) error {
	answer, err := r.short.ReportStackOutputsWithResponse(ctx, report)
	if err != nil {
		return err
	}
	return apiclient.CheckResponse("report the outputs of the stack", answer.HTTPResponse, answer.Body)
}
