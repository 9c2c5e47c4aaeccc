package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// GetSealingKey implements GET /v1/sealing-key.
func (s *Server) GetSealingKey(ctx context.Context, r GetSealingKeyRequestObject) (GetSealingKeyResponseObject, error) {
	to, holder := s.key.Recipient(), api.SealingKeyHolderServer
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		runner, err := sealingRunner(ctx, tx, r.Params)
		if err != nil || runner.Recipient == "" {
			return err
		}
		to, err = seal.ParseRecipient(runner.Recipient)
		holder = api.SealingKeyHolderRunner
		return err
	})
	if err != nil {
		return nil, err
	}
	key := api.SealingKey{Recipient: to.String(), KeyID: to.KeyID(), Org: callerOf(ctx).org.ID, Holder: holder}
	return GetSealingKey200JSONResponse(key), nil
}

// sealingRunner returns the runner whose key a request asks for; none for the control plane's own
// key.
func sealingRunner(ctx context.Context, tx *store.Tx, p api.GetSealingKeyParams) (store.Runner, error) {
	switch {
	case p.Install != "":
		install, _, err := findInstall(ctx, tx, p.Install)
		if err != nil {
			return store.Runner{}, err
		}
		return tx.ViewRunner(ctx, tx.Org, install.RunnerID)
	case p.Runner != "" || p.Shared:
		runner, found, err := existingRunner(ctx, tx, p.Runner)
		if err != nil || !found {
			return store.Runner{}, err
		}
		return runner, nil
	}
	return store.Runner{}, nil
}

// sealFor seals a value to the control plane's own key, for storage.
func (s *Server) sealFor(context seal.Context, plain []byte) ([]byte, error) {
	sealed, err := s.key.Recipient().Seal(context, plain)
	if err != nil {
		return nil, fmt.Errorf("seal the %s: %w", context.Kind, err)
	}
	return json.Marshal(sealed)
}

// ListCredentials implements GET /v1/credentials.
func (s *Server) ListCredentials(
	ctx context.Context, _ ListCredentialsRequestObject,
) (ListCredentialsResponseObject, error) {
	var list api.CredentialList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ViewCredentials(ctx, tx.Org)
		list.Items = each(rows, viewCredential)
		return err
	})
	return ListCredentials200JSONResponse(list), err
}

// usernameLength is the maximum number of bytes of a credential's user name.
const usernameLength = 255

// CreateCredential implements POST /v1/credentials.
func (s *Server) CreateCredential(
	ctx context.Context, r CreateCredentialRequestObject,
) (CreateCredentialResponseObject, error) {
	n := *r.Body
	if !appName.MatchString(n.Name) {
		return nil, badName("a credential", n.Name)
	}
	if err := notLikeID("a credential", "crd", n.Name); err != nil {
		return nil, err
	}
	if len(n.Username) > usernameLength ||
		strings.ContainsFunc(n.Username, func(r rune) bool { return r == ':' || unicode.IsControl(r) }) {
		return nil, problem.New(http.StatusUnprocessableEntity, "bad_name",
			"the user name cannot be sent to a git server",
			fmt.Sprintf("Use at most %d bytes, without : and control characters.", usernameLength))
	}
	org, row := callerOf(ctx).org.ID, id.New("crd")
	password, err := s.key.Open(n.Password, seal.CredentialContext(org, n.Name))
	if err != nil {
		return nil, problem.Error{
			Status: http.StatusUnprocessableEntity, Code: "wrong_key",
			Title: "the password is not sealed to this control plane's key, for this credential",
			Detail: "Seal it to the key of GET /v1/sealing-key, for the credential's org and name, as the nuon " +
				"command does so.",
		}
	}
	repositories, err := changeRepositories(nil, n.Repositories, nil)
	if err != nil {
		return nil, err
	}
	modules, err := build.ChangeModules(nil, n.Modules, nil)
	if err != nil {
		return nil, err
	}
	sealed, err := s.sealFor(seal.Context{Org: org, Kind: seal.KindCredential, Component: row}, password.Reveal())
	if err != nil {
		return nil, err
	}
	var made store.Credential
	err = s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		made, err = tx.AddCredential(ctx, store.AddCredentialParams{
			OrgID: tx.Org, ID: row, Name: n.Name, Username: orElse(n.Username, "git"), Sealed: sealed,
			Repositories: repositories, Modules: modules,
		})
		if _, taken := store.IsUniqueViolation(err); taken {
			return problem.Error{
				Status: http.StatusConflict, Code: "exists",
				Title: "credential " + quoted(n.Name) + " already exists",
			}
		}
		if err != nil {
			return fmt.Errorf("store credential %s: %w", n.Name, err)
		}
		return tx.Audit(ctx, callerOf(ctx).actor, "credential.create", made.ID, map[string]any{
			"name": made.Name, "repositories": repositories, "modules": modules,
		})
	})
	return CreateCredential201JSONResponse(viewCredential(made)), err
}

// UpdateCredential implements PATCH /v1/credentials/{credential}.
func (s *Server) UpdateCredential(
	ctx context.Context, r UpdateCredentialRequestObject,
) (UpdateCredentialResponseObject, error) {
	var row store.Credential
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if row, err = tx.TakeCredential(ctx, tx.Org, r.Credential); err != nil {
			return named("credential", r.Credential, err)
		}
		before := row.Repositories
		if row.Repositories, err = changeRepositories(
			before, r.Body.AddRepositories, r.Body.RemoveRepositories,
		); err != nil {
			return err
		}
		if err := fenced(tx.SetCredentialRepositories(ctx, row.Repositories, tx.Org, row.ID)); err != nil {
			return fmt.Errorf("update credential %s: %w", row.Name, err)
		}
		modules := row.Modules
		if row.Modules, err = build.ChangeModules(modules, r.Body.AddModules, r.Body.RemoveModules); err != nil {
			return err
		}
		if err := fenced(tx.SetCredentialModules(ctx, row.Modules, tx.Org, row.ID)); err != nil {
			return fmt.Errorf("update credential %s: %w", row.Name, err)
		}
		if err := tx.MakeWatchesOfCredentialDue(ctx, tx.Org, row.ID); err != nil {
			return fmt.Errorf("update credential %s: %w", row.Name, err)
		}
		return tx.Audit(ctx, callerOf(ctx).actor, "credential.update", row.ID,
			map[string]any{"name": row.Name, "before": before, "after": row.Repositories,
				"modules_before": modules, "modules_after": row.Modules})
	})
	return UpdateCredential200JSONResponse(viewCredential(row)), err
}

// DeleteCredential implements DELETE /v1/credentials/{credential}.
func (s *Server) DeleteCredential(
	ctx context.Context, r DeleteCredentialRequestObject,
) (DeleteCredentialResponseObject, error) {
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.TakeCredential(ctx, tx.Org, r.Credential) // the lock prevents a new use of it until the end
		if err != nil {
			return named("credential", r.Credential, err)
		}
		apps, err := tx.AppsOfCredential(ctx, row.ID, tx.Org, namesShown+1)
		if err != nil {
			return err
		}
		if len(apps) > 0 {
			return problem.New(http.StatusConflict, "in_use",
				"credential "+row.Name+" is used by these apps: "+someOf(apps),
				"Delete them first; `nuon repos list` shows which credential is used for which repository.")
		}
		if err := fenced(tx.DropCredential(ctx, tx.Org, row.ID)); err != nil {
			return fmt.Errorf("delete credential %s: %w", row.Name, err)
		}
		return tx.Audit(ctx, callerOf(ctx).actor, "credential.delete", row.ID, map[string]any{"name": row.Name})
	})
	return DeleteCredential204Response{}, err
}

// changeRepositories returns the repositories that a credential may be used for, with some added and
// some removed.
func changeRepositories(now, add, remove []string) ([]string, error) {
	changed, err := observe.ChangeRepositories(now, add, remove)
	return changed, repositoryRefusal(err)
}

func viewCredential(c store.Credential) api.Credential {
	return api.Credential{
		ID: c.ID, Name: c.Name, Username: c.Username, Repositories: c.Repositories, Modules: c.Modules,
		CreatedAt: c.CreatedAt,
	}
}
