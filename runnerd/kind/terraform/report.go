package terraform

import (
	"bytes"
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/diff"
	tfplan "github.com/nuon-toolkit/nuon/diff/terraform"
)

// report describes the plan file of the workspace, and returns the plan in JSON. The same plan with
// the same secrets has the same digest.
func (s *session) report(ctx context.Context) (made *diff.Report, shown []byte, err error) {
	if shown, err = s.terraform.show(ctx, s.workspace.plan()); err != nil {
		return nil, nil, err
	}
	sensitiveIn(shown, func(text []byte) { s.Env.Redact.Add(text) })
	made, err = tfplan.Report(bytes.NewReader(shown), tfplan.Options{
		Secrets: s.Secrets.Contains(),
		TagKey:  s.Env.Key.Derive("report tags").Reveal(),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("describe the plan: %w", err)
	}
	return made, shown, nil
}
