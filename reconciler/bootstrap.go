package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/devcontract"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/registry"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

type bootstrapOptions struct{ databaseURL, keyFile, org, actor string }

// registryTokenLife is how long a runner's token for the embedded registry is valid.
const registryTokenLife = 90 * 24 * time.Hour

// createBootstrap returns a new admin token of an org, which it creates if it does not exist, and the
// access to the embedded registry.
func createBootstrap(ctx context.Context, o bootstrapOptions) (devcontract.BootstrapCredentials, error) {
	var made devcontract.BootstrapCredentials
	key, err := seal.LoadIdentity(o.keyFile)
	if err != nil {
		return made, err
	}
	s, err := store.Open(ctx, o.databaseURL)
	if err != nil {
		return made, err
	}
	defer s.Close()
	org, err := s.FindOrg(ctx, o.org)
	if errors.Is(err, store.ErrNotFound) {
		org, err = s.AddOrg(ctx, id.New("org"), o.org)
	}
	if err != nil {
		return made, err
	}
	keys, err := s.Tokens(ctx)
	if err != nil {
		return made, err
	}
	plain, hash := keys.Mint(token.Control, org.ID)
	err = s.InTx(ctx, org.ID, func(ctx context.Context, tx *store.Tx) error {
		return addBootstrapToken(ctx, tx, o, hash)
	})
	if err != nil {
		return made, err
	}
	signer, err := registrySigner(key)
	if err != nil {
		return made, err
	}
	made.Org, made.Token = org.Name, plain
	made.Registry.Vendor = registryAccess(signer, devcontract.VendorNamespace, org.ID)
	made.Registry.Install = registryAccess(signer, devcontract.InstallNamespace, org.ID)
	return made, nil
}

// addBootstrapToken creates an admin token and revokes the one with the same name: the operator who runs
// bootstrap already has full access to the org, and a lost token must not stay valid.
func addBootstrapToken(ctx context.Context, tx *store.Tx, o bootstrapOptions, hash []byte) error {
	known, err := tx.ViewToken(ctx, tx.Org, o.actor)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if old := known.Token; err == nil && old.RevokedAt == nil {
		if _, err := tx.RevokeToken(ctx, tx.Org, old.ID); err != nil {
			return fmt.Errorf("revoke the previous token %s: %w", o.actor, err)
		}
		if err := tx.Notify(ctx, store.ChannelTokens, tx.Org+"/"+old.ID); err != nil {
			return err
		}
		if err := tx.Audit(ctx, o.actor, "token.revoke", old.ID, map[string]any{
			"name": old.Name, "why": "bootstrap created another token of this name",
		}); err != nil {
			return err
		}
	}
	made, err := tx.CreateToken(ctx, store.CreateTokenParams{
		OrgID: tx.Org, ID: id.New("tok"), Name: o.actor, Role: "admin", Hash: hash, CreatedBy: "bootstrap",
	})
	if err != nil {
		return fmt.Errorf("create an admin token: %w", err)
	}
	return tx.Audit(ctx, o.actor, "token.create", made.ID, map[string]any{"name": made.Name, "role": made.Role})
}

// registryAccess returns a token for an org's part of one namespace.
func registryAccess(signer registry.Signer, namespace, org string) devcontract.RegistryAccess {
	expires := time.Now().Add(registryTokenLife)
	return devcontract.RegistryAccess{
		Prefix: namespace, Username: "nuon", Expires: expires,
		Password: signer.Issue(namespace+"/"+org, []string{"pull", "push"}, expires),
	}
}

// registrySigner signs the embedded registry's tokens with a key derived from the control plane's
// own.
func registrySigner(key seal.Identity) (registry.Signer, error) {
	return registry.NewSigner(key.Derive("embedded registry").Reveal())
}
