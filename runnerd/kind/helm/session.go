package helm

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// session is one release on one cluster, for one job.
type session struct {
	settings
	env     *job.Env
	deploy  api.DeploySpec
	cluster *cluster.Cluster
	client  *helmsdk.Client
	// secrets are the secrets that the report masks.
	secrets *values.Secrets
	// history holds the revisions of the release, newest last.
	history []helmsdk.Release
	// reviewed holds the objects that policies read, after a report.
	reviewed []map[string]any
}

// open connects to the cluster, and reads the release's history.
func open(ctx context.Context, env *job.Env, spec api.DeploySpec, at settings, opened *values.Values,
	known *values.Secrets) (*session, error) {
	found, err := cluster.Open(env, spec.Cluster, opened)
	if err != nil {
		return nil, err
	}
	client, err := helmsdk.New(found, helmsdk.Options{Namespace: at.Namespace, Driver: at.Driver, Log: env.Log})
	if err != nil {
		return nil, err
	}
	made := &session{settings: at, env: env, deploy: spec, cluster: found, client: client, secrets: known}
	made.history, err = client.History(ctx, at.Release)
	return made, err
}

// decide returns what to do about the release. A stall is an error.
func (s *session) decide(destroy bool) (helmsdk.Decision, error) {
	decision := helmsdk.Decide(helmsdk.Observation{
		Release: s.Release, Namespace: s.Namespace, Component: s.deploy.InstallComponent,
		TakeOwnership: s.deploy.Helm.TakeOwnership, Destroy: destroy, History: s.history,
	})
	if decision.Action == helmsdk.ActionStall {
		return helmsdk.Decision{}, fmt.Errorf("%s; %s", decision.Reason, decision.Hint)
	}
	s.env.Log.Info("%s: %s", decision.Action, decision.Reason)
	return decision, nil
}

// observed returns a digest of the release's newest revision.
func (s *session) observed() string {
	if len(s.history) == 0 {
		return sha256digest.Of(nil)
	}
	return s.history[len(s.history)-1].Digest()
}

// observation returns the cluster and the state of the release.
func (s *session) observation() deploy.Observation {
	made := deploy.Observation{Cluster: s.cluster.Identity(), Observed: s.observed()}
	if len(s.history) == 0 {
		made.Changed = fmt.Sprintf("the release %s was there when the plan was made, and is gone", s.Release)
		return made
	}
	last := s.history[len(s.history)-1]
	made.Changed = fmt.Sprintf("someone changed the release %s since the plan was made: its revision %d is %s now",
		s.Release, last.Revision, last.Status)
	return made
}

// owner identifies the component and attempt that this job works for.
func (s *session) owner() helmsdk.Owner {
	return helmsdk.Owner{Install: s.deploy.InstallID, Component: s.deploy.InstallComponent,
		Attempt: fmt.Sprintf("%s.%d", s.env.Spec.Job, s.env.Spec.Attempt)}
}

// pullChart fetches the component's chart.
func pullChart(ctx context.Context, env *job.Env, from api.ArtifactRef) (*helmsdk.Chart, error) {
	packed, err := env.Install.Pull(ctx, from)
	if err != nil {
		return nil, err
	}
	if packed.Type != artifact.MediaChart {
		return nil, fmt.Errorf("the artifact is of type %s, not a chart; this is a bug in the control plane; report it",
			packed.Type)
	}
	if version := packed.Annotations[artifact.AnnotationFormat]; version != buildFormat {
		return nil, fmt.Errorf(
			"the chart was packed in format %q, this runner reads format %s; update the runner, or build the component again",
			version, buildFormat)
	}
	files, err := packed.Files(artifact.Limits{})
	if err != nil {
		return nil, fmt.Errorf("unpack the chart: %w; build the component again", err)
	}
	return helmsdk.LoadChart(files)
}

// rejectionOf joins all refusals by the server into one deploy.RejectedError; nil if there are none.
func rejectionOf(answers []helmsdk.DryRunResult) error {
	var all []error
	more := 0
	for _, answer := range answers {
		switch {
		case answer.Err == nil:
		case len(all) >= maxRejections:
			more++
		default:
			all = append(all, answer.Err) // it names the object
		}
	}
	if more > 0 {
		all = append(all, fmt.Errorf("%d more objects are refused", more))
	}
	if len(all) == 0 {
		return nil
	}
	return &deploy.RejectedError{Err: errors.Join(all...)}
}

// maxRejections bounds the refusals reported for one plan.
const maxRejections = 20
