// Package world starts a control plane with three installs of one app for the attacks of a runner
// and of an operator: two of an honest runner, and one whose runner is the attacker.
//
// It owns what both need: the fleet, an owner's connection to its database, by which attacks are
// judged, and the attacker's access.
package world

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// App is a repository with an app in its directory app.
//
//go:embed app
var App embed.FS

// The names of the installs.
const (
	// Honest and Quiet belong to the honest runner: one approves everything, and the plan of the
	// other waits for a person.
	Honest = "acme"
	Quiet  = "quiet"
	// Hostile belongs to the hostile runner.
	Hostile = "mallory"
)

// World is the environment for the attacks of a runner and of an operator.
type World struct {
	Fleet *fleet.Fleet
	// Database is a connection of the owner of the tables, to whom row-level security does not
	// apply.
	Database *pgx.Conn
	// Runner sends requests with the key of the hostile runner, and Key is its install key.
	Runner *api.ClientWithResponses
	Key    seal.Identity
}

// Start starts it in dir with the programs of bin: the app is built, the honest install is applied,
// and the hostile runner is registered and has an install. The caller must call Close on the
// result, also after an error.
func Start(ctx context.Context, bin, dir string) (w *World, err error) {
	w = &World{}
	w.Fleet, err = fleet.Start(ctx, fleet.Options{Bin: bin, Dir: dir, Installers: []string{Honest}})
	if err != nil {
		return w, fmt.Errorf("start the world: %w", err)
	}
	if w.Database, err = pgx.Connect(ctx, w.Fleet.Database.DSN()); err != nil {
		return w, fmt.Errorf("start the world: %w", err)
	}
	if err := w.install(ctx); err != nil {
		return w, fmt.Errorf("start the world: %w", err)
	}
	return w, nil
}

// Close ends everything.
func (w *World) Close() error {
	var errs []error
	if w.Database != nil {
		errs = append(errs, w.Database.Close(context.Background()))
	}
	if w.Fleet != nil {
		errs = append(errs, w.Fleet.Stop())
	}
	return errors.Join(errs...)
}

func (w *World) install(ctx context.Context) error {
	repository, err := w.Fleet.NewRepository(ctx, "target", App)
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"apps", "create", "target", "--repo", repository.URL, "--branch", "main", "--directory", "app"},
		{"sync", "--app", "target"},
		{"installs", "create", Honest, "--app", "target", "--runner", Honest, "--approval", "approve-all"},
		{"installs", "create", Quiet, "--app", "target", "--runner", Honest},
	} {
		if _, err := w.Fleet.Nuon(ctx, args...); err != nil {
			return err
		}
	}
	if err := w.register(ctx); err != nil {
		return err
	}
	_, err = w.Fleet.Nuon(ctx, "installs", "create", Hostile, "--app", "target", "--runner", Hostile)
	return err
}

// register creates the hostile runner, which is not a program but only the requests of the attacks.
func (w *World) register(ctx context.Context) (err error) {
	var made api.CreatedRunner
	if err := w.Fleet.JSON(ctx, &made, "runners", "create", Hostile, "--kind", "install"); err != nil {
		return err
	}
	if w.Key, err = seal.NewIdentity(); err != nil {
		return err
	}
	first, err := w.Client(made.RegistrationToken)
	if err != nil {
		return err
	}
	recipient := w.Key.Recipient().String()
	challenged, err := first.ChallengeRegistrationWithResponse(ctx, api.ChallengeRequest{Recipient: recipient})
	if err != nil {
		return err
	}
	if challenged.JSON200 == nil {
		return fmt.Errorf("ask for the challenge of a registration: %s %s", challenged.Status(), challenged.Body)
	}
	nonce, err := w.Key.Open(challenged.JSON200.Nonce, seal.RegistrationContext(w.Key.Recipient()))
	if err != nil {
		return err
	}
	registered, err := first.RegisterWithResponse(ctx, api.Registration{
		Version: version.Number, Capacity: 4, Recipient: recipient, Proof: string(nonce.Reveal()),
	})
	if err != nil {
		return err
	}
	if registered.JSON200 == nil {
		return fmt.Errorf("register the hostile runner: %s %s", registered.Status(), registered.Body)
	}
	w.Runner, err = w.Client(registered.JSON200.RunnerKey)
	return err
}

// Client returns a client of the runner API with a token.
func (w *World) Client(token string) (*api.ClientWithResponses, error) {
	return api.NewClientWithResponses(w.Fleet.Ready(0).RunnerURL, api.WithRequestEditorFn(bearer(token)))
}

func bearer(token string) api.RequestEditorFn {
	return func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set(version.HeaderAPI, fmt.Sprint(version.API))
		return nil
	}
}

// Count returns the count of a query. It reads as the owner.
func (w *World) Count(ctx context.Context, sql string, args ...any) (n int64, err error) {
	if err := w.Database.QueryRow(ctx, sql, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count %s: %w", strings.SplitN(sql, "\n", 2)[0], err)
	}
	return n, nil
}
