package control

import (
	"context"
	"net/http"

	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
)

var unfinished = problem.New(http.StatusNotImplemented, "unfinished", "this is being built", "")

func (*Server) ListAudit(context.Context, ListAuditRequestObject) (ListAuditResponseObject, error) {
	return nil, unfinished
}

func (*Server) FreeStateLock(context.Context, FreeStateLockRequestObject) (FreeStateLockResponseObject, error) {
	return nil, unfinished
}

func (*Server) ListStateVersions(context.Context, ListStateVersionsRequestObject) (ListStateVersionsResponseObject, error) {
	return nil, unfinished
}

func (*Server) DismissState(context.Context, DismissStateRequestObject) (DismissStateResponseObject, error) {
	return nil, unfinished
}

func (*Server) RestoreState(context.Context, RestoreStateRequestObject) (RestoreStateResponseObject, error) {
	return nil, unfinished
}

func (*Server) ListStates(context.Context, ListStatesRequestObject) (ListStatesResponseObject, error) {
	return nil, unfinished
}

func (*Server) GetRunner(context.Context, GetRunnerRequestObject) (GetRunnerResponseObject, error) {
	return nil, unfinished
}

func (*Server) CreateRegistration(context.Context, CreateRegistrationRequestObject) (CreateRegistrationResponseObject, error) {
	return nil, unfinished
}

func (*Server) ReplaceRunner(context.Context, ReplaceRunnerRequestObject) (ReplaceRunnerResponseObject, error) {
	return nil, unfinished
}

func (*Server) GetSystem(context.Context, GetSystemRequestObject) (GetSystemResponseObject, error) {
	return nil, unfinished
}

func (*Server) ListTokens(context.Context, ListTokensRequestObject) (ListTokensResponseObject, error) {
	return nil, unfinished
}

func (*Server) CreateToken(context.Context, CreateTokenRequestObject) (CreateTokenResponseObject, error) {
	return nil, unfinished
}

func (*Server) RevokeToken(context.Context, RevokeTokenRequestObject) (RevokeTokenResponseObject, error) {
	return nil, unfinished
}
