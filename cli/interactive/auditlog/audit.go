// Package auditlog is the screen of who changed what.
package auditlog

import (
	"context"
	"strconv"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/audit"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// newest is the number of events that the screen shows.
const newest = 500

// Screen is the screen of the newest events.
type Screen struct {
	subject string
	events  []api.AuditEvent
}

// New returns the screen for an object, or for all if subject is empty.
func New(subject string) *Screen { return &Screen{subject: subject} }

// Load fetches the newest events.
func (s *Screen) Load(ctx context.Context, client *apiclient.Client) (func(), error) {
	l, err := apiclient.Decode[api.AuditEventList](client.ListAudit(ctx,
		&api.ListAuditParams{Subject: s.subject, Limit: newest}))
	return func() { s.events = l.Items }, err
}

// Page returns the events, the newest first.
func (s *Screen) Page(time.Time) page.Page {
	p := page.Page{Title: "audit", Command: "nuon audit"}
	if s.subject != "" {
		p.Title += " of " + s.subject
		p.Command += " --subject " + console.ShellWord(s.subject)
	}
	rows := make(page.List, 0, len(s.events))
	for _, e := range s.events {
		detail := audit.Detail(e.Detail)
		rows = append(rows, page.Row{ID: strconv.FormatInt(e.ID, 10), Copy: e.Subject, Open: page.Of(e.Subject),
			Command: console.CommandLine("nuon", "audit", "--subject", e.Subject),
			Detail:  []string{e.Action + " " + e.Subject, detail},
			Cells: []page.Text{page.Age(e.At), page.T(e.Actor), page.T(e.Action), page.T(e.Subject),
				{Text: detail, Ink: page.Faint}}})
	}
	p.Sections = []page.Section{{Rows: rows, Columns: page.Columns("AGE", "ACTOR", "ACTION", "SUBJECT?", "DETAILS?"),
		Empty: "No events."}}
	return p
}
