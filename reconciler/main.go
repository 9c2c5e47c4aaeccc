// Command reconciler is the control plane: it watches git, has components built, determines which
// installs are behind, plans, asks for approvals, and has runners apply approved plans. All its
// state is in Postgres, which any number of replicas share.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nuon-toolkit/nuon/pkg/hardening"
	"github.com/nuon-toolkit/nuon/pkg/telemetry"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/reconciler/api/ratelimit"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

func main() {
	// This process holds the server's key and the database's password in memory.
	if err := hardening.HideMemory(); err != nil {
		fmt.Fprintln(os.Stderr, "reconciler:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := execute(ctx, newRoot())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "reconciler:", err)
		os.Exit(1)
	}
}

// execute runs the command line. It adds a pointer to the help to errors in the command line
// itself.
func execute(ctx context.Context, root *cobra.Command) error {
	began, before := false, root.PersistentPreRunE
	root.PersistentPreRunE = func(c *cobra.Command, args []string) error {
		began = true
		return before(c, args)
	}
	command, err := root.ExecuteContextC(ctx)
	if err != nil && !began {
		err = fmt.Errorf("%s\nRun `%s --help` for usage.", strings.TrimSpace(err.Error()), command.CommandPath()) //nolint:staticcheck // a sentence for a person
	}
	return err
}

func newRoot() *cobra.Command {
	var log telemetry.LogOptions
	root := &cobra.Command{
		Use: "reconciler", Short: "The control plane of nuon", Version: version.Number,
		SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			logger, err := telemetry.NewLog(c.ErrOrStderr(), log)
			if err == nil {
				slog.SetDefault(logger)
			}
			return err
		},
	}
	root.PersistentFlags().StringVar(&log.Format, "log-format", "text", "format of the log: text or json")
	root.PersistentFlags().StringVar(&log.Level, "log-level", "info",
		"lowest level to log: debug, info, warn or error")
	root.AddCommand(newServe(), newMigrate(), newBootstrap(), newRetain())
	return root
}

// databaseFlag defines --database-url, whose default is DATABASE_URL. The help must not show that
// default, because it may contain a password.
func databaseFlag(f *pflag.FlagSet, url *string, usage string) {
	f.StringVar(url, "database-url", os.Getenv("DATABASE_URL"), usage+" (default: DATABASE_URL)")
	f.Lookup("database-url").DefValue = ""
}

func newServe() *cobra.Command {
	var o serveOptions
	var gitMirrors []string
	c := &cobra.Command{
		Use: "serve", Short: "Run one replica of the control plane", Args: cobra.NoArgs,
		Long: `Runs one replica: the control API, the runner API, the reconcilers and, unless NUON_REGISTRY names another, the
embedded OCI registry (for one replica).

Environment: DATABASE_URL (Postgres 14 or newer); NUON_REGISTRY (host/path) with NUON_REGISTRY_USERNAME and
NUON_REGISTRY_PASSWORD (without both, it logs in to a registry of AWS, Google Cloud or Azure with its own identity
there), and NUON_REGISTRY_PLAIN_HTTP=1 for one without TLS; OTEL_EXPORTER_OTLP_ENDPOINT and the other
standard variables of OpenTelemetry to export traces.

Every listener answers /healthz (the process lives) and /readyz (it should be given work; JSON says why not).
docs/operations.md tells how to run several replicas.`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			o.registry = externalRegistry(os.Getenv)
			if o.gitMirrors, err = observe.ParseGitMirrors(gitMirrors); err != nil {
				return fmt.Errorf("--git-mirror: %w", err)
			}
			return serve(c.Context(), o)
		},
	}
	f := c.Flags()
	databaseFlag(f, &o.databaseURL, "URL of the Postgres database")
	f.StringVar(&o.listen, "listen", "127.0.0.1:7110", "address of the control API")
	f.StringVar(&o.runnerListen, "runner-listen", "127.0.0.1:7111", "address of the runner API")
	f.StringVar(&o.registryListen, "registry-listen", "127.0.0.1:7112", "address of the embedded registry")
	f.StringVar(&o.dataDir, "data-dir", "", "directory for git mirrors and the embedded registry")
	f.StringVar(&o.keyFile, "key-file", "",
		"file with the control plane's key; created if it does not exist; all replicas need the same one")
	f.StringArrayVar(&o.fileRemotes, "allow-file-remotes", nil,
		"directory below which file:// repositories may be read (repeatable)")
	f.BoolVar(&o.allowPrivate, "allow-private-remotes", false,
		"allow https:// repositories, and files that configs refer to, in private networks")
	f.StringArrayVar(&gitMirrors, "git-mirror", nil,
		"FROM=TO: read git repositories whose URL starts with FROM at TO instead (repeatable); docs/git.md")
	f.DurationVar(&o.poll, "poll", time.Minute, "interval at which each watched ref is polled")
	f.StringVar(&o.metricsListen, "insight-listen", "",
		"address for /metrics and /debug/status, without authentication (default none)")
	f.BoolVar(&o.profiles, "insight-pprof", false, "profiles under /debug/pprof on the insight listener, too")
	f.BoolVar(&o.migrate, "migrate", true, "migrate the database to this program's schema first")
	f.DurationVar(&o.drainDelay, "drain-delay", 0,
		"how long /readyz fails before a replica that stops closes its listeners")
	f.StringVar(&o.tlsCert, "tls-cert", "",
		"certificate chain (PEM) with which the control API and the runner API speak TLS; read again when it changes")
	f.StringVar(&o.tlsKey, "tls-key", "", "private key (PEM) of --tls-cert")
	f.Float64Var(&o.rateLimit.Rate, "rate", ratelimit.DefaultRate,
		"sustained requests per second of one token (ten times that in a burst)")
	f.BoolVar(&o.rateLimit.BehindProxy, "behind-proxy", false,
		"take the client's address from the last entry of X-Forwarded-For, which the proxy must set")
	f.StringVar(&o.runnerURL, "runner-url", "",
		"address at which the machines of install stacks reach the runner API, https://HOST[:PORT]")
	f.StringVar(&o.runnerProgram, "runner-program", "",
		"runnerd for linux/amd64, which those machines download from the runner API by its digest")
	f.StringVar(&o.stackBucket, "stack-bucket", "",
		"address of a bucket that customers can read, https://HOST/PREFIX, for templates of install stacks: of S3 or a "+
			"compatible store, of Google Cloud Storage, or of Azure Blob Storage")
	f.StringVar(&o.azureAudience, "azure-audience", "",
		"identifier URI of your application, api://…, for which machines on Azure get the tokens that prove their identity")
	retentionFlags(f, &o.retention)
	f.DurationVar(&o.refreshImages, "refresh-images", 0,
		"how often tags and version policies of images are resolved again, such as 6h; 0 for only on request")
	stateFlags(f, &o.states)
	f.StringVar(&o.readyFile, "ready-file", "", "file to write, as JSON, when all listeners are up")
	for _, name := range []string{"data-dir", "key-file"} {
		_ = c.MarkFlagRequired(name) // fails only for an undefined flag
	}
	return c
}

func newMigrate() *cobra.Command {
	var url string
	c := &cobra.Command{
		Use: "migrate", Short: "Migrate the database to this program's schema (serve does it, too)", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return store.Migrate(c.Context(), url) },
	}
	databaseFlag(c.Flags(), &url, "Postgres to migrate")
	return c
}

func newBootstrap() *cobra.Command {
	var o bootstrapOptions
	var output string
	c := &cobra.Command{
		Use: "bootstrap", Short: "Create an org if it does not exist, and an admin token for it", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if output != "json" && output != "token" {
				return errors.New("-o: use json or token")
			}
			made, err := createBootstrap(c.Context(), o)
			if err != nil {
				return err
			}
			if output == "token" {
				_, err = fmt.Println(made.Token)
				return err
			}
			return json.NewEncoder(os.Stdout).Encode(made)
		},
	}
	f := c.Flags()
	databaseFlag(f, &o.databaseURL, "the control plane's Postgres, migrated")
	f.StringVar(&o.keyFile, "key-file", "", "the control plane's own key")
	f.StringVar(&o.org, "org", "", "name of the org")
	f.StringVar(&o.actor, "name", "bootstrap",
		"name of the token, which the audit log shows; it replaces a token of that name")
	f.StringVarP(&output, "output", "o", "token", "what to print: token, or json with access to the embedded registry")
	for _, name := range []string{"key-file", "org"} {
		_ = c.MarkFlagRequired(name) // fails only for an undefined flag
	}
	return c
}
