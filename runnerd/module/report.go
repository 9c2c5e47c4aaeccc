package module

import (
	"bytes"
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/diff"
	tfplan "github.com/nuon-toolkit/nuon/diff/terraform"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// report describes the plan file of the workplace, masked with known. The same plan under the same secrets gives the same digest.
func (s *session) report(ctx context.Context, known *values.Secrets) (*diff.Report, error) {
	shown, err := s.terraform.show(ctx, s.place.plan())
	if err != nil {
		return nil, err
	}
	sensitiveIn(shown, func(text []byte) { s.env.Redact.Add(text) })
	made, err := tfplan.Report(bytes.NewReader(shown), tfplan.Options{
		Secrets: known.Contains(),
		TagKey:  s.env.Key.Derive("report tags").Reveal(),
	})
	if err != nil {
		return nil, fmt.Errorf("describe the plan: %w", err)
	}
	return made, nil
}
