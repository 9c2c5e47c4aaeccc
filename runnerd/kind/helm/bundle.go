package helm

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk"
)

// The plan bundle of a chart holds, in addition to the files of every bundle,
//
//	plan.json       the fields of note
//	rendered.json   the rendered templates including hooks, byte for byte
//	again.yaml      the objects of the second rendering, which show what each rendering regenerates
//	values.json     the values that the chart was rendered with
//
// The bundle of a destroy holds only the first. The chart itself is not included: the
// basis names its digest, and the apply fetches it by that digest.
const (
	metadataName = "plan.json"
	renderedName = "rendered.json"
	againName    = "again.yaml"
	valuesName   = "values.json"
)

// planMetadata is plan.json. It holds secrets.
type planMetadata struct {
	settings
	// Rendered is the digest of the rendering.
	Rendered string `json:"rendered,omitempty"`
	// Decision is the action that the plan is for.
	Decision helmsdk.Decision `json:"decision"`
	// CRDs are the results of comparing the chart's definitions with the cluster's,
	// by path and name.
	CRDs []crdState `json:"crds,omitempty"`
	// Strays are the notes about releases that the component made under earlier settings.
	Strays []string `json:"stale_releases,omitempty"`
}

// crdState is the comparison result of one definition of the chart.
type crdState struct {
	Path  string           `json:"path"`
	Name  string           `json:"name"`
	State helmsdk.CRDState `json:"state"`
}

// savedPlan holds what the apply of a plan needs. It holds secrets.
type savedPlan struct {
	metadata  planMetadata
	templates []helmsdk.File
	again     []byte
	values    []byte
}

// save returns the files of a plan bundle.
func (p savedPlan) save(destroy bool) ([]artifact.File, error) {
	noted, err := json.Marshal(p.metadata)
	if err != nil {
		return nil, fmt.Errorf("write the plan bundle: %w", err)
	}
	files := []artifact.File{{Path: metadataName, Content: noted}}
	if destroy {
		return files, nil
	}
	templates, err := json.Marshal(p.templates)
	if err != nil {
		return nil, fmt.Errorf("write the plan bundle: %w", err)
	}
	return append(files,
		artifact.File{Path: renderedName, Content: templates},
		artifact.File{Path: againName, Content: p.again},
		artifact.File{Path: valuesName, Content: p.values},
	), nil
}

// load reads what save wrote.
func load(files []artifact.File) (savedPlan, error) {
	var made savedPlan
	for _, file := range files {
		var err error
		switch file.Path {
		case metadataName:
			err = json.Unmarshal(file.Content, &made.metadata)
		case renderedName:
			err = json.Unmarshal(file.Content, &made.templates)
		case againName:
			made.again = file.Content
		case valuesName:
			made.values = file.Content
		default:
			err = errors.New("it contains an unexpected file")
		}
		if err != nil {
			return savedPlan{}, fmt.Errorf("read the plan bundle: %w; plan again", err)
		}
	}
	if made.metadata.Release == "" {
		return savedPlan{}, errors.New("the plan bundle does not hold the files of a chart's plan; plan again")
	}
	return made, nil
}
