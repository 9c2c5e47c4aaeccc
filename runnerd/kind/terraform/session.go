package terraform

import (
	"context"
	"errors"
	"maps"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/state"
)

// Kind plans and applies Terraform modules, and restores versions of their states.
// It implements deploy.Kind.
type Kind struct{}

// Open enters the workspace and starts the state endpoint. For a plan it renders the variables;
// an apply uses those of the plan.
func (Kind) Open(ctx context.Context, op *deploy.Operation) (deploy.Session, error) {
	if op.Restore.Version > 0 {
		return openRestore(ctx, op)
	}
	made := &session{Operation: op}
	var err error
	if op.Stored != nil {
		if made.saved, err = load(op.Stored.Files); err == nil {
			made.variables = &variables{files: made.saved.vars, environ: op.Stored.Environ}
		}
	} else {
		made.variables, err = renderVariables(op.Deploy, op.Values)
	}
	if err != nil {
		return nil, err
	}
	if err := made.open(ctx); err != nil {
		return nil, err
	}
	return made, nil
}

// session is one plan or apply of a module: a workspace, a state endpoint,
// and Terraform, which uses both.
type session struct {
	*deploy.Operation
	variables *variables
	saved     savedPlan // for an apply
	workspace *workspace
	endpoint  *state.Endpoint
	terraform *terraform
}

func (s *session) open(ctx context.Context) (err error) {
	component := s.Deploy.InstallComponent
	if s.workspace, err = openWorkspace(ctx, s.Env, component); err != nil {
		return err
	}
	s.endpoint, err = state.Start(ctx, state.Options{
		Backend:  guardOf(s.Operation),
		Key:      s.Env.Key,
		Context:  state.ContextOf(s.Deploy),
		OnSecret: func(secret []byte) { s.Env.Redact.Add(secret) },
		Logf:     s.Env.Log.Warn,
	})
	if err != nil {
		return errors.Join(err, s.workspace.remove())
	}
	s.Env.Redact.AddSecret(s.endpoint.Password())
	return nil
}

// Close frees the state lock if it is still held, and removes the workspace.
func (s *session) Close(ctx context.Context) error {
	return errors.Join(s.endpoint.Close(ctx), s.workspace.remove())
}

// causeOf returns the error of the state endpoint if that was the cause of a Terraform error,
// and otherwise the Terraform error.
func (s *session) causeOf(err error) error {
	if trouble := s.endpoint.Err(); err != nil && trouble != nil && !errors.Is(err, context.Canceled) {
		return trouble
	}
	return err
}

// prepare writes the variables, unpacks the component's module with overlay on top, and runs
// init. It returns the paths of the variable files.
func (s *session) prepare(ctx context.Context, overlay []artifact.File) ([]string, error) {
	packed, err := s.Env.Install.Pull(ctx, s.Deploy.Artifact)
	if err != nil {
		return nil, err
	}
	varFiles, err := s.variables.write(s.workspace)
	if err != nil {
		return nil, err
	}
	if err := s.workspace.unpack(packed, s.variables.policies, overlay); err != nil {
		return nil, err
	}
	module, err := readModule(s.workspace)
	if err != nil {
		return nil, err
	}
	if module.Backend != nil && module.Backend.Kind != "http" {
		s.Env.Log.Warn("%s: the module declares a %q backend; it is not used, nuon stores the state",
			module.Backend.Position, module.Backend.Kind)
	}
	if err := overrideBackend(s.workspace.moduleDir()); err != nil {
		return nil, err
	}
	if err := s.workspace.handOver(); err != nil {
		return nil, err
	}
	own := maps.Clone(s.endpoint.Environ())
	// They replace none of the endpoint's variables: checkEnviron rejects those names.
	maps.Copy(own, s.variables.environ)
	s.terraform, err = openTerraform(
		ctx, s.Env, builtWith(packed), s.Deploy.Terraform.Version, s.workspace.moduleDir(), own,
	)
	if err != nil {
		return nil, err
	}
	s.terraform.location = location{root: s.workspace.root, module: s.workspace.module}
	hasModules, err := checkPackedModules(ctx, packed, module, s.terraform.tool)
	if err != nil {
		return nil, err
	}
	// Packed modules may need providers, too.
	if err := s.terraform.init(ctx, initOptions{
		backend: true, packed: hasModules, fetches: hasModules || needsProviders(module),
	}); err != nil {
		return nil, s.causeOf(err)
	}
	return varFiles, checkBackend(s.workspace.moduleDir())
}
