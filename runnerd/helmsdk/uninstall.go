package helmsdk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

// UninstallRequest describes the removal of a release.
type UninstallRequest struct {
	Release string
	// Decision is the result of Decide with Destroy. Its revisions must be healed already.
	Decision Decision
	Owner    Owner
	// Timeout bounds each hook, and the wait for the deletion of the objects; ctx
	// bounds everything.
	Timeout time.Duration
}

// UninstallResult is the result of an uninstallation.
type UninstallResult struct {
	// Deleted are the objects of the release that no longer exist.
	Deleted []api.ObjectRef
	// Kept are those that stay because of their annotation helm.sh/resource-policy.
	Kept []api.ObjectRef
}

// Uninstall runs the hooks, deletes the objects, waits until they are deleted, and
// removes the records. Objects that do not exist are no error.
func (c *Client) Uninstall(ctx context.Context, request UninstallRequest) (UninstallResult, error) {
	if request.Decision.Action != ActionUninstall {
		return UninstallResult{}, nil
	}
	if err := request.Owner.check(); err != nil {
		return UninstallResult{}, err
	}
	history, err := c.History(ctx, request.Release)
	if err != nil || len(history) == 0 {
		return UninstallResult{}, err
	}
	kept, end := withGrace(ctx)
	defer end()
	newest := history[len(history)-1].Revision
	d, config, err := c.configure(ctx, kept, request.Release, request.Decision,
		plannedRecord{owner: request.Owner, revision: newest, uninstalls: true})
	if err != nil {
		return UninstallResult{}, err
	}
	d.waitTimeout = request.Timeout
	uninstall := action.NewUninstall(config)
	uninstall.Wait, uninstall.Timeout, uninstall.DeletionPropagation = true, request.Timeout, "background"
	_, err = uninstall.Run(request.Release)
	if len(d.errors) > 0 {
		err = errors.Join(d.errors...) // the SDK only reports that there were some
	}
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return UninstallResult{}, fmt.Errorf("uninstall the release %s: %w", request.Release, explain(ctx, unwrapSingle(err)))
	}
	return d.remaining()
}

// remaining reads which of the standing objects are left.
func (d *releaseClient) remaining() (UninstallResult, error) {
	var made UninstallResult
	for _, o := range d.existing {
		live, err := get(o)
		switch {
		case err != nil:
			return made, fmt.Errorf("look for %s: %w", cluster.DisplayName(ref(o)), explain(d.ctx, err))
		case live == nil:
			made.Deleted = append(made.Deleted, ref(o))
		case hasPolicy(o.Object) || hasKeepPolicy(live):
			made.Kept = append(made.Kept, ref(o))
		}
	}
	return made, nil
}

// DryRunUninstall returns what Uninstall would do to each object (delete, keep, none if
// it does not exist), with the server's response to a dry run, as DryRun does, followed
// by the responses for the hooks.
func (c *Client) DryRunUninstall(ctx context.Context, request UninstallRequest) ([]DryRunResult, error) {
	if request.Decision.Action != ActionUninstall {
		return nil, nil
	}
	a, err := c.newDryRunner(ctx, request.Release, request.Decision)
	if err != nil {
		return nil, err
	}
	a.rendered = &Rendered{}
	history, err := c.History(ctx, request.Release)
	if err != nil || len(history) == 0 {
		return nil, err
	}
	last := history[len(history)-1]
	newest, err := a.Build(strings.NewReader(last.Manifest), false)
	if err != nil {
		return nil, fmt.Errorf("read the objects of the release %s: %s; its record is damaged", request.Release, bounded(err))
	}
	work := make([]func() []DryRunResult, len(a.existing))
	for i, o := range a.existing {
		work[i] = func() []DryRunResult { return []DryRunResult{a.dryRunUninstall(o, newest)} }
	}
	answers := a.runAll(work)
	return append(answers, a.dryRunHooks(last.Hooks)...), context.Cause(ctx)
}

// dryRunUninstall dry-runs the removal of one object at an uninstallation. For an object of
// the newest revision the manifest decides whether it is kept, for one left by older
// revisions the live object, too.
func (r *dryRunner) dryRunUninstall(o *resource.Info, newest kube.ResourceList) DryRunResult {
	answer := DryRunResult{Ref: ref(o), Change: ChangeNone}
	live, err := get(o)
	if err != nil {
		return r.withRejection(answer, err)
	}
	if live == nil {
		return answer
	}
	answer.Live = encode(live)
	own := newest.Get(o)
	switch {
	case own != nil && hasPolicy(own.Object), own == nil && (hasKeepPolicy(live) || hasPolicy(o.Object)):
		answer.Change = ChangeKeep
		return answer
	case own == nil && !r.owns(live), !r.mayDelete(o, live):
		return answer
	}
	answer.Change = ChangeDelete
	if _, errs := r.Client.DeleteWithPropagationPolicy(kube.ResourceList{o},
		metav1.DeletePropagationBackground); len(errs) > 0 {
		return r.withRejection(answer, errs[0])
	}
	return answer
}
