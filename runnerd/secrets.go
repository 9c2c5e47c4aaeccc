package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/runner"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/jobstore"
	"github.com/nuon-toolkit/nuon/runnerd/secretsync"
)

// secretFlags are the flags of the commands for secrets.
type secretFlags struct {
	dir, policy, kubeConfig, install string
}

func newSecrets() *cobra.Command {
	command := &cobra.Command{
		Use:   "secrets",
		Short: "Set the secrets that an app asks its customer for",
		Long: `Set the secrets that an app asks its customer for. They are stored in the customer's own account or cluster:
in the store of the section [secrets] of the runner file, else in that of the cloud or the cluster that the
environment shows (AWS_REGION, GOOGLE_CLOUD_PROJECT, --kubeconfig). The vendor never sees a value: the control
plane gets names and ids of versions.

Run these commands on the runner's machine, or anywhere with access to the store.`,
	}
	command.AddCommand(newListSecrets(), newSetSecret(), newGenerateSecret(), newDeleteSecret())
	return command
}

func (f *secretFlags) add(command *cobra.Command) *cobra.Command {
	flags := command.Flags()
	flags.StringVar(&f.dir, "dir", "", "the runner's own directory, whose runner.toml and installs are meant")
	flags.StringVar(&f.policy, "policy", "", "the runner file (default <dir>/runner.toml, if it exists)")
	flags.StringVar(&f.kubeConfig, "kubeconfig", os.Getenv("KUBECONFIG"),
		"the `file` with the access to the cluster, for secrets that are stored in Kubernetes")
	flags.StringVar(&f.install, "install", "", "the `id` of the install (default the only one that the runner has)")
	return command
}

// open returns the store, and the secrets that the runner was asked for.
func (f *secretFlags) open(ctx context.Context) (secretstore.Store, []secretsync.Requested, error) {
	path := f.policy
	if path == "" && f.dir != "" {
		path = runner.PolicyFile(f.dir)
	}
	file := policy.Default()
	if path != "" {
		read, err := policy.Read(path)
		if err != nil && (f.policy != "" || !errors.Is(err, fs.ErrNotExist)) {
			return nil, nil, err
		}
		if err == nil {
			file = read
		}
	}
	var requested []secretsync.Requested
	if f.dir != "" {
		var err error
		if requested, err = secretsync.LoadRequested(f.dir); err != nil {
			return nil, nil, err
		}
	}
	if f.kubeConfig != "" {
		absolute, err := filepath.Abs(f.kubeConfig)
		if err != nil {
			return nil, nil, err
		}
		f.kubeConfig = absolute
	}
	store, err := jobstore.Open(ctx, file.Secrets, f.kubeConfig, quietLog{})
	return store, requested, err
}

// openFor opens the store for one secret, and returns the secret's full name.
func (f *secretFlags) openFor(ctx context.Context, secret string) (secretstore.Store, secretstore.Name, error) {
	store, requested, err := f.open(ctx)
	if err != nil {
		return nil, secretstore.Name{}, err
	}
	name, err := f.nameOf(secret, requested)
	return store, name, err
}

// nameOf returns the full name of a secret. The install is the one of --install, else the only one that asks for it.
func (f *secretFlags) nameOf(secret string, requested []secretsync.Requested) (secretstore.Name, error) {
	if f.install != "" {
		return secretstore.Name{Install: f.install, Secret: secret}, nil
	}
	found := ""
	for _, r := range requested {
		if r.Name != secret {
			continue
		}
		if found != "" && found != r.Install {
			return secretstore.Name{}, fmt.Errorf("several installs ask for secret %s; name one with --install: %s or %s",
				secret,
				found, r.Install)
		}
		found = r.Install
	}
	if found == "" {
		return secretstore.Name{}, fmt.Errorf("no install of this runner has asked for secret %s; name the runner's "+
			"directory with --dir, or the install with --install ID", secret)
	}
	return secretstore.Name{Install: found, Secret: secret}, nil
}

func newListSecrets() *cobra.Command {
	var f secretFlags
	return f.add(&cobra.Command{
		Use: "list", Args: cobra.NoArgs,
		Short: "List the secrets that installs of this runner ask for, and whether they are set",
		RunE: func(command *cobra.Command, _ []string) error {
			if f.dir == "" {
				return errors.New("name the runner's directory with --dir")
			}
			store, requested, err := f.open(command.Context())
			if err != nil {
				return err
			}
			if len(requested) == 0 {
				_, err := fmt.Fprintln(command.OutOrStdout(), "no install of this runner has asked for a secret yet")
				return err
			}
			table := tabwriter.NewWriter(command.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintf(table, "NAME\tINSTALL\tSTATE\tVERSION\tWHERE\n")
			for _, r := range requested {
				if f.install != "" && f.install != r.Install {
					continue
				}
				name := secretstore.Name{Install: r.Install, Secret: r.Name, Address: r.Address}
				version, err := store.Version(command.Context(), name)
				state := "set"
				switch {
				case errors.Is(err, secretstore.ErrMissing):
					state = "missing"
				case errors.Is(err, secretstore.ErrNotPermitted):
					state = "not permitted"
				case err != nil:
					state = "unknown: " + err.Error()
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", r.Name, r.InstallName, state, dash(version), store.Location(name))
			}
			return table.Flush()
		},
	})
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func newSetSecret() *cobra.Command {
	var f secretFlags
	return f.add(&cobra.Command{
		Use: "set NAME", Args: cobra.ExactArgs(1),
		Short: "Store a value that is entered on the terminal, or that standard input has",
		Long: `Store a value that is entered on the terminal, hidden, or that standard input has. One newline at the end is
not part of the value. What reads the secret is deployed again once the runner has found the new version.`,
		Example: `  runnerd secrets set smtp_password --dir /var/lib/nuon-runner
  runnerd secrets set smtp_password --install ins_06hv --kubeconfig kubeconfig < password.txt`,
		RunE: func(command *cobra.Command, args []string) error {
			store, name, err := f.openFor(command.Context(), args[0])
			if err != nil {
				return err
			}
			value, err := readSecret(command.InOrStdin(), command.ErrOrStderr(), name.Secret)
			if err != nil {
				return err
			}
			return f.set(command, store, name, value)
		},
	})
}

func (f *secretFlags) set(command *cobra.Command, store secretstore.Store, name secretstore.Name,
	value seal.Secret) error {
	if err := store.Set(command.Context(), name, value); err != nil {
		return fmt.Errorf("set secret %s: %w", name.Secret, err)
	}
	if err := f.record(audit.SecretSet, name); err != nil {
		return err
	}
	_, err := fmt.Fprintf(command.OutOrStdout(), "set %s in %s\n", name.Secret, store.Location(name))
	return err
}

// record adds what the owner did with a secret to the log of the runner, if the command was given its directory.
func (f *secretFlags) record(what string, name secretstore.Name) error {
	if f.dir == "" {
		return nil
	}
	return audit.Append(f.dir, audit.Event{What: what, By: owner(), Secret: name.Secret, Install: name.Install})
}

// readSecret reads a value from a terminal, hidden, or from a file or a pipe.
func readSecret(in io.Reader, prompt io.Writer, name string) (seal.Secret, error) {
	if file, is := in.(*os.File); is && term.IsTerminal(int(file.Fd())) {
		fmt.Fprintf(prompt, "value of %s (hidden): ", name)
		value, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(prompt)
		if err != nil {
			return seal.Secret{}, fmt.Errorf("read the value of %s: %w", name, err)
		}
		return seal.NewSecret(value), nil
	}
	content, err := io.ReadAll(io.LimitReader(in, secretstore.MaxValueBytes+2+1)) // with a newline, and one too many
	if err != nil {
		return seal.Secret{}, fmt.Errorf("read the value of %s: %w", name, err)
	}
	if line, ended := bytes.CutSuffix(content, []byte("\n")); ended {
		content = bytes.TrimSuffix(line, []byte("\r"))
	}
	return seal.NewSecret(content), nil
}

func newGenerateSecret() *cobra.Command {
	var f secretFlags
	return f.add(&cobra.Command{
		Use: "generate NAME", Args: cobra.ExactArgs(1),
		Short: "Store a random value of 63 letters and digits",
		RunE: func(command *cobra.Command, args []string) error {
			store, name, err := f.openFor(command.Context(), args[0])
			if err != nil {
				return err
			}
			return f.set(command, store, name, secretstore.Generate())
		},
	})
}

func newDeleteSecret() *cobra.Command {
	var f secretFlags
	return f.add(&cobra.Command{
		Use: "delete NAME", Args: cobra.ExactArgs(1),
		Short: "Delete a secret from its store",
		Long: `Delete a secret from its store. What was deployed with it keeps running; what reads it is not deployed again
until it is set. AWS keeps a deleted secret for 7 days, and Azure for the retention time of the vault: setting
it again restores it.`,
		RunE: func(command *cobra.Command, args []string) error {
			store, name, err := f.openFor(command.Context(), args[0])
			if err != nil {
				return err
			}
			if err := store.Delete(command.Context(), name); err != nil {
				return fmt.Errorf("delete secret %s: %w", name.Secret, err)
			}
			if err := f.record(audit.SecretDeleted, name); err != nil {
				return err
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "deleted %s from %s\n", name.Secret, store.Location(name))
			return err
		},
	})
}

// quietLog discards what a connection to a cluster logs for a job.
type quietLog struct{}

func (quietLog) Debug(string, ...any)            {}
func (quietLog) Info(string, ...any)             {}
func (quietLog) Warn(format string, args ...any) { slog.Warn(fmt.Sprintf(format, args...)) }
