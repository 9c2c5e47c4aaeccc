package chart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/bundle"
	"github.com/nuon-toolkit/nuon/runnerd/helm"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// A plan bundle is everything that the apply of one plan needs and that must not differ from the time of the plan, sealed to the
// install key. The chart itself is not in it: the basis names its digest, and the apply fetches it by that. Inside is a packed tree:
//
//	bundle.json     what the fields of note say
//	report.json     the report that people see, to say what moved
//	rendered.json   the rendered templates, hooks too, byte for byte
//	again.yaml      the objects of the second rendering, which tell what is made anew each time
//	values.json     the values that the chart was rendered with
//
// Of a plan that destroys there are the first two.
const (
	bundleFormat = 1
	noteName     = "bundle.json"
	reportName   = "report.json"
	renderedName = "rendered.json"
	againName    = "again.yaml"
	valuesName   = "values.json"
)

// note is bundle.json. It holds secrets.
type note struct {
	Format int `json:"format"`
	settings
	Basis        api.Basis `json:"basis"`
	ReportDigest string    `json:"report_digest"`
	Destroy      bool      `json:"destroy"`
	// Rendered is the digest of the rendering.
	Rendered string `json:"rendered,omitempty"`
	// Decision is what the plan is for.
	Decision      helm.Decision `json:"decision"`
	TakeOwnership bool          `json:"take_ownership"`
	// CRDs are how the definitions of the chart compared with the cluster's, by their paths and names.
	CRDs []crdNote `json:"crds,omitempty"`
	// Strays are the releases that the component made elsewhere, as the report tells of them.
	Strays []string `json:"strays,omitempty"`
	// Secrets are the texts that the report was masked with.
	Secrets []string `json:"secrets"`
}

// crdNote is one definition of the chart.
type crdNote struct {
	Path  string        `json:"path"`
	Name  string        `json:"name"`
	State helm.CRDState `json:"state"`
}

// savedPlan is an opened plan bundle. It holds secrets.
type savedPlan struct {
	note      note
	report    []byte
	templates []helm.File
	again     []byte
	values    []byte
}

// seal packs the bundle and seals it.
func (b savedPlan) seal(context seal.Context, to seal.Recipient) (artifact.Artifact, error) {
	noted, err := json.Marshal(b.note)
	if err != nil {
		return artifact.Artifact{}, fmt.Errorf("write the plan bundle: %w", err)
	}
	files := []artifact.File{{Path: noteName, Content: noted}, {Path: reportName, Content: b.report}}
	if !b.note.Destroy {
		templates, err := json.Marshal(b.templates)
		if err != nil {
			return artifact.Artifact{}, fmt.Errorf("write the plan bundle: %w", err)
		}
		files = append(files, artifact.File{Path: renderedName, Content: templates}, artifact.File{Path: againName, Content: b.again}, artifact.File{Path: valuesName, Content: b.values})
	}
	return bundle.Seal(files, context, to)
}

// pullBundle fetches and opens a bundle. Its secrets are known to the redactor before it returns.
func pullBundle(ctx context.Context, env *job.Env, spec api.ApplySpec) (savedPlan, *values.Secrets, error) {
	packed, err := env.Install.Pull(ctx, spec.Bundle)
	if err != nil {
		return savedPlan{}, nil, err
	}
	opened, err := openBundle(packed, bundle.ContextOf(spec.Deploy), env.Key)
	if err != nil {
		return savedPlan{}, nil, err
	}
	return opened, values.NewSecrets(env.Redact, opened.note.Secrets...), nil
}

// openBundle reads what seal made.
func openBundle(packed artifact.Artifact, context seal.Context, key seal.Identity) (savedPlan, error) {
	files, err := bundle.Open(packed, context, key)
	if err != nil {
		return savedPlan{}, err
	}
	var made savedPlan
	for _, file := range files {
		switch file.Path {
		case noteName:
			err = json.Unmarshal(file.Content, &made.note)
		case reportName:
			made.report = file.Content
		case renderedName:
			err = json.Unmarshal(file.Content, &made.templates)
		case againName:
			made.again = file.Content
		case valuesName:
			made.values = file.Content
		default:
			err = errors.New("there is a file in it that nobody expects")
		}
		if err != nil {
			return savedPlan{}, fmt.Errorf("read the plan bundle: %w; plan again", err)
		}
	}
	if made.note.Format != bundleFormat {
		return savedPlan{}, fmt.Errorf("the plan bundle is of format %d, and this runner knows %d; plan again", made.note.Format, bundleFormat)
	}
	return made, nil
}
