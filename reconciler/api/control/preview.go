package control

import (
	"context"
	"path"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/inputs"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// PreviewApp implements POST /v1/apps/{app}/preview.
func (s *Server) PreviewApp(ctx context.Context, r PreviewAppRequestObject) (PreviewAppResponseObject, error) {
	var app store.App
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		app, err = findApp(ctx, tx, r.App)
		return err
	})
	if err != nil {
		return nil, err
	}
	preview, err := s.services.Preview.App(ctx, callerOf(ctx).org.ID, app.ID, path.Clean(r.Params.Directory), r.Body)
	return PreviewApp200JSONResponse(preview), err
}

// PreviewInstall implements POST /v1/installs/{install}/preview. It refuses what the change itself
// would refuse.
func (s *Server) PreviewInstall(
	ctx context.Context, r PreviewInstallRequestObject,
) (PreviewInstallResponseObject, error) {
	preview := api.InstallPreview{Components: []api.PreviewedEffect{}}
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, _, err := findInstall(ctx, tx, r.Install)
		if err != nil {
			return err
		}
		effects, err := previewInstall(ctx, tx, row, *r.Body)
		preview.Components = each(effects, previewedEffect)
		return err
	})
	return PreviewInstall200JSONResponse(preview), err
}

func previewedEffect(e rollout.ComponentEffect) api.PreviewedEffect {
	return api.PreviewedEffect{Name: e.Component, Effect: api.PreviewedEffectEffect(e.Effect), Reason: e.Reason}
}

func previewInstall(
	ctx context.Context, tx *store.Tx, row store.Install, c api.InstallChange,
) ([]rollout.ComponentEffect, error) {
	config, err := declared(ctx, tx, row)
	if err != nil {
		return nil, err
	}
	as, err := changed(row, config, c)
	if err != nil {
		return nil, err
	}
	by := orElse(string(c.By), string(api.InstallManagedByManual))
	if err := mayNameAccount(callerOf(ctx), row, as, by); err != nil {
		return nil, err
	}
	given := inputs.MarkEntered(config, c.Inputs)
	if len(given) > 0 {
		kept, err := tx.InputsOfInstalls(ctx, tx.Org, []string{row.ID})
		if err != nil {
			return nil, err
		}
		if err := inputs.Check(config, kept, given); err != nil {
			return nil, err
		}
	}
	runner, err := tx.ViewRunner(ctx, tx.Org, row.RunnerID)
	if err != nil {
		return nil, err
	}
	imagined, err := inputs.DryRunValues(runner, given)
	if err != nil {
		return nil, err
	}
	effects, err := rollout.Preview(ctx, tx, row, rollout.InstallChange{Install: as, Inputs: imagined})
	return effects, err
}
