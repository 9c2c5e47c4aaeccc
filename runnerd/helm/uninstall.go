package helm

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

// UninstallRequest removes a release.
type UninstallRequest struct {
	Release string
	// Decision is that of Decide with Destroy. What it heals must be healed already.
	Decision Decision
	Owner    Owner
	// Timeout bounds each hook, and the wait for the objects to be gone; ctx bounds all.
	Timeout time.Duration
}

// Uninstalled says what an uninstallation did.
type Uninstalled struct {
	// Gone are the objects of the release that are not there any more.
	Gone []api.ObjectRef
	// Kept are those that stay, because their annotation helm.sh/resource-policy says so.
	Kept []api.ObjectRef
}

// Uninstall runs the hooks, deletes the objects, waits until they are gone, and removes the records. What is gone already is fine.
func (c *Client) Uninstall(ctx context.Context, request UninstallRequest) (Uninstalled, error) {
	if request.Decision.Action != ActionUninstall {
		return Uninstalled{}, nil
	}
	if err := request.Owner.check(); err != nil {
		return Uninstalled{}, err
	}
	history, err := c.History(ctx, request.Release)
	if err != nil || len(history) == 0 {
		return Uninstalled{}, err
	}
	kept, end := lasting(ctx)
	defer end()
	newest := history[len(history)-1].Revision
	d, config, err := c.configure(ctx, kept, request.Release, request.Decision, planned{owner: request.Owner, revision: newest, uninstalls: true})
	if err != nil {
		return Uninstalled{}, err
	}
	d.waitAtMost = request.Timeout
	uninstall := action.NewUninstall(config)
	uninstall.Wait, uninstall.Timeout, uninstall.DeletionPropagation = true, request.Timeout, "background"
	_, err = uninstall.Run(request.Release)
	if len(d.errors) > 0 {
		err = errors.Join(d.errors...) // the SDK only says that there were some
	}
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return Uninstalled{}, fmt.Errorf("uninstall the release %s: %w", request.Release, explain(ctx, single(err)))
	}
	return d.remaining()
}

// remaining looks at what is left of what stood.
func (d *delivery) remaining() (Uninstalled, error) {
	var made Uninstalled
	for _, o := range d.standing {
		live, err := get(o)
		switch {
		case err != nil:
			return made, fmt.Errorf("look for %s: %w", cluster.Name(ref(o)), explain(d.ctx, err))
		case live == nil:
			made.Gone = append(made.Gone, ref(o))
		case hasPolicy(o.Object) || keeps(live):
			made.Kept = append(made.Kept, ref(o))
		}
	}
	return made, nil
}

// AskUninstall says what Uninstall would do to each object (delete, keep, none when it is gone already), and what the server says to it, as Ask does; then
// comes what it says to the hooks.
func (c *Client) AskUninstall(ctx context.Context, request UninstallRequest) ([]Answer, error) {
	if request.Decision.Action != ActionUninstall {
		return nil, nil
	}
	a, err := c.asking(ctx, request.Release, request.Decision)
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
	work := make([]func() []Answer, len(a.standing))
	for i, o := range a.standing {
		work[i] = func() []Answer { return []Answer{a.removal(o, newest)} }
	}
	answers := a.all(work)
	return append(answers, a.hooks(last.Hooks)...), context.Cause(ctx)
}

// removal asks about one object when the release is uninstalled. Of those of the newest revision the manifest says whether they are kept, of those
// that older ones left the object itself too.
func (a *asking) removal(o *resource.Info, newest kube.ResourceList) Answer {
	answer := Answer{Ref: ref(o), Change: ChangeNone}
	live, err := get(o)
	if err != nil {
		return a.refused(answer, err)
	}
	if live == nil {
		return answer
	}
	answer.Live = encode(live)
	own := newest.Get(o)
	switch {
	case own != nil && hasPolicy(own.Object), own == nil && (keeps(live) || hasPolicy(o.Object)):
		answer.Change = ChangeKeep
		return answer
	case own == nil && !a.owns(live), !a.mayDelete(o, live):
		return answer
	}
	answer.Change = ChangeDelete
	if _, errs := a.Client.DeleteWithPropagationPolicy(kube.ResourceList{o}, metav1.DeletePropagationBackground); len(errs) > 0 {
		return a.refused(answer, errs[0])
	}
	return answer
}
