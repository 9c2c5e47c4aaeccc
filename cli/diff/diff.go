// Package diff implements `nuon diff`: it shows what would change between two or three sets
// of Kubernetes manifests, between two Helm charts, by a Terraform plan, or between two
// configs of an app, read from files, directories, pipes and commits. It needs no control
// plane, token or config, and changes nothing. runnerd renders charts, as a subprocess.
//
// The package reads the sides, has the packages under nuon/diff compare them, applies the rules of
// --ignore, prints the report (on a terminal through a pager if it is long) and sets the exit code.
// It never judges a difference itself and never prints a value that the report does not contain.
package diff

import (
	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
)

// New returns the diff command with its subcommands.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "diff",
		Short: "Show what would change: between Kubernetes manifests or Helm charts, by a Terraform plan, between configs " +
			"of an app",
		Long: `Shows what would change, without a control plane: counts first, then each object with what really changes in it and how much that
risks. Secrets are masked wherever they can hide. What says nothing (chart labels, checksums, what the server sets) is folded, and
counted; --show-all shows it.

It ends with 0, or with 2 when something cannot be read. With --exit-code it ends with 1 when something differs: when applying it would
do anything, also where all of that is folded. What rules of --ignore hide does not count, nor what others have changed meanwhile and an
apply leaves as it is, nor what is made anew at each rendering, if there is nothing else.

A rule of --ignore names fields by JSON pointers, and objects by globs; what it hides is counted under its name:

    [[ignore]]
    name = "replicas set by the autoscaler"
    kind = "Deployment"               # also: group, namespace, object, address
    pointers = ["/spec/replicas"]     # "*" is one step, "**" any number, "" everything

That something comes, goes or is replaced is never hidden.`,
	}
	c.AddCommand(newManifests(e), newHelm(e), newTerraform(e), newApp(e))
	return c
}
