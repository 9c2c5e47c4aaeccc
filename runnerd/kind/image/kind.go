package image

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Kind plans images. It implements deploy.Kind. A plan has no changes, because the install's registry
// has the image when it is made; removing the component leaves the copy in the registry.
type Kind struct{}

// session is one plan of an image.
type session struct {
	op    *deploy.Operation
	image image.Image // zero for a destroy
}

// Open reads the list of what belongs to the image.
func (Kind) Open(ctx context.Context, op *deploy.Operation) (deploy.Session, error) {
	s := &session{op: op}
	if op.Destroy {
		return s, nil
	}
	packed, err := op.Env.Install.Pull(ctx, op.Deploy.Artifact)
	if err != nil {
		return nil, err
	}
	s.image, err = image.Unpack(packed)
	return s, err
}

// Plan returns a report without changes.
func (s *session) Plan(ctx context.Context) (deploy.Plan, error) {
	report, err := s.Report(ctx)
	return deploy.Plan{Report: report}, err
}

// Report states what is in the registry.
func (s *session) Report(context.Context) (*diff.Report, error) {
	report := &diff.Report{Kind: diff.KindImage}
	if s.op.Destroy {
		report.Notes = []string{"the copy of the image stays in the install's registry"}
		return report, nil
	}
	report.Notes = []string{fmt.Sprintf("%s %s (%s) is in the install's registry", s.image.Repository,
		s.image.DisplayTag(), s.image.Digest)}
	return report, nil
}

// Observe returns nothing: a plan of an image depends on the artifact only.
func (*session) Observe(context.Context) (deploy.Observation, error) {
	return deploy.Observation{}, nil
}

// Apply fails, because no plan has changes.
func (*session) Apply(context.Context) (deploy.ComponentState, error) {
	return deploy.ComponentState{}, errNotApplied
}

// Close does nothing.
func (*session) Close(context.Context) error { return nil }

// output is the output "image". It addresses the install's own registry.
type output struct {
	Repository   string            `json:"repository"`
	Tag          string            `json:"tag"`
	Digest       string            `json:"digest"`
	Ref          string            `json:"ref"`
	DisplayTag   string            `json:"display_tag"`
	MediaType    string            `json:"media_type"`
	Size         int64             `json:"size"`
	URLs         []string          `json:"urls"`
	Annotations  map[string]string `json:"annotations"`
	ArtifactType string            `json:"artifact_type"`
	Platform     map[string]string `json:"platform"`
}

// CurrentState returns the output of the image.
func (s *session) CurrentState(context.Context) (deploy.ComponentState, error) {
	env := s.op.Env
	repository := env.Install.Reference.Child(s.op.Deploy.Artifact.Repository).String()
	root := s.image.Root()
	made := output{
		Repository: repository, Tag: s.image.InstallTag(), Digest: s.image.Digest, Ref: repository + "@" + s.image.Digest,
		DisplayTag: s.image.DisplayTag(), MediaType: root.MediaType, Size: root.Size, URLs: []string{},
		Annotations: s.image.Annotations, ArtifactType: s.image.ArtifactType, Platform: map[string]string{},
	}
	if made.Annotations == nil {
		made.Annotations = map[string]string{}
	}
	if p := s.image.Platform; p != nil {
		made.Platform = map[string]string{"os": p.OS, "architecture": p.Architecture, "variant": p.Variant}
	}
	encoded, err := json.Marshal(made)
	if err != nil {
		return deploy.ComponentState{}, fmt.Errorf("write the output of the image: %w", err)
	}
	sealed, err := values.SealOutput(values.ComponentProducer(s.op.Deploy), "image", encoded, false, env.Key,
		s.op.Secrets.Contains())
	return deploy.ComponentState{Outputs: []api.Output{sealed}}, err
}
