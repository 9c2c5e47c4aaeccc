package workflow

import (
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// actionTarget is what is stored with the step of an action that has started.
type actionTarget struct {
	Sources []api.StepSource `json:"sources"`
}

// encodeSources returns the record of the code of repositories that a run has, or nil if it has none.
func encodeSources(spec api.ActionSpec) ([]byte, error) {
	var target actionTarget
	for _, step := range spec.Steps {
		if step.Source.Name != "" {
			target.Sources = append(target.Sources, api.StepSource{Step: step.Name, Name: step.Source.Name,
				Commit: step.Source.Commit, Artifact: step.Source.Artifact.Digest})
		}
	}
	if target.Sources == nil {
		return nil, nil
	}
	return encode(target)
}

// StepSources returns the code of repositories that the run of an action had, from the record that is stored with
// its step.
func StepSources(target json.RawMessage) ([]api.StepSource, error) {
	if len(target) == 0 {
		return nil, nil
	}
	var stored actionTarget
	if err := json.Unmarshal(target, &stored); err != nil {
		return nil, fmt.Errorf("decode its sources: %w", err)
	}
	return stored.Sources, nil
}
