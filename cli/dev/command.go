package dev

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// New returns the dev command.
func New(e *cmdenv.Env) *cobra.Command {
	options := Options{Getenv: os.Getenv, FindProgram: FindProgram, SaveContext: SaveContext}
	command := &cobra.Command{
		Use:     "dev",
		Example: "  nuon dev\n  nuon dev --kubeconfig ~/.kube/kind.yaml",
		Short:   "Run the whole system on this machine",
		Long: `Run the whole system on this machine: PostgreSQL, the control plane with its registry, a build runner
and a local install runner. It needs no configuration. Ctrl-C stops it; the next start continues with
the same data.

DATABASE_URL (PostgreSQL 14 or newer) replaces the private PostgreSQL, and NUON_REGISTRY (host/path,
with NUON_REGISTRY_USERNAME and NUON_REGISTRY_PASSWORD) the embedded registry.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) (err error) {
			options.Console = e.Console
			if options.KubeConfig, err = kubeConfig(options.KubeConfig); err != nil {
				return err
			}
			return Run(command.Context(), options)
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.DataDir, "data-dir", "",
		"data directory (default: nuon/dev in the user's data directory; /var/lib/nuon/dev for root)")
	flags.StringVar(&options.Listen, "listen", DefaultListen, "address of the control API")
	flags.StringVar(&options.RunnerListen, "runner-listen", DefaultRunnerListen, "address of the runner API")
	flags.StringVar(&options.RegistryListen, "registry-listen", DefaultRegistryListen,
		"address of the embedded registry")
	flags.StringArrayVar(&options.FileRemotes, "allow-file-remotes", nil,
		"allow file:// git repositories below this directory (repeatable; default: the current git repository, "+
			"else the current directory)")
	flags.BoolVar(&options.PrivateRemotes, "allow-private-remotes", false,
		"allow git and chart repositories, and files that configs refer to, in private networks")
	flags.StringVar(&options.Org, "org", "dev", "name of the org")
	flags.DurationVar(&options.Poll, "poll", 2*time.Second, "how often git repositories are polled")
	flags.StringVar(&options.KubeConfig, "kubeconfig", "",
		"kubeconfig `file` of the install runner's Kubernetes cluster; KUBECONFIG is never used")
	flags.StringVar(&options.ReadyFile, "ready-file", "", "JSON file to write when everything is ready")
	return command
}

// kubeConfig returns the absolute path of the file, which must exist; "" for "".
func kubeConfig(given string) (string, error) {
	if given == "" {
		return "", nil
	}
	path, err := filepath.Abs(given)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", exitcode.With(exitcode.Usage,
			fmt.Errorf("--kubeconfig: %w; name the kubeconfig of the cluster to deploy into", err))
	}
	return path, nil
}
