package apps

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newVersions(e *cmdenv.Env) *cobra.Command {
	l := &listing.List[api.AppVersion]{
		Header: []string{"VERSION", "CREATED", "COMMIT", "DIGEST", "REASON"},
		Row: func(v api.AppVersion) []string {
			return []string{fmt.Sprint(v.Number), v.CreatedAt.Local().Format(time.DateTime), console.Short(v.Commit),
				console.Short(v.Digest), v.Reason}
		},
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.AppVersion, string, error) {
			l, err := apiclient.Decode[api.AppVersionList](client.ListAppVersions(ctx, at.Args[0],
				&api.ListAppVersionsParams{Cursor: at.Cursor, Limit: at.Limit}))
			return l.Items, l.Next, err
		},
	}
	return l.OfApp(e, &cobra.Command{
		Use: "versions APP", Short: "List the versions of an app's config, newest first",
		Long: `List the versions of an app's config, newest first, with the reason for each.

Installs get releases: a version of the config together with the code of each component. List them
with "nuon releases list".`,
		Example: `  nuon apps versions hello --limit 5`,
	})
}
