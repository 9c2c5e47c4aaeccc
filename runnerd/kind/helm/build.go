package helm

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk/source"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// buildFormat is the version of the format in which a chart is packed into an artifact.
const buildFormat = "1"

// renderTime bounds the rendering with default values, which serves only for warnings.
const renderTime = 30 * time.Second

// Build is the handler of build jobs: it makes an artifact of a chart with all its
// dependencies, from a directory of the packed source or from a chart repository. The same
// source gives the same digest on any machine, provided that it includes its Chart.lock.
type Build struct {
	// credential replaces the org's credentials, in tests.
	credential func(ctx context.Context, address string) (job.ModuleCredential, error)
}

// Run builds the chart. It returns an error for everything that cannot work on any
// cluster with any values: unavailable dependencies, templates that cannot be parsed,
// a chart too large for a release record.
func (b Build) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	made, err := b.chart(ctx, env)
	if err != nil {
		return api.JobResult{}, err
	}
	logChart(env.Log, made)
	if err := made.Check(); err != nil {
		return api.JobResult{}, err
	}
	if err := checkChartSize(ctx, env, made); err != nil {
		return api.JobResult{}, err
	}
	spec := env.Spec.Build
	packed, err := artifact.Pack(artifact.MediaChart, made.Files, map[string]string{
		artifact.AnnotationKind:   spec.ComponentKind,
		artifact.AnnotationFormat: buildFormat,
		artifact.AnnotationTree:   spec.Tree,
	}, artifact.Limits{})
	if err != nil {
		return api.JobResult{}, err
	}
	pushed, err := env.Vendor.Push(ctx, spec.Repository, packed)
	if err != nil {
		return api.JobResult{}, err
	}
	env.Log.Info("artifact %s", pushed.Digest)
	return api.JobResult{Status: job.Succeeded, Build: api.BuildResult{Artifact: pushed, Bytes: int64(len(packed.Layer))}},
		nil
}

// chart returns the chart that the spec names.
func (b Build) chart(ctx context.Context, env *job.Env) (*source.Chart, error) {
	spec, credential := env.Spec.Build, b.credential
	if credential == nil {
		credential = env.BuildCredential
	}
	from := source.New(source.Options{AllowPrivate: os.Getenv(job.VarChartsPrivate) == "1", Log: env.Log,
		Credential: credential})
	if spec.Chart.Repository != "" {
		return from.FromRepository(ctx, spec.Chart.Repository, spec.Chart.Chart, spec.Chart.Version)
	}
	packed, err := env.Vendor.Pull(ctx, spec.Source)
	if err != nil {
		return nil, err
	}
	if packed.Type != artifact.MediaSource {
		return nil, fmt.Errorf("the source is of type %s; this is a bug in the control plane; report it", packed.Type)
	}
	files, err := packed.Files(artifact.Limits{})
	if err != nil {
		return nil, fmt.Errorf("unpack the source: %w", err)
	}
	return from.FromTree(ctx, files, spec.Directory)
}

// logChart logs the chart and its dependencies.
func logChart(log *job.Log, made *source.Chart) {
	from := made.Origin
	if made.Digest != "" {
		from += " (" + made.Digest + ")"
	}
	log.Info("chart %s %s from %s", made.Name, made.Version, from)
	for _, dependency := range made.Dependencies {
		log.Info("%s needs %s", dependency.Parent, dependency)
	}
}

// checkChartSize estimates the size of a release record of this chart, which the API
// server bounds. The effect of values is known only at the plan.
func checkChartSize(ctx context.Context, env *job.Env, made *source.Chart) error {
	loaded, err := helmsdk.LoadChart(made.Files)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, renderTime)
	defer cancel()
	rendered, err := helmsdk.RenderOffline(within, loaded, helmsdk.RenderRequest{Release: "release", Namespace: "default"},
		"",
		nil)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		env.Log.Warn("with its default values alone, and without a cluster, the chart cannot be rendered: %v; a plan does "+
			"it with the values of the install", err)
		rendered = &helmsdk.Rendered{}
	}
	size, err := helmsdk.RecordSize(loaded, nil, rendered)
	if err != nil {
		return fmt.Errorf("estimate the size of the release's record: %w", err)
	}
	switch {
	case size >= helmsdk.MaxRecord:
		return fmt.Errorf(
			"the record of a release of this chart has %s, and a cluster takes at most %s; name in .helmignore what the chart "+
				"does not need, the largest files are %s",
			kib(size), kib(helmsdk.MaxRecord), largestFiles(made.Files))
	case size >= helmsdk.WarnRecord:
		env.Log.Warn("the record of a release of this chart has %s already, and a cluster takes at most %s; name in "+
			".helmignore what the chart does not need, the largest files are %s",
			kib(size), kib(helmsdk.MaxRecord), largestFiles(made.Files))
	default:
		env.Log.Info("the record of a release has about %s of the %s that a cluster takes", kib(size), kib(helmsdk.MaxRecord))
	}
	return nil
}

// kib formats a size for people.
func kib(bytes int) string { return fmt.Sprintf("%d KiB", (bytes+1023)>>10) }

// largestFiles lists the largest files.
func largestFiles(files []artifact.File) string {
	const most = 5
	ordered := slices.Clone(files)
	slices.SortStableFunc(ordered, func(a, b artifact.File) int { return cmp.Compare(len(b.Content), len(a.Content)) })
	var named []string
	for _, file := range ordered[:min(most, len(ordered))] {
		named = append(named, fmt.Sprintf("%.200q (%s)", file.Path, kib(len(file.Content))))
	}
	return strings.Join(named, ", ")
}
