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
		Long: `Run the whole system on this machine: PostgreSQL, the control plane with its registry, a build runner and a local install
runner. Nothing has to be configured. Ctrl-C stops it; the next start goes on with the same data.

DATABASE_URL (PostgreSQL 14 or newer) replaces the private PostgreSQL, and NUON_REGISTRY (host/path, with
NUON_REGISTRY_USERNAME and NUON_REGISTRY_PASSWORD) the embedded registry.`,
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
		"where everything is kept (default: nuon/dev in the place for user data; for root /var/lib/nuon/dev)")
	flags.StringVar(&options.Listen, "listen", DefaultListen, "address of the control API")
	flags.StringVar(&options.RunnerListen, "runner-listen", DefaultRunnerListen, "address of the runner API")
	flags.StringVar(&options.RegistryListen, "registry-listen", DefaultRegistryListen,
		"address of the embedded registry")
	flags.StringArrayVar(&options.FileRemotes, "allow-file-remotes", nil,
		"directory below which file:// git repositories are allowed; may be given again (default: the git repository that "+
			"you are in, else this directory)")
	flags.BoolVar(&options.PrivateRemotes, "allow-private-remotes", false,
		"let https:// repositories, chart repositories, and files that configs refer to, be in private networks")
	flags.StringVar(&options.Org, "org", "dev", "name of the org")
	flags.DurationVar(&options.Poll, "poll", 2*time.Second, "how often git repositories are looked at")
	flags.StringVar(&options.KubeConfig, "kubeconfig", "",
		"`file` by which the install runner finds its Kubernetes cluster; KUBECONFIG is never used")
	flags.StringVar(&options.ReadyFile, "ready-file", "", "file to write, as JSON, when everything is up")
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
