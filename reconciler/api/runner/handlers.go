package runner

import (
	"context"
	"errors"
	"log/slog"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/joblog"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/phonehome"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/tfstate"
)

// handlers implements the operations of the OpenAPI document with the services of jobs, runners,
// states and logs. The authorizer has authenticated the caller; the services check whether an
// attempt belongs to it.
type handlers struct {
	jobs    *jobs.Service
	runners *runners.Service
	states  *tfstate.Service
	logs    *joblog.Service
	phone   *phonehome.Service
	log     *slog.Logger

	credentials Credentials
}

// Credentials returns credentials for Terraform modules. *build.ModuleCredentials implements it.
type Credentials interface {
	Get(
		ctx context.Context, caller runners.Caller, ref api.AttemptRef, request api.ModuleCredentialRequest,
	) (api.ModuleCredential, error)
}

var _ StrictServerInterface = handlers{}

// Register exchanges a registration token for a runner key.
func (h handlers) Register(ctx context.Context, r RegisterRequestObject) (RegisterResponseObject, error) {
	token, _ := ctx.Value(registrationKey{}).(string)
	registered, err := h.runners.Register(ctx, token, *r.Body)
	return Register200JSONResponse(registered), err
}

// ChallengeRegistration returns a challenge for the key that a runner is about to register.
func (h handlers) ChallengeRegistration(
	ctx context.Context, r ChallengeRegistrationRequestObject,
) (ChallengeRegistrationResponseObject, error) {
	token, _ := ctx.Value(registrationKey{}).(string)
	challenge, err := h.runners.Challenge(ctx, token, r.Body.Recipient)
	return ChallengeRegistration200JSONResponse(challenge), err
}

// ChallengeClaim returns a nonce to prove a cloud identity with.
func (h handlers) ChallengeClaim(
	ctx context.Context, r ChallengeClaimRequestObject,
) (ChallengeClaimResponseObject, error) {
	token, _ := ctx.Value(registrationKey{}).(string)
	challenge, err := h.runners.ChallengeClaim(ctx, token, r.Body.Recipient)
	return ChallengeClaim200JSONResponse(challenge), err
}

// RegisterClaim registers a runner by the cloud identity of its machine.
func (h handlers) RegisterClaim(
	ctx context.Context, r RegisterClaimRequestObject,
) (RegisterClaimResponseObject, error) {
	token, _ := ctx.Value(registrationKey{}).(string)
	registered, err := h.runners.RegisterClaim(ctx, token, *r.Body)
	h.logRefusal(ctx, "a machine", err)
	return RegisterClaim200JSONResponse(registered), err
}

// PhoneHome stores the report of a stack.
func (h handlers) PhoneHome(ctx context.Context, r PhoneHomeRequestObject) (PhoneHomeResponseObject, error) {
	token, _ := ctx.Value(registrationKey{}).(string)
	answer, err := h.phone.Report(ctx, token, *r.Body)
	h.logRefusal(ctx, "a stack", err)
	return PhoneHome200JSONResponse(answer), err
}

// logRefusal logs why the cloud identity of a machine or stack was not accepted: nobody else learns of it.
func (h handlers) logRefusal(ctx context.Context, who string, err error) {
	if err != nil {
		h.log.InfoContext(ctx, "a cloud identity was not accepted", "of", who, "error", err)
	}
}

// ReportStackOutputs stores the outputs of the stack that a runner's machine belongs to.
func (h handlers) ReportStackOutputs(
	ctx context.Context, r ReportStackOutputsRequestObject,
) (ReportStackOutputsResponseObject, error) {
	answer, err := h.phone.ReportByRunner(ctx, callerOf(ctx), *r.Body)
	return ReportStackOutputs200JSONResponse(answer), err
}

// RotateKey issues another runner key.
func (h handlers) RotateKey(ctx context.Context, _ RotateKeyRequestObject) (RotateKeyResponseObject, error) {
	key, err := h.runners.RotateKey(ctx, callerOf(ctx))
	return RotateKey200JSONResponse(key), err
}

// Heartbeat extends leases.
func (h handlers) Heartbeat(ctx context.Context, r HeartbeatRequestObject) (HeartbeatResponseObject, error) {
	answer, err := h.jobs.Heartbeat(ctx, callerOf(ctx), *r.Body)
	return Heartbeat200JSONResponse(answer), err
}

// Accept accepts an offer.
func (h handlers) Accept(ctx context.Context, r AcceptRequestObject) (AcceptResponseObject, error) {
	accepted, err := h.jobs.Accept(ctx, callerOf(ctx), attemptRef(r.Job, r.Attempt))
	return Accept200JSONResponse(accepted), err
}

// GetSpec returns the spec of the job.
func (h handlers) GetSpec(ctx context.Context, r GetSpecRequestObject) (GetSpecResponseObject, error) {
	spec, err := h.jobs.Spec(ctx, callerOf(ctx), attemptRef(r.Job, r.Attempt))
	return GetSpec200JSONResponse(spec), err
}

// GetModuleCredential returns the credential for an address of modules to a build.
func (h handlers) GetModuleCredential(
	ctx context.Context, r GetModuleCredentialRequestObject,
) (GetModuleCredentialResponseObject, error) {
	found, err := h.credentials.Get(ctx, callerOf(ctx), attemptRef(r.Job, r.Attempt), *r.Body)
	return GetModuleCredential200JSONResponse(found), err
}

// AppendLogs stores chunks of a log.
func (h handlers) AppendLogs(ctx context.Context, r AppendLogsRequestObject) (AppendLogsResponseObject, error) {
	return AppendLogs204Response{}, h.logs.Append(ctx, callerOf(ctx),
		attemptRef(r.Job, r.Attempt), r.Body.Chunks)
}

// ReceiveShellInput waits for what a person types.
func (h handlers) ReceiveShellInput(
	ctx context.Context, r ReceiveShellInputRequestObject,
) (ReceiveShellInputResponseObject, error) {
	inputs, err := h.logs.ReceiveShellInput(ctx, callerOf(ctx), attemptRef(r.Job, r.Attempt), r.Params.After)
	return ReceiveShellInput200JSONResponse(inputs), err
}

// SendShellOutput stores output of an interactive shell.
func (h handlers) SendShellOutput(
	ctx context.Context, r SendShellOutputRequestObject,
) (SendShellOutputResponseObject, error) {
	return SendShellOutput204Response{}, h.logs.SendShellOutput(ctx, callerOf(ctx), attemptRef(r.Job, r.Attempt),
		*r.Body)
}

// AppendRunnerLogs stores chunks of the runner's own log.
func (h handlers) AppendRunnerLogs(
	ctx context.Context, r AppendRunnerLogsRequestObject,
) (AppendRunnerLogsResponseObject, error) {
	return AppendRunnerLogs204Response{}, h.logs.AppendRunnerLog(ctx, callerOf(ctx), r.Body.Chunks)
}

// PostResult records the end of an attempt.
func (h handlers) PostResult(ctx context.Context, r PostResultRequestObject) (PostResultResponseObject, error) {
	return PostResult204Response{}, h.jobs.Result(ctx, callerOf(ctx), attemptRef(r.Job, r.Attempt), *r.Body)
}

// GetState returns the newest state, or the one to restore.
func (h handlers) GetState(ctx context.Context, r GetStateRequestObject) (GetStateResponseObject, error) {
	state, err := h.states.Get(ctx, callerOf(ctx), attemptRef(r.Job, r.Attempt), r.Params.Version)
	return GetState200JSONResponse(state), err
}

// PutState stores a new state.
func (h handlers) PutState(ctx context.Context, r PutStateRequestObject) (PutStateResponseObject, error) {
	contested, err := h.states.Put(ctx, callerOf(ctx), attemptRef(r.Job, r.Attempt), *r.Body)
	if contested {
		return PutState202Response{}, err
	}
	return PutState204Response{}, err
}

// LockState takes the state lock, or returns its holder.
func (h handlers) LockState(ctx context.Context, r LockStateRequestObject) (LockStateResponseObject, error) {
	err := h.states.Lock(ctx, callerOf(ctx), attemptRef(r.Job, r.Attempt), *r.Body)
	var locked *tfstate.LockedError
	if errors.As(err, &locked) {
		return LockState423JSONResponse(api.StateLock{ID: locked.ID, Info: locked.Info, Holder: locked.Holder}), nil
	}
	return LockState204Response{}, err
}

// UnlockState releases the attempt's own lock.
func (h handlers) UnlockState(ctx context.Context, r UnlockStateRequestObject) (UnlockStateResponseObject, error) {
	return UnlockState204Response{}, h.states.Unlock(ctx, callerOf(ctx), attemptRef(r.Job, r.Attempt))
}
