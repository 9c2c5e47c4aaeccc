package rollout

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// Bounds of a person's environment for an action.
const (
	mostEnv      = 100
	mostEnvBytes = 32 << 10
)

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// The codes of *workflow.Conflict that Ask, AskAction and AskRestore give.
const (
	CodeUnknownComponent = "unknown_component"
	CodeUnknownAction    = "unknown_action"
	CodeNotManual        = "not_manual"
	CodeBadEnv           = "bad_env"
	CodeNoVersion        = "no_version"
	CodeUnknownVersion   = "unknown_version"
	CodeNewestVersion    = "newest_version"
	CodeNotRestorable    = "not_restorable"
)

func refuse(code, remedy, title string, args ...any) error {
	return &workflow.Conflict{Code: code, Title: fmt.Sprintf(title, args...), Remedy: remedy}
}

// Ask is a person asking for what an install wants to be done, whatever was refused before: the no that was said to these
// components is forgotten (to all, when none is named), and what is missing is started at once in the person's name. Whether the
// install is to be present or absent is its row's to say, and set before. Errors: store.ErrNotFound, *workflow.Conflict.
func (r *Rollout) Ask(ctx context.Context, tx *store.Tx, install store.Install, components []string, actor string) error {
	locked, err := tx.LockInstall(ctx, tx.Org, install.ID)
	if err != nil {
		return fmt.Errorf("install %s: %w", install.Name, err)
	}
	if components == nil {
		components = []string{}
	}
	if err := known(ctx, tx, locked, components); err != nil {
		return err
	}
	if err := tx.DropRefusals(ctx, tx.Org, locked.ID, components); err != nil {
		return err
	}
	return r.reconcile(ctx, tx, locked, actor)
}

func known(ctx context.Context, tx *store.Tx, install store.Install, names []string) error {
	if len(names) == 0 {
		return nil
	}
	places, err := tx.RolloutPlaces(ctx, tx.Org, install.ID)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(places, func(p store.InstallComponent) bool { return p.Name == name }) {
			return refuse(CodeUnknownComponent, "name one of those that `nuon installs get` shows", "install %s has no component %.60q", install.Name, name)
		}
	}
	return nil
}

// AskAction starts one run of an action that has a manual trigger, with env added to its environment, and gives the workflow's
// id. Errors: store.ErrNotFound, *workflow.Conflict.
func (r *Rollout) AskAction(ctx context.Context, tx *store.Tx, install store.Install, name string, env map[string]string, actor string) (workflowID string, err error) {
	if err := checkEnv(env); err != nil {
		return "", err
	}
	locked, err := tx.LockInstall(ctx, tx.Org, install.ID)
	if err != nil {
		return "", fmt.Errorf("install %s: %w", install.Name, err)
	}
	s, err := load(ctx, tx, locked)
	if err != nil {
		return "", err
	}
	if s.config == nil {
		return "", refuse(CodeNoVersion, "sync it first", "app %s has no version yet", s.app.Name)
	}
	action, ok := s.config.Action(name)
	manual := ok && slices.ContainsFunc(action.Triggers, func(t appconfig.Trigger) bool { return t.Type == appconfig.TriggerManual })
	switch {
	case !ok:
		return "", refuse(CodeUnknownAction, "name one of: "+strings.Join(actionNames(s.config), ", "), "app %s has no action %.60q", s.app.Name, name)
	case !manual:
		return "", refuse(CodeNotManual, `add a trigger with type = "manual" to it`, "action %s has no manual trigger", name)
	}
	return workflow.Start(ctx, tx, workflow.Request{
		Install: locked.ID, Kind: workflow.KindAction, Reason: fmt.Sprintf("%s asked for action %s", actor, name),
		RequestedBy: actor, Action: name, Env: env,
	})
}

func actionNames(config *appconfig.App) []string {
	var names []string
	for _, a := range config.Actions {
		names = append(names, a.Name)
	}
	return names
}

func checkEnv(env map[string]string) error {
	if len(env) > mostEnv {
		return refuse(CodeBadEnv, "give fewer", "there are more than %d variables", mostEnv)
	}
	size := 0
	for name, value := range env {
		if !envName.MatchString(name) {
			return refuse(CodeBadEnv, "use letters, digits and underscores", "%.60q is no name of a variable", name)
		}
		if size += len(name) + len(value); size > mostEnvBytes {
			return refuse(CodeBadEnv, "give less", "the variables are larger than %d bytes", mostEnvBytes)
		}
		if strings.ContainsRune(value, 0) {
			return refuse(CodeBadEnv, "leave it out", "variable %s holds a NUL character", name)
		}
	}
	return nil
}

// Gone says whether nothing of an install is left, so that its record may be dropped. It is false while anything may be there, and
// while a contested state tells of something that may.
func Gone(ctx context.Context, tx *store.Tx, installID string) (bool, error) {
	places, err := tx.RolloutPlaces(ctx, tx.Org, installID)
	if err != nil {
		return false, errors.Join(fmt.Errorf("install %s", installID), err)
	}
	contested, err := tx.ContestedStates(ctx, tx.Org, installID)
	if err != nil {
		return false, fmt.Errorf("install %s: %w", installID, err)
	}
	there := slices.ContainsFunc(places, func(p store.InstallComponent) bool { return p.AppliedArtifact != "" })
	return !there && len(contested) == 0, nil
}
