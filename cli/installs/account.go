package installs

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/keyvalue"
)

// accountFlag adds the flag --account, which sets the cloud account of an install.
func accountFlag(c *cobra.Command, into *[]string) {
	c.Flags().StringArrayVar(into, "account", nil,
		"part of the cloud account, as NAME=VALUE (repeatable): aws.account_id, aws.region, azure.location, "+
			"azure.subscription_id, azure.tenant_id, gcp.project_id or gcp.region")
}

// parseAccount returns the cloud account that the values of --account set, or nil if there are none.
func parseAccount(given []string) (map[string]map[string]string, error) {
	pairs, err := keyvalue.Pairs("--account", given)
	if err != nil || len(pairs) == 0 {
		return nil, err
	}
	account := map[string]map[string]string{}
	for name, value := range pairs {
		cloud, key, found := strings.Cut(name, ".")
		if !found {
			return nil, exitcode.Usagef("--account %s: write CLOUD.KEY=VALUE, such as aws.region=us-west-2", name)
		}
		kind := cloud + "_account"
		if account[kind] == nil {
			account[kind] = map[string]string{}
		}
		account[kind][key] = value
	}
	return account, nil
}
