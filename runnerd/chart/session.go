package chart

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/helm"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// session is one release on one cluster, for one job.
type session struct {
	settings
	env     *job.Env
	deploy  api.DeploySpec
	cluster *cluster.Cluster
	client  *helm.Client
	// known is what the report is masked with.
	known *values.Secrets
	// history is what was found of the release, newest last.
	history []helm.Release
}

// open finds the cluster, and what there is of the release.
func open(ctx context.Context, env *job.Env, spec api.DeploySpec, at settings, opened *values.Values, known *values.Secrets) (*session, error) {
	found, err := cluster.Open(env, spec.Cluster, opened)
	if err != nil {
		return nil, err
	}
	client, err := helm.New(found, helm.Options{Namespace: at.Namespace, Driver: at.Driver, Log: env.Log})
	if err != nil {
		return nil, err
	}
	made := &session{settings: at, env: env, deploy: spec, cluster: found, client: client, known: known}
	made.history, err = client.History(ctx, at.Release)
	return made, err
}

// decide says what to do about the release. A stall is an error.
func (s *session) decide(destroy bool) (helm.Decision, error) {
	decision := helm.Decide(helm.Observation{
		Release: s.Release, Namespace: s.Namespace, Component: s.deploy.InstallComponent,
		TakeOwnership: s.deploy.Helm.TakeOwnership, Destroy: destroy, History: s.history,
	})
	if decision.Action == helm.ActionStall {
		return helm.Decision{}, fmt.Errorf("%s; %s", decision.Reason, decision.Hint)
	}
	s.env.Log.Info("%s: %s", decision.Action, decision.Reason)
	return decision, nil
}

// observed names what there is of the release, as far as it matters.
func (s *session) observed() string {
	if len(s.history) == 0 {
		return artifact.Digest(nil)
	}
	return s.history[len(s.history)-1].Digest()
}

// basis is what a plan is made from.
func (s *session) basis(desired string) api.Basis {
	return api.Basis{DesiredDigest: desired, Artifact: s.deploy.Artifact.Digest, Cluster: s.cluster.Identity(), Observed: s.observed()}
}

// identity names the cluster for later health jobs.
func (s *session) identity() api.ClusterIdentity {
	return deploy.ClusterIdentity(s.env.Key, s.deploy.InstallComponent, s.cluster.Identity())
}

// owner is on whose behalf this job works.
func (s *session) owner() helm.Owner {
	return helm.Owner{Install: s.deploy.InstallID, Component: s.deploy.InstallComponent, Attempt: fmt.Sprintf("%s.%d", s.env.Spec.Job, s.env.Spec.Attempt)}
}

// pullChart fetches the component's chart.
func pullChart(ctx context.Context, env *job.Env, from api.ArtifactRef) (*helm.Chart, error) {
	packed, err := env.Install.Pull(ctx, from)
	if err != nil {
		return nil, err
	}
	if packed.Type != artifact.MediaChart {
		return nil, fmt.Errorf("the artifact is of type %s, not a chart; this is a fault of the control plane, report it", packed.Type)
	}
	if version := packed.Annotations[artifact.AnnotationFormat]; version != buildFormat {
		return nil, fmt.Errorf("the chart was packed in format %q, this runner reads format %s; update the runner, or build the component again", version, buildFormat)
	}
	files, err := packed.Files(artifact.Limits{})
	if err != nil {
		return nil, fmt.Errorf("unpack the chart: %w; build the component again", err)
	}
	return helm.LoadChart(files)
}

// margin is what a wait leaves of the job's time, in which the reason of its failure is told and recorded.
const margin = 20 * time.Second

// left is how long a wait may take.
func left(ctx context.Context) time.Duration {
	end, has := ctx.Deadline()
	if !has {
		return 30 * time.Minute // a handler always has one; this is helm's default of the format
	}
	return max(time.Until(end)-margin, time.Second)
}

// learnSecrets makes what Secrets hold known, before a server's words can quote it.
func learnSecrets(rendered *helm.Rendered, known *values.Secrets) {
	texts := []string{rendered.Manifest}
	for _, hook := range rendered.Hooks {
		texts = append(texts, hook.Manifest)
	}
	for _, text := range texts {
		for document := range documents(text) {
			var object struct {
				APIVersion string            `json:"apiVersion"`
				Kind       string            `json:"kind"`
				Data       map[string]string `json:"data"`
				StringData map[string]string `json:"stringData"`
			}
			if err := yaml.Unmarshal([]byte(document), &object); err != nil || object.APIVersion != "v1" || object.Kind != "Secret" {
				continue
			}
			for _, value := range object.StringData {
				learn(value, known)
			}
			for _, value := range object.Data {
				learn(value, known)
				if plain, err := base64.StdEncoding.DecodeString(value); err == nil {
					learn(string(plain), known)
				}
			}
		}
	}
}

// minSecret is how long a value of a Secret is that is looked for in other texts: a shorter one would hide half of what is said.
const minSecret = 6

func learn(value string, known *values.Secrets) {
	if len(value) >= minSecret {
		known.Add(value)
	}
}

// refusals gives all that the server refused, as one error; nil when it refused nothing.
func refusals(answers []helm.Answer) error {
	var all []error
	more := 0
	for _, answer := range answers {
		switch {
		case answer.Err == nil:
		case len(all) >= mostRefusals:
			more++
		default:
			all = append(all, answer.Err) // it names the object
		}
	}
	if more > 0 {
		all = append(all, fmt.Errorf("%d more objects are refused", more))
	}
	return errors.Join(all...)
}

// mostRefusals bounds how many are told of one plan.
const mostRefusals = 20
