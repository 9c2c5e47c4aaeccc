package control

import (
	"context"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/installsecrets"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// ListInstallSecrets implements GET /v1/installs/{install}/secrets.
func (s *Server) ListInstallSecrets(
	ctx context.Context, r ListInstallSecretsRequestObject,
) (ListInstallSecretsResponseObject, error) {
	var list api.InstallSecretList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, _, err := findInstall(ctx, tx, r.Install)
		if err != nil {
			return err
		}
		list, err = viewInstallSecrets(ctx, tx, install)
		return err
	})
	return ListInstallSecrets200JSONResponse(list), err
}

// CheckInstallSecrets implements POST /v1/installs/{install}/secrets.
func (s *Server) CheckInstallSecrets(
	ctx context.Context, r CheckInstallSecretsRequestObject,
) (CheckInstallSecretsResponseObject, error) {
	var list api.InstallSecretList
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		install, _, err := findInstall(ctx, tx, r.Install)
		if err != nil {
			return err
		}
		if list, err = viewInstallSecrets(ctx, tx, install); err != nil {
			return err
		}
		if err := tx.Audit(ctx, callerOf(ctx).actor, "install.check_secrets", install.ID, nil); err != nil {
			return err
		}
		return installsecrets.RequestCheck(ctx, tx, install.ID)
	})
	return CheckInstallSecrets200JSONResponse(list), err
}

// viewInstallSecrets returns the secrets that the release of an install declares, with what its runner reported of
// each.
func viewInstallSecrets(ctx context.Context, tx *store.Tx, install store.Install) (api.InstallSecretList, error) {
	list := api.InstallSecretList{Items: []api.InstallSecret{}}
	config, err := rollout.ReleaseConfig(ctx, tx, install)
	if err != nil || config == nil {
		return list, err
	}
	reports, checked, err := installsecrets.Stored(ctx, tx, install.ID)
	if err != nil {
		return list, err
	}
	if checked != nil {
		list.CheckedAt = *checked
	}
	for i := range config.Secrets {
		secret := &config.Secrets[i]
		view := api.InstallSecret{Name: secret.Name, Description: secret.Description, Source: sourceOf(secret),
			State: api.InstallSecretStateUnknown}
		at := slices.IndexFunc(reports, func(r installsecrets.Report) bool { return r.Name == secret.Name })
		if at >= 0 {
			r := reports[at]
			view.State, view.Version, view.Since = api.InstallSecretState(r.State), r.Version, r.Since
			view.Location, view.Problem, view.Copied, view.Copies = r.Location, r.Problem, r.Copied, r.Copies
		}
		list.Items = append(list.Items, view)
	}
	return list, nil
}

// sourceOf returns who provides the value of a secret.
func sourceOf(secret *appconfig.Secret) api.InstallSecretSource {
	switch {
	case secret.Address != "":
		return api.InstallSecretSourceOutput
	case secret.AutoGenerate:
		return api.InstallSecretSourceGenerated
	}
	return api.InstallSecretSourceCustomer
}
