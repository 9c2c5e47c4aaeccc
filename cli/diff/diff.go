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
		Use:   "diff",
		Short: "Compare Kubernetes manifests, Helm charts or app configs, or show a Terraform plan",
		Long: `Show what would change, without a control plane: first counts, then each object with its changed fields
and their risk.

Secrets are masked wherever they can occur. Changes that do not matter (chart labels, checksums, fields
that the server sets) are folded and counted; --show-all shows them.

The exit code is 0, or 2 if something cannot be read. With --exit-code it is 1 if something differs, that
is, if applying it would do anything, even if every change is folded. Changes that are hidden by --ignore,
drift that an apply leaves as it is, and values that are generated at each rendering do not count.

A rule of --ignore names fields by JSON pointers and objects by globs; the changes that it hides are
counted under its name:

    [[ignore]]
    name = "replicas set by the autoscaler"
    kind = "Deployment"               # also: group, namespace, object, address
    pointers = ["/spec/replicas"]     # "*" is one step, "**" any number, "" everything

Rules never hide that an object is created, deleted or replaced.`,
	}
	c.AddCommand(newManifests(e), newHelm(e), newTerraform(e), newApp(e))
	return c
}
