package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// The statuses of a build, with the same values as the table's constraint: queued → running →
// succeeded or failed. The last two are final.
const (
	statusQueued    = "queued"
	statusRunning   = "running"
	statusSucceeded = "succeeded"
	statusFailed    = "failed"
)

// OwnerKind is the owner kind of build jobs in package jobs.
const OwnerKind = "build"

// defaultTimeout bounds the build of a sandbox or of the source of actions, whose config has no field for it.
const defaultTimeout = 30 * time.Minute

// timeoutOf returns how long a build of a component may take.
func timeoutOf(config appconfig.Component) time.Duration {
	if span, err := time.ParseDuration(config.BuildTimeout); err == nil && span > 0 {
		return span
	}
	return defaultTimeout
}

// maxError bounds the stored error text of a runner, in bytes.
const maxError = 16 << 10

var _ jobs.Owner = (*Builder)(nil)

// startJob queues the job of a build for the org's build runner. It returns false if there is none
// yet.
func startJob(
	ctx context.Context, tx *store.Tx, build store.Build, component store.Component, input store.ComponentInput,
	timeout time.Duration,
) (bool, error) {
	spec, recipe, err := buildSpec(tx.Org, build, component, input)
	if err != nil {
		return false, err
	}
	runner, err := tx.BuildRunner(ctx, tx.Org, timing.Online.Seconds())
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	job, err := jobs.Enqueue(ctx, tx, jobs.NewJob{
		Runner: runner.ID, Kind: "build", OwnerKind: OwnerKind, OwnerID: build.ID, Reason: build.Reason,
		Trace: build.Trace, ComponentKind: recipe.Kind,
		Spec: api.JobSpec{
			Kind: api.JobSpecKindBuild, TimeoutSeconds: int(math.Ceil(timeout.Seconds())), Build: spec,
		},
	})
	if err != nil {
		return false, err
	}
	changed, err := tx.SetBuildJob(ctx, &job, tx.Org, build.ID)
	if err == nil && changed == 0 {
		err = fmt.Errorf("build %s has a job already", build.ID)
	}
	return true, err
}

// buildSpec returns the spec that describes the build to a build runner, and the input's recipe.
func buildSpec(
	org string, build store.Build, component store.Component, input store.ComponentInput,
) (spec api.BuildSpec, recipe Recipe, err error) {
	if err := json.Unmarshal(input.Recipe, &recipe); err != nil {
		return spec, recipe, fmt.Errorf("read recipe: %w", err)
	}
	if input.Resolution != nil {
		if err := json.Unmarshal(input.Resolution, &spec.Modules); err != nil {
			return spec, recipe, fmt.Errorf("read resolution: %w", err)
		}
	}
	spec = api.BuildSpec{
		Build: build.ID, Component: component.Name, ComponentKind: recipe.Kind,
		Directory: recipe.Directory, Tree: recipe.SourceDigest(), TerraformVersion: recipe.TerraformVersion,
		Repository: ArtifactRepository(org, component.ID), Modules: spec.Modules,
	}
	if build.SourceDigest != "" {
		spec.Source = api.ArtifactRef{Repository: SourceRepository(org, component.ID), Digest: build.SourceDigest}
	}
	if c := recipe.Chart; c != nil {
		spec.Chart = api.ChartSource{Repository: c.Repository, Chart: c.Name, Version: c.Version}
	}
	if i := recipe.Image; i != nil {
		spec.Image = i.source()
	}
	if d := recipe.Docker; d != nil {
		spec.Docker = api.DockerBuildSpec{Dockerfile: d.Text, Target: d.Target, BuildArgs: d.Args,
			Platforms: d.Platforms, Secrets: d.Secrets}
	}
	if k := recipe.Kustomize; k != nil {
		spec.Kustomize = api.KustomizeSpec{
			Path: recipe.Directory, Patches: append([]string{}, k.Patches...), EnableHelm: k.EnableHelm,
			LoadRestrictor: k.LoadRestrictor,
		}
	}
	return spec, recipe, nil
}

// JobAccepted records that a runner has started a build.
func (b *Builder) JobAccepted(ctx context.Context, tx *store.Tx, job store.Job) error {
	changed, err := tx.SetBuildRunning(ctx, tx.Org, job.OwnerID, &job.ID)
	if err != nil {
		return fmt.Errorf("start build %s: %w", job.OwnerID, err)
	}
	if changed == 0 {
		return jobs.Stale("the build has ended, or has another job")
	}
	return nil
}

// JobEnded records how a build ended and updates the releases that contain it.
func (b *Builder) JobEnded(ctx context.Context, tx *store.Tx, job store.Job, result api.JobResult) error {
	build, err := tx.LockBuild(ctx, tx.Org, job.OwnerID)
	if errors.Is(err, store.ErrNotFound) {
		return nil // the app was deleted
	}
	if err != nil {
		return fmt.Errorf("end build %s: %w", job.OwnerID, err)
	}
	input, err := tx.ComponentInputByID(ctx, tx.Org, build.InputID)
	if err != nil {
		return fmt.Errorf("end build %s: %w", build.ID, err)
	}
	ended := endParams(tx.Org, build, input, result)
	var first *api.ModuleResolution
	if ended.ModulesTool != "" && input.Resolution == nil {
		if first, err = conflictingResolution(ctx, tx, build.ComponentID, result.Build.Modules); err != nil {
			return fmt.Errorf("end build %s: %w", build.ID, err)
		}
	}
	if first != nil {
		ended = store.EndBuildParams{Status: statusFailed, Error: "another first build of the component ended before it " +
			"and has other versions of modules; it is built again with those: " +
			checkUnchanged(*first, result.Build.Modules).Error()}
	}
	ended.OrgID, ended.ID, ended.JobID = tx.Org, build.ID, &job.ID
	changed, err := tx.EndBuild(ctx, ended)
	if err != nil {
		return fmt.Errorf("end build %s: %w", build.ID, err)
	}
	if changed == 0 {
		return nil // it had already ended, or the job is not the build's
	}
	if ended.ModulesTool != "" {
		if err := addModules(ctx, tx, build.ID, result.Build.Modules); err != nil {
			return fmt.Errorf("end build %s: %w", build.ID, err)
		}
	}
	if ended.ModulesTool == image.Tool {
		if err := b.schedule(ctx, tx); err != nil {
			return fmt.Errorf("end build %s: %w", build.ID, err)
		}
	}
	if first != nil && !startedFromModules(job) {
		reason := fmt.Sprintf("build %d has other versions of modules than the build that ended first", build.Number)
		if _, err := rebuild(ctx, tx, build, reason, first); err != nil {
			return fmt.Errorf("build the input of build %s again: %w", build.ID, err)
		}
	}
	if err := updateReleases(ctx, tx, build.InputID); err != nil {
		return fmt.Errorf("end build %s: %w", build.ID, err)
	}
	return nil
}

// startedFromModules reports whether a build's job had a resolution to start from.
func startedFromModules(job store.Job) bool {
	var spec api.JobSpec
	return json.Unmarshal(job.Spec, &spec) != nil || spec.Build.Modules.Tool != ""
}

// updateReleases updates the releases that contain builds of an input, and rolls out those that
// changed.
func updateReleases(ctx context.Context, tx *store.Tx, inputID string) error {
	changed, err := release.BuildEnded(ctx, tx, inputID)
	if err != nil {
		return err
	}
	for _, r := range changed {
		if err := enqueueRollout(ctx, tx, r); err != nil {
			return err
		}
	}
	return nil
}

// endParams returns how a build ended. It checks what the runner reports: an artifact counts only in
// the repository of this build's component, and modules only as checkModules allows.
func endParams(
	org string, build store.Build, input store.ComponentInput, result api.JobResult,
) store.EndBuildParams {
	made := result.Build.Artifact
	trouble := error(nil)
	if result.Status == api.JobResultStatusSucceeded {
		trouble = checkModules(input, result.Build.Modules)
	}
	switch {
	case result.Status != api.JobResultStatusSucceeded:
		return store.EndBuildParams{Status: statusFailed, Error: failureReason(result)}
	case made.Repository != ArtifactRepository(org, build.ComponentID):
		return store.EndBuildParams{
			Status: statusFailed, Error: "the runner pushed the artifact to another repository than the build's; update the " +
				"runner and build again",
		}
	case sha256digest.Check(made.Digest) != nil:
		return store.EndBuildParams{
			Status: statusFailed,
			Error:  "the runner reported no digest of the artifact; update the runner and build again",
		}
	case trouble != nil:
		return store.EndBuildParams{Status: statusFailed, Error: trouble.Error()}
	}
	return store.EndBuildParams{
		Status: statusSucceeded, ArtifactDigest: made.Digest, ArtifactBytes: max(result.Build.Bytes, 0),
		ModulesTool: result.Build.Modules.Tool,
	}
}

func failureReason(result api.JobResult) string {
	words := truncate.Text(strings.ToValidUTF8(strings.ReplaceAll(result.Error, "\x00", ""), "\uFFFD"), maxError)
	if words != "" {
		return words
	}
	switch result.Status {
	case api.JobResultStatusCancelled:
		return "the build was cancelled; retry it to build it"
	case api.JobResultStatusLost:
		return "the runner lost the build's process; retry the build"
	}
	return "the build failed without a reason; see its log"
}

// The refusals of Retry.
var (
	// ErrNotFailed: only a failed build can be retried.
	ErrNotFailed = refusal.New(refusal.Conflict, "not_failed", "the build has not failed",
		"Only a failed build can be retried.")
	// ErrHasBuild: another build of the same input is running or has succeeded.
	ErrHasBuild = refusal.New(refusal.Conflict, "not_failed",
		"the same input has another build that is running or has succeeded", "Only the newest build can be retried.")
)

// Retry builds the input of a failed build again, from the source that was packed for it, and
// returns the id of the new build. Its error wraps store.ErrNotFound, ErrNotFailed or ErrHasBuild.
func (b *Builder) Retry(ctx context.Context, tx *store.Tx, buildID string) (string, error) {
	old, err := tx.LockBuild(ctx, tx.Org, buildID)
	if err != nil {
		return "", fmt.Errorf("retry build %s: %w", buildID, err)
	}
	if old.Status != statusFailed {
		return "", ErrNotFailed.With("build %d is %s", old.Number, old.Status)
	}
	counts, err := tx.BuildOfInput(ctx, tx.Org, old.InputID)
	if err != nil {
		return "", fmt.Errorf("retry build %d: %w", old.Number, err)
	}
	if counts.Status != statusFailed {
		return "", ErrHasBuild.With("build %d", counts.Number)
	}
	again, err := rebuild(ctx, tx, old, fmt.Sprintf("retry of build %d, which failed, was requested", old.Number), nil)
	if err != nil {
		return "", fmt.Errorf("retry build %d: %w", old.Number, err)
	}
	return again, updateReleases(ctx, tx, old.InputID)
}

// rebuild creates another build of a failed build's input. It starts from a resolution of modules, unless that is nil
// or the input has its own.
func rebuild(
	ctx context.Context, tx *store.Tx, old store.Build, reason string, start *api.ModuleResolution,
) (string, error) {
	component, err := tx.ComponentToBuild(ctx, tx.Org, old.ComponentID)
	if err != nil {
		return "", err
	}
	// Builds are numbered under the app's lock.
	if _, err := tx.LockApp(ctx, tx.Org, component.AppID); err != nil {
		return "", err
	}
	input, err := tx.ComponentInputByID(ctx, tx.Org, old.InputID)
	if err == nil && start != nil && input.Resolution == nil {
		input.Resolution, err = json.Marshal(start)
	}
	if err != nil {
		return "", err
	}
	again, err := tx.AddBuild(ctx, store.AddBuildParams{
		OrgID: tx.Org, ID: id.New("bld"), ComponentID: old.ComponentID, InputID: old.InputID,
		Repository: old.Repository,
		Commit:     old.Commit, SourceDigest: old.SourceDigest, SourceBytes: old.SourceBytes, Trace: old.Trace,
		Reason: reason,
	})
	if err != nil {
		return "", err
	}
	app, err := readApp(ctx, tx, component.AppID)
	if err != nil {
		return "", err
	}
	timeout := defaultTimeout
	if config, there := app.config.Component(component.Name); there {
		timeout = timeoutOf(*config)
	}
	_, err = startJob(ctx, tx, again, component, input, timeout)
	return again.ID, err
}
