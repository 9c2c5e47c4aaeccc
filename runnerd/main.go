// Command runnerd is the runner: it leases jobs from the control plane, runs each in a separate
// process on this machine or in a pod of a cluster, and delivers their results. `runnerd run` is the daemon;
// `runnerd job` is the process that it starts for one job.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/hardening"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/kind/kubernetes"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform"
	"github.com/nuon-toolkit/nuon/runnerd/process"
	"github.com/nuon-toolkit/nuon/runnerd/runner"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

func main() {
	kubernetes.RunKustomizeProcess()
	if err := execute(newRoot()); err != nil {
		fmt.Fprintln(os.Stderr, "runnerd:", err)
		os.Exit(1)
	}
}

// execute runs the command line. Errors in the command line itself refer to the help.
func execute(root *cobra.Command) error {
	began := false
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	command, err := root.ExecuteC()
	if err != nil && !began {
		err = fmt.Errorf("%s\nRun `%s --help` for usage.", strings.TrimSpace(err.Error()), command.CommandPath()) //nolint:staticcheck // a sentence for a person
	}
	return err
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use: "runnerd", Short: "The runner of nuon", Version: version.Number, SilenceUsage: true, SilenceErrors: true,
	}
	root.SetVersionTemplate("runnerd {{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newRun(), newCheck(), newStatus(), newPause(), newResume(), newGrants(), newAudit(),
		newConfirmEnded(), newUninstall(), newSecrets(), newJob())
	root.AddCommand(newDiff(), newRender())
	return root
}

// varToken is the variable of the registration token. On a command line every user of the
// machine could read it.
const varToken = "NUON_REGISTRATION_TOKEN"

// varClaim is the variable of the claim, which names the install of a machine that registers by its
// cloud identity.
const varClaim = "NUON_CLAIM"

const runHelp = `Lease jobs and run them, until stopped.

The first start registers this runner with the token in ` + varToken + `, or with
--cloud and ` + varClaim + ` by the identity that the cloud gives this machine, and makes
its install key in <dir>/install.key. That key opens the install's secrets and
state and is nowhere else: keep a copy of it in a safe place.

What this runner may do is its owner's to say, in the runner file: which kinds of
job and component it takes, when, and with how much memory and time. It is
<dir>/runner.toml if that is there, or what --policy names; a change counts at
once, SIGHUP or not. "runnerd check" says what a file allows.

A runner that was replaced (nuon runners replace) delivers what it still holds and
takes no more jobs. Started in the same directory with a new token it goes on, with
the same install key.

SIGTERM or SIGINT: no more jobs are taken, and those that end within a few
seconds are waited for. The others go on by themselves; the next "runnerd run" in
the same directory adopts them. A second signal does not wait. Under systemd that
takes KillMode=process in the unit; without it a stop interrupts the jobs as well.

Variables:
  ` + varToken + `   the registration token, the first time
  ` + varClaim + `                the claim of the install's stack, for --cloud; it is no secret
  NUON_REGISTRY             host/path of the registry: the vendor's on a build
                            runner, the install's on an install runner
  NUON_REGISTRY_USERNAME, NUON_REGISTRY_PASSWORD
                            what it asks for; --registry-password-file keeps the
                            password out of the environment; without both, the
                            runner logs in to a registry of AWS, Google Cloud or
                            Azure with its own identity there
  NUON_REGISTRY_PLAIN_HTTP  1 for a registry without TLS
  NUON_RUNNER_IMAGE         the image of the pods of jobs, where the runner file runs
                            them in a cluster and names none; that of this runner
  NUON_RUNNER_NODE          the node that this runner runs on, for a volume that
                            only one node can mount
  NUON_CHARTS_PRIVATE       1 on a build runner that may fetch charts from private
                            networks, and from this machine
  NUON_MODULES_PRIVATE      on a build runner, the hosts of Terraform modules that it
                            may fetch from private networks and from this machine,
                            separated by commas; 1 for all
  NUON_IMAGES_PRIVATE       the same for the hosts of registries of images
  NUON_TERRAFORM            the terraform or tofu to use; else the version that
                            an app names is found on PATH or fetched
  NUON_TERRAFORM_RELEASES   a mirror of the release site, to fetch it from
  NUON_TF_CLI_CONFIG_FILE   Terraform's own configuration, such as a mirror of
                            providers or, on a build runner, of a module registry;
                            else an empty one is used

What jobs see: of the variables that this command is started with, Terraform and
actions see PATH, HOME, TMPDIR, LANG, TZ and those of proxies and certificates. On
an install runner they also see its identity in a cloud or cluster: AWS_*,
AZURE_*, ARM_*, GOOGLE_*, CLOUDSDK_*, KUBE_*, KUBERNETES_SERVICE_*, KUBECONFIG,
GCE_METADATA_HOST, IDENTITY_* and MSI_*. Any other has to be named with
--pass-env. Credentials among them, and all that --pass-env names, are masked in
logs. Actions see what leads to a cluster (KUBECONFIG, KUBE_*, KUBERNETES_SERVICE_*)
only with enable_kube_config = true; --kubeconfig then says which file they get.
A plan is stale if a variable that names an account, project, region or cluster
has another value at its apply. Credentials, files such as ~/.aws/config, and the
machine's metadata service are not compared.`

func newRun() *cobra.Command {
	options := runner.Options{Version: version.Number, FinishKilled: finishKilled}
	var insight telemetryFlags
	var passwordFile string
	command := &cobra.Command{
		Use:   "run",
		Short: "Lease jobs and run them, until stopped",
		Long:  runHelp,
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := hardening.HideMemory(); err != nil {
				return err
			}
			var err error
			if options.Token, err = takeSecret(varToken); err != nil {
				return err
			}
			if options.RegistryPassword, err = registryPassword(passwordFile); err != nil {
				return err
			}
			options.RegistryUsername = os.Getenv(job.VarRegistryUsername)
			if options.Claim.Cloud != "" {
				options.Claim.Token = os.Getenv(varClaim)
			}
			parent, log, stopInsight, err := insight.open(command.Context(), command.ErrOrStderr())
			if err != nil {
				return err
			}
			defer stopInsight() //nolint:errcheck // the runner has ended; nobody looks any more
			options.Log = log
			if options.Name != "" {
				options.Log = options.Log.With("runner_name", options.Name)
			}
			ctx, abandon, release := untilStopped(parent)
			defer release()
			options.StopNow = abandon
			options.Reaper = true
			if err := process.Adopt(); err != nil {
				return err
			}
			reload, ignore := onHangUp()
			defer ignore()
			options.Reload = reload
			err = runner.Run(ctx, options)
			if ctx.Err() != nil && errors.Is(err, context.Canceled) {
				return nil // stopped during the registration
			}
			return err
		},
	}
	flags := command.Flags()
	insight.flags(flags)
	flags.StringVar(&options.URL, "url", "", "the runner API, https://host:port (required)")
	flags.StringVar(&options.Dir, "dir", "", "this runner's own directory (required)")
	flags.StringVar(&options.Name, "name", "", "name of this runner in its own log")
	flags.IntVar(&options.Capacity, "capacity", 2, "maximum number of concurrent jobs, unless the runner file sets it")
	flags.BoolVar(&options.SpareProcess, "spare-process", true, "start the process of the next job before there is one, "+
		"which saves its start and takes some memory")
	flags.StringVar(&options.Policy, "policy", "", "the runner file (default <dir>/runner.toml, if it exists)")
	flags.StringVar(&options.KubeConfig, "kubeconfig", "",
		"the `file` by which actions with enable_kube_config find the cluster (default that of KUBECONFIG, if it is set)")
	flags.StringVar(&options.JobUser, "job-user", "", "run the programs of jobs (Terraform, scripts, plugins) as this "+
		"`user`: NAME, UID or UID:GID; needs root (default "+runner.DefaultJobUser+
		" where runnerd is root and that user exists)")
	flags.StringVar(&passwordFile, "registry-password-file", "",
		"read the registry's password from this `file` (/dev/fd/3 for an open file) instead of "+job.VarRegistryPassword)
	flags.StringVar(&options.Claim.Cloud, "cloud", "", "register by the identity of this machine in its `cloud` (aws, "+
		"gcp or azure) where no token is set; needs "+varClaim)
	flags.StringVar(&options.Claim.AzureAudience, "azure-audience", "",
		"with --cloud azure: the `application` of the vendor that proves identities, api://…")
	flags.StringArrayVar(&options.PassEnv, "pass-env", nil,
		"one more `variable` that jobs see, by its name (may be given again)")
	flags.StringVar(&options.Install, "install", "", "take only the jobs of the install with this `id`")
	flags.StringArrayVar(&options.BreakGlass, "break-glass-role", nil,
		"`name` of a role that needs a grant (runnerd grants), with * for any text (may be given again)")
	command.MarkFlagsRequiredTogether("url", "dir")
	command.MarkFlagsOneRequired("url", "dir")
	return command
}

func finishKilled(root string, attempt spool.Attempt, spec api.JobSpec) ([]string, error) {
	return terraform.FinishKilled(root, runner.KeyFile(root), attempt, spec)
}

// takeSecret returns the value of a variable and removes it from the environment.
func takeSecret(name string) (seal.Secret, error) {
	value := os.Getenv(name)
	if err := os.Unsetenv(name); err != nil {
		return seal.Secret{}, fmt.Errorf("take %s out of the environment: %w", name, err)
	}
	return seal.NewSecret([]byte(value)), nil
}

// maxPassword bounds the size of the registry password file, in bytes.
const maxPassword = 16 << 10

// registryPassword returns the registry's password: the content of file, or the
// variable if file is empty.
func registryPassword(file string) (seal.Secret, error) {
	password, err := takeSecret(job.VarRegistryPassword)
	if err != nil || file == "" {
		return password, err
	}
	if !password.IsZero() {
		return seal.Secret{}, fmt.Errorf("both --registry-password-file and %s are set; keep one of them",
			job.VarRegistryPassword)
	}
	opened, err := os.Open(file)
	if err != nil {
		return seal.Secret{}, fmt.Errorf("--registry-password-file: %w", err)
	}
	defer func() { _ = opened.Close() }()
	content, err := io.ReadAll(io.LimitReader(opened, maxPassword+1))
	content = bytes.TrimRight(content, "\r\n")
	switch {
	case err != nil:
		return seal.Secret{}, fmt.Errorf("--registry-password-file: %w", err)
	case len(content) == 0:
		return seal.Secret{}, fmt.Errorf("--registry-password-file: %s is empty; write the password into it", file)
	case len(content) > maxPassword:
		return seal.Secret{}, fmt.Errorf("--registry-password-file: %s has more than %d bytes; name the file of the password",
			file, maxPassword)
	}
	return seal.NewSecret(content), nil
}

// untilStopped returns a context that ends with the first stop signal, and a channel that is
// closed with the second.
func untilStopped(parent context.Context) (context.Context, <-chan struct{}, func()) {
	ctx, stop := context.WithCancel(parent)
	abandon := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	released := make(chan struct{})
	go func() { // waits for two signals, or for release
		for _, next := range []func(){stop, func() { close(abandon) }} {
			select {
			case <-signals:
				next()
			case <-released:
				return
			}
		}
	}()
	return ctx, abandon, func() {
		signal.Stop(signals)
		close(released)
		stop()
	}
}

// onHangUp returns a channel that receives an element when the runner file
// has to be read again.
func onHangUp() (<-chan struct{}, func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	reload, released := make(chan struct{}), make(chan struct{})
	go func() { // waits for the signal, or for release
		for {
			select {
			case <-signals:
			case <-released:
				return
			}
			select {
			case reload <- struct{}{}:
			case <-released:
				return
			}
		}
	}()
	return reload, func() {
		signal.Stop(signals)
		close(released)
	}
}

func newJob() *cobra.Command {
	var dir string
	var spare bool
	command := &cobra.Command{
		Use: "job", Short: "Run one job (started by runnerd run)", Hidden: true, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if spare {
				if assigned, err := job.AwaitAssignment(); err != nil || !assigned {
					return err
				}
				dir = ""
			}
			if named := os.Getenv(job.VarDir); dir != "" && named != "" && filepath.Clean(dir) != filepath.Clean(named) {
				return fmt.Errorf("--dir is %s but %s is %s; give one of them", dir, job.VarDir, named)
			}
			if dir != "" {
				if err := os.Setenv(job.VarDir, dir); err != nil {
					return fmt.Errorf("set %s: %w", job.VarDir, err)
				}
			}
			return job.RunProcess(command.Context(), handlers(), timing.Default())
		},
	}
	command.Flags().StringVar(&dir, "dir", "", "the spool directory of the attempt, or with --spare of the runner")
	command.Flags().BoolVar(&spare, "spare", false, "wait for an attempt first")
	return command
}
