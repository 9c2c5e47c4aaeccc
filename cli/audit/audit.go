// Package audit implements `nuon audit`, which lists who changed what.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New returns the command.
func New(e *cmdenv.Env) *cobra.Command {
	var p api.ListAuditParams
	l := &listing.List[api.AuditEvent]{
		Limit:  50,
		Header: []string{"TIME", "ACTOR", "ACTION", "SUBJECT", "DETAILS"},
		Row: func(v api.AuditEvent) []string {
			return []string{v.At.Local().Format(time.DateTime), v.Actor, v.Action, v.Subject, Detail(v.Detail)}
		},
		Name: func(v api.AuditEvent) string { return strconv.FormatInt(v.ID, 10) },
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.AuditEvent, string, error) {
			p.Cursor, p.Limit = at.Cursor, at.Limit
			l, err := apiclient.Decode[api.AuditEventList](client.ListAudit(ctx, &p))
			return l.Items, l.Next, err
		},
	}
	c := l.Command(e, &cobra.Command{
		Use: "audit", Short: "List the audit log: who changed what, newest first", Args: cobra.NoArgs,
		Example: `  nuon audit --action state
  nuon audit --actor alice --limit 1000 -o json`,
	})
	c.Flags().StringVar(&p.Subject, "subject", "", "only changes of the object with this ID")
	c.Flags().StringVar(&p.Actor, "actor", "",
		"only changes by the token of this name, or by this part of the system")
	c.Flags().StringVar(&p.Action, "action", "", "only this action (state.unlock), or all actions on a kind of "+
		"object (state)")
	complete.Flag(e, c, "actor", complete.Tokens)
	return c
}

// Detail formats the further fields of an event as name=value, sorted by name.
func Detail(raw json.RawMessage) string {
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
			b, _ := json.Marshal(value) // cannot fail: the value was decoded from JSON
			text = string(b)
		}
		words = append(words, fmt.Sprintf("%s=%s", name, text))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}
