package control

import (
	"context"
	"log/slog"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// read runs one read-only transaction in the caller's scope.
func (s *Server) read(ctx context.Context, work func(context.Context, *store.Tx) error) error {
	return s.store.ReadScopedTx(ctx, callerOf(ctx).scope(), work)
}

// change runs one transaction in the caller's scope.
func (s *Server) change(ctx context.Context, work func(context.Context, *store.Tx) error) error {
	return s.store.InScopedTx(ctx, callerOf(ctx).scope(), work)
}

// logContinueError logs the error of continuing at once after a person's decision. The decision is stored,
// and the work queue continues in any case. Continuing at once only makes the response more
// informative, so its error is not returned.
func logContinueError(ctx context.Context, err error) {
	if err != nil {
		slog.WarnContext(ctx, "continue from the work queue", "error", err)
	}
}

// eachErr maps rows with a function that can fail.
func eachErr[A, B any](rows []A, f func(A) (B, error)) ([]B, error) {
	out := make([]B, 0, len(rows))
	for _, r := range rows {
		b, err := f(r)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// Whoami implements GET /v1/whoami.
func (s *Server) Whoami(ctx context.Context, _ WhoamiRequestObject) (WhoamiResponseObject, error) {
	c := callerOf(ctx)
	return Whoami200JSONResponse{WhoJSONResponse(api.Whoami{
		Org: c.org.Name, OrgID: c.org.ID, Actor: c.actor, Role: c.role.String(), App: c.appName,
		ExpiresAt: at(c.expires), ServerVersion: s.version,
	})}, nil
}
