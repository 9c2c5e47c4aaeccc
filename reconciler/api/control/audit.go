package control

import (
	"context"
	"math"
	"strconv"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// ListAudit implements GET /v1/audit.
func (s *Server) ListAudit(ctx context.Context, r ListAuditRequestObject) (ListAuditResponseObject, error) {
	var list api.AuditEventList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		most := page(r.Params.Limit)
		rows, err := tx.ViewAudit(ctx, store.ViewAuditParams{
			OrgID: tx.Org, Before: beforeEvent(r.Params.Cursor), Subject: r.Params.Subject, Actor: r.Params.Actor,
			Action: r.Params.Action, Most: most,
		})
		if err != nil {
			return err
		}
		rows, list.Next = paged(rows, most, func(e store.AuditEvent) string { return strconv.FormatInt(e.ID, 10) })
		list.Items = each(rows, viewEvent)
		return nil
	})
	return ListAudit200JSONResponse(list), err
}

// beforeEvent parses the cursor of the list of events, whose ids are numbers.
func beforeEvent(cursor string) int64 {
	if n, err := strconv.ParseInt(cursor, 10, 64); err == nil {
		return n
	}
	return math.MaxInt64
}

func viewEvent(e store.AuditEvent) api.AuditEvent {
	return api.AuditEvent{ID: e.ID, At: e.At, Actor: e.Actor, Action: e.Action, Subject: e.Subject, Detail: e.Detail}
}
