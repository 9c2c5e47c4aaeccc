package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// registryLogin returns how a build logs in to the registry of its image, as the app's config states now: as
// whom, and the secret of an application of Azure, sealed. It is zero for an image that needs no login.
func (m *ModuleCredentials) registryLogin(
	ctx context.Context, tx *store.Tx, attempt jobs.Attempt, address string, to seal.Recipient, use seal.Context,
) (found api.ModuleCredential, err error) {
	if attempt.Job.ComponentKind != appconfig.KindContainerImage {
		return found, nil
	}
	app, config, err := imageOfJob(ctx, tx, attempt.Job)
	if err != nil || config == nil {
		return found, err
	}
	repository, _, _ := config.Address()
	if named, err := image.ParseRepository(repository); err != nil || image.CredentialAddress(named) != address {
		return found, nil //nolint:nilerr // another image than that of the build
	}
	switch {
	case config.AWSECR != nil:
		found.Login = api.RegistryLogin{Cloud: api.RegistryLoginCloudAws, Role: config.AWSECR.IAMRoleARN, ExternalID: tx.Org}
	case config.GCPGAR != nil:
		found.Login = api.RegistryLogin{Cloud: api.RegistryLoginCloudGcp, ServiceAccount: config.GCPGAR.ServiceAccountEmail,
			WorkloadIdentityProvider: config.GCPGAR.WorkloadIdentityProvider}
	case config.AzureACR != nil:
		return m.azureLogin(ctx, tx, attempt, app, *config.AzureACR, to, use)
	}
	return found, nil
}

// imageOfJob returns the app of a build or a refresh, and the image of its component as the app's config has it now;
// nil if it has none.
func imageOfJob(ctx context.Context, tx *store.Tx, job store.Job) (store.App, *appconfig.Image, error) {
	appID, err := appOfJob(ctx, tx, job)
	if errors.Is(err, store.ErrNotFound) {
		return store.App{}, nil, nil // the app was deleted
	}
	if err != nil {
		return store.App{}, nil, err
	}
	app, err := tx.AppByID(ctx, tx.Org, appID)
	if err != nil || app.VersionID == nil {
		return app, nil, err
	}
	version, err := tx.AppVersionByID(ctx, tx.Org, *app.VersionID)
	if err != nil {
		return app, nil, err
	}
	var config appconfig.App
	var spec api.JobSpec
	if err := errors.Join(json.Unmarshal(version.Config, &config), json.Unmarshal(job.Spec, &spec)); err != nil {
		return app, nil, fmt.Errorf("read the config of app %s: %w", app.Name, err)
	}
	component, there := config.Component(spec.Build.Component)
	if !there {
		return app, nil, nil
	}
	return app, component.Image, nil
}

// appOfJob returns the id of the app that a build or a refresh belongs to.
func appOfJob(ctx context.Context, tx *store.Tx, job store.Job) (string, error) {
	if job.OwnerKind == RefreshOwnerKind {
		found, err := tx.RefreshOfComponent(ctx, tx.Org, job.OwnerID)
		return found.ModuleRefresh.AppID, err
	}
	build, err := tx.LockBuild(ctx, tx.Org, job.OwnerID)
	if err != nil {
		return "", err
	}
	component, err := tx.ComponentToBuild(ctx, tx.Org, build.ComponentID)
	return component.AppID, err
}

// azureLogin returns the login of the application that a config names by variables of the app, or of the build
// runner's own identity if it names none.
func (m *ModuleCredentials) azureLogin(
	ctx context.Context, tx *store.Tx, attempt jobs.Attempt, app store.App, config format.ACRImage, to seal.Recipient,
	use seal.Context,
) (found api.ModuleCredential, err error) {
	found.Login.Cloud = api.RegistryLoginCloudAzure
	if config.ClientID == "" {
		return found, nil
	}
	rows, err := tx.ViewAppVariables(ctx, tx.Org, app.ID)
	if err != nil {
		return found, err
	}
	variables := map[string]store.AppVariable{}
	for _, row := range rows {
		variables[row.Name] = row
	}
	value := func(name string) (secret seal.Secret, err error) {
		row, has := variables[name]
		switch {
		case !has:
			return secret, refusal.New(refusal.Conflict, "missing_variable",
				fmt.Sprintf("app %s has no variable %s, with which its build logs in to %s", app.Name, name, config.RegistryURL),
				fmt.Sprintf("Set it: nuon apps variables set %s --sensitive %s", app.Name, name))
		case row.Sealed == nil:
			return seal.NewSecret([]byte(*row.Value)), nil
		}
		var sealed seal.Sealed
		if err := json.Unmarshal(row.Sealed, &sealed); err != nil {
			return secret, fmt.Errorf("read variable %s: %w", name, err)
		}
		return m.key.Open(sealed, seal.AppVariableContext(tx.Org, app.ID, name))
	}
	tenant, err := value(config.TenantID)
	if err != nil {
		return found, err
	}
	client, err := value(config.ClientID)
	if err != nil {
		return found, err
	}
	name := config.ClientSecretName
	if config.ClientCertificateName != "" {
		name, found.Login.Certificate = config.ClientCertificateName, true
	}
	secret, err := value(name)
	if err != nil {
		return found, err
	}
	sealed, err := to.Seal(use, secret.Reveal())
	if err != nil {
		return found, fmt.Errorf("seal variable %s: %w", name, err)
	}
	found.Login.Tenant, found.Login.Client, found.Secret = string(tenant.Reveal()), string(client.Reveal()), &sealed
	return found, recordUse(ctx, tx, attempt, app.ID, map[string]any{"variable": name, "address": config.RegistryURL})
}
