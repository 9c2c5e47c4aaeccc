// Package cause is the screen of why an object is in its state: what `nuon explain` prints.
package cause

import (
	"context"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/builds"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/explain"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Screen is the screen of a chain of causes.
type Screen struct {
	kind, name string
	chain      []api.Cause
}

// New returns the screen of an object of a kind.
func New(kind, name string) *Screen { return &Screen{kind: kind, name: name} }

// Load fetches the causes.
func (s *Screen) Load(ctx context.Context, client *apiclient.Client) (func(), error) {
	kind, err := explain.ParseKind(s.kind)
	if err != nil {
		return nil, err
	}
	x, err := apiclient.Decode[api.Explanation](client.Explain(ctx, kind, s.name))
	return func() { s.chain = x.Chain }, err
}

// Page returns the causes, the first one first.
func (s *Screen) Page(time.Time) page.Page {
	rows := make(page.List, 0, len(s.chain))
	for n, c := range s.chain {
		arrow := "└─ "
		if n == 0 {
			arrow = ""
		}
		r := page.Row{ID: c.Record + c.ID + c.Name, Copy: c.ID, Open: page.Of(c.ID), Detail: []string{c.Reason},
			Cells: []page.Text{page.T(arrow + strings.ReplaceAll(c.Record, "_", " ")), page.T(c.Name), page.Age(c.At),
				{Text: c.Reason, Ink: page.Faint}}}
		for _, l := range builds.ResolvedLines(c.Modules) {
			r.Detail = append(r.Detail, l.Kind+" "+l.Text)
		}
		rows = append(rows, r)
	}
	return page.Page{Title: "why " + s.kind + " " + s.name,
		Command: console.CommandLine("nuon", "explain", s.kind, s.name),
		Sections: []page.Section{{Rows: rows, Columns: page.Columns("RECORD", "NAME", "AGE", "REASON?"),
			Empty: "No causes are recorded."}}}
}
