// Package audit is `nuon audit`: who changed what.
package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// mostInPage is how many events the control plane gives at once.
const mostInPage = 500

// New is the command.
func New(e *env.Env) *cobra.Command {
	var p api.ListAuditParams
	c := &cobra.Command{
		Use: "audit", Short: "Show who changed what, the newest first", Args: cobra.NoArgs,
		Example: `  nuon audit --action state
  nuon audit --actor alice --limit 1000 -o json`,
		RunE: func(c *cobra.Command, _ []string) error {
			if p.Limit < 1 {
				return exit.Usagef("--limit %d: use a number from 1 up", p.Limit)
			}
			client, err := e.Client()
			if err != nil {
				return err
			}
			events, err := read(p, func(p api.ListAuditParams) (api.AuditEventList, error) {
				return remote.Get[api.AuditEventList](client.ListAudit(c.Context(), &p))
			})
			if err != nil {
				return err
			}
			var rows [][]string
			for _, v := range events {
				rows = append(rows, []string{v.At.Local().Format("2006-01-02 15:04:05"), v.Actor, v.Action, v.Subject, detail(v.Detail)})
			}
			return e.Console.List(events, []string{"AT", "ACTOR", "ACTION", "SUBJECT", "DETAIL"}, rows)
		},
	}
	c.Flags().StringVar(&p.Subject, "subject", "", "only what was done to the thing with this id")
	c.Flags().StringVar(&p.Actor, "actor", "", "only what was done with the token of this name, or by this part of the system")
	c.Flags().StringVar(&p.Action, "action", "", "only this action (state.unlock), or all of its first part (state)")
	c.Flags().IntVar(&p.Limit, "limit", 50, "most events to show")
	return c
}

// read takes pages until there are as many events as p asks for, or no more.
func read(p api.ListAuditParams, page func(api.ListAuditParams) (api.AuditEventList, error)) ([]api.AuditEvent, error) {
	events := []api.AuditEvent{}
	for most := p.Limit; len(events) < most; {
		p.Limit = min(most-len(events), mostInPage)
		l, err := page(p)
		if err != nil {
			return nil, err
		}
		events = append(events, l.Items...)
		if l.Next == "" {
			break
		}
		p.Cursor = l.Next
	}
	return events, nil
}

// detail shows what an event says more as name=value, by name.
func detail(raw json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil {
		return string(raw)
	}
	var words []string
	for name, value := range fields {
		if value == nil || value == "" {
			continue
		}
		text, is := value.(string)
		if !is {
			b, _ := json.Marshal(value) // it came from JSON
			text = string(b)
		}
		words = append(words, fmt.Sprintf("%s=%s", name, text))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}
