package control

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/phonehome"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/stackoutputs"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// stackOutputsWord names stack outputs in messages about their change.
const stackOutputsWord = "the stack outputs"

// GetStackOutputs implements GET /v1/installs/{install}/stack-outputs.
func (s *Server) GetStackOutputs(
	ctx context.Context, r GetStackOutputsRequestObject,
) (GetStackOutputsResponseObject, error) {
	var view api.StackOutputs
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, _, err := findInstall(ctx, tx, r.Install)
		if err != nil {
			return err
		}
		if r.Params.Version == 0 {
			view, err = currentStackOutputs(ctx, tx, install)
			return err
		}
		row, err := stackOutputsVersion(ctx, tx, install, r.Params.Version)
		if err != nil {
			return err
		}
		outputs, err := stackoutputs.Decode(row)
		view = viewStackOutputs(row, outputs)
		return err
	})
	return GetStackOutputs200JSONResponse(view), err
}

func stackOutputsVersion(
	ctx context.Context, tx *store.Tx, install store.Install, version int,
) (store.StackOutput, error) {
	err := store.ErrNotFound
	var row store.StackOutput
	if version > 0 && version <= math.MaxInt32 {
		row, err = tx.ViewStackOutputs(ctx, tx.Org, install.ID, int32(version))
	}
	if isNotFound(err) {
		err = problem.New(http.StatusNotFound, "not_found",
			fmt.Sprintf("the stack outputs of install %s have no version %d", install.Name, version),
			"Use one that `nuon installs stack history` lists.")
	}
	return row, err
}

// currentStackOutputs returns the newest version, and the outputs that the templates of the install's release read and
// that are not set.
func currentStackOutputs(ctx context.Context, tx *store.Tx, install store.Install) (api.StackOutputs, error) {
	row, outputs, err := stackoutputs.Current(ctx, tx, install.ID)
	if err != nil {
		return api.StackOutputs{}, err
	}
	config, err := rollout.ReleaseConfig(ctx, tx, install)
	if err != nil {
		return api.StackOutputs{}, err
	}
	view := viewStackOutputs(row, outputs)
	if view.PhoneHome, err = phonehome.Last(ctx, tx, install.ID); err != nil {
		return view, err
	}
	read := config.StackOutputsRead()
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if _, set := outputs[name]; !set {
			view.Missing = append(view.Missing, api.MissingValue{Name: name, Readers: read[name]})
		}
	}
	return view, nil
}

func viewStackOutputs(row store.StackOutput, outputs stackoutputs.Outputs) api.StackOutputs {
	view := api.StackOutputs{
		Version: int(row.Version), Source: api.StackSource(row.Source), StackVersion: row.StackVersion,
		Actor: row.Actor, Changed: row.Changed, CreatedAt: row.CreatedAt, Outputs: []api.StackOutput{},
	}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		o := outputs[name]
		view.Outputs = append(view.Outputs, api.StackOutput{
			Name: name, Value: o.Value, Source: api.StackSource(o.Source), Reported: o.Reported,
		})
	}
	return view
}

// ListStackOutputVersions implements GET /v1/installs/{install}/stack-outputs/versions.
func (s *Server) ListStackOutputVersions(
	ctx context.Context, r ListStackOutputVersionsRequestObject,
) (ListStackOutputVersionsResponseObject, error) {
	var list api.StackOutputVersionList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, _, err := findInstall(ctx, tx, r.Install)
		if err != nil {
			return err
		}
		most := page(r.Params.Limit)
		rows, err := tx.ViewStackOutputVersions(ctx, store.ViewStackOutputVersionsParams{
			OrgID: tx.Org, InstallID: install.ID, Before: beforeNumber(r.Params.Cursor), Most: most,
		})
		rows, list.Next = paged(rows, most, func(v store.ViewStackOutputVersionsRow) string {
			return strconv.Itoa(int(v.Version))
		})
		list.Items = each(rows, func(v store.ViewStackOutputVersionsRow) api.StackOutputVersion {
			return api.StackOutputVersion{
				Version: int(v.Version), Source: api.StackSource(v.Source), StackVersion: v.StackVersion, Actor: v.Actor,
				Changed: v.Changed, CreatedAt: v.CreatedAt,
			}
		})
		return err
	})
	return ListStackOutputVersions200JSONResponse(list), err
}

// SetStackOutputs implements POST /v1/installs/{install}/stack-outputs. A dry run does the same in a transaction that
// only reads.
func (s *Server) SetStackOutputs(
	ctx context.Context, r SetStackOutputsRequestObject,
) (SetStackOutputsResponseObject, error) {
	change, marked, err := manualChange(*r.Body)
	if err != nil {
		return nil, err
	}
	var result api.ChangedStackOutputs
	var id string
	in := s.change
	if r.Body.DryRun {
		in = s.read
	}
	err = in(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, _, err := findInstall(ctx, tx, r.Install)
		if err != nil {
			return err
		}
		if id = install.ID; !r.Body.DryRun {
			if install, err = tx.LockInstall(ctx, tx.Org, install.ID); err != nil {
				return err
			}
		}
		if result, err = previewStackOutputs(ctx, tx, install, change, marked); err != nil || r.Body.DryRun {
			return err
		}
		return recordStackOutputs(ctx, tx, install, change, &result)
	})
	if err != nil {
		return nil, err
	}
	if result.DryRun = r.Body.DryRun; !r.Body.DryRun {
		logContinueError(ctx, s.services.Rollout.Reconcile(ctx, callerOf(ctx).org.ID, id))
	}
	return SetStackOutputs200JSONResponse(result), nil
}

// manualChange converts a request. marked are the outputs that it marks as sensitive.
func manualChange(body api.StackOutputsChange) (c stackoutputs.Change, marked []string, err error) {
	c = stackoutputs.Change{
		Source: stackoutputs.Manual, StackVersion: body.StackVersion, Set: map[string]json.RawMessage{},
		Unset: body.Unset,
	}
	for _, o := range body.Set {
		if _, twice := c.Set[o.Name]; twice {
			return c, nil, problem.New(http.StatusUnprocessableEntity, "bad_stack_outputs",
				"stack output "+quoted(o.Name)+" is set twice", "Set it once.")
		}
		if c.Set[o.Name] = o.Value; o.Sensitive {
			marked = append(marked, o.Name)
		}
	}
	if len(c.Set)+len(c.Unset) == 0 && c.StackVersion == "" {
		return c, nil, problem.New(http.StatusUnprocessableEntity, "bad_stack_outputs", "no change is given",
			"Name outputs to set or unset.")
	}
	return c, marked, nil
}

// previewStackOutputs checks a change, and returns what would change and what would follow.
func previewStackOutputs(
	ctx context.Context, tx *store.Tx, install store.Install, change stackoutputs.Change, marked []string,
) (api.ChangedStackOutputs, error) {
	result := api.ChangedStackOutputs{Changes: []api.ChangedStackOutput{}}
	configs, err := rollout.StackConfigs(ctx, tx, install)
	if err != nil {
		return result, err
	}
	if result.Warnings, err = stackoutputs.Check(change, marked, configs...); err != nil {
		return result, err
	}
	row, current, err := stackoutputs.Current(ctx, tx, install.ID)
	if err != nil {
		return result, err
	}
	merged, err := stackoutputs.Merge(current, change)
	if err != nil {
		return result, err
	}
	for _, m := range merged.Moves {
		result.Changes = append(result.Changes, api.ChangedStackOutput{Name: m.Name, From: m.From, To: m.To})
	}
	effects, err := rollout.Preview(ctx, tx, install, rollout.InstallChange{
		Install: install, StackOutputs: merged.Outputs.Values(),
	})
	result.Components = each(effects, previewedEffect)
	result.Outputs = viewStackOutputs(row, merged.Outputs)
	return result, err
}

// recordStackOutputs stores a change that previewStackOutputs accepted.
func recordStackOutputs(
	ctx context.Context, tx *store.Tx, install store.Install, change stackoutputs.Change, result *api.ChangedStackOutputs,
) error {
	row, merged, err := stackoutputs.Record(ctx, tx, install.ID, callerOf(ctx).actor, change)
	if err != nil {
		return err
	}
	result.Outputs = viewStackOutputs(row, merged.Outputs)
	if !merged.Stored {
		return nil
	}
	if err := tx.Audit(ctx, callerOf(ctx).actor, "install.stack_outputs", install.ID, map[string]any{
		"version": row.Version, "source": row.Source, "changed": row.Changed, "stack_version": row.StackVersion,
	}); err != nil {
		return err
	}
	if err := rollout.RecordInstallChange(ctx, tx, install.ID, callerOf(ctx).actor, stackOutputsWord); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: install.ID})
}

// ForgetStack implements POST /v1/installs/{install}/stack/forget.
func (s *Server) ForgetStack(ctx context.Context, r ForgetStackRequestObject) (ForgetStackResponseObject, error) {
	if err := checkReason(r.Body.Reason); err != nil {
		return nil, err
	}
	var view api.StackOutputs
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, _, err := findInstall(ctx, tx, r.Install)
		if err != nil {
			return err
		}
		if install, err = tx.LockInstall(ctx, tx.Org, install.ID); err != nil {
			return err
		}
		actor := callerOf(ctx).actor
		if err := s.services.PhoneHome.Forget(ctx, tx, install, actor, r.Body.Reason); err != nil {
			return err
		}
		if err := rollout.RecordInstallChange(ctx, tx, install.ID, actor, stackOutputsWord); err != nil {
			return err
		}
		view, err = currentStackOutputs(ctx, tx, install)
		return err
	})
	return ForgetStack200JSONResponse(view), err
}
