package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/runnerd/runner"
)

// systemFiles are what the machine of an install stack has of the runner besides its directory.
var systemFiles = []string{"/etc/systemd/system/nuon-runner.service", "/etc/nuon", "/usr/local/bin/runnerd"}

// afterwards is what uninstall leaves to the owner.
const afterwards = `
These stay, and only you can delete them:
  - what the app created in your account: before you uninstall, ask the vendor to deprovision the install
  - the stack of the install, with the machine, the roles, the network and the secrets: delete it in your cloud account.
    On a machine of the stack delete the stack alone: otherwise the stack starts another machine with a runner.
  - copies of artifacts in your registry
  - the user of jobs: sudo userdel nuon-job
`

// uninstallation is one call of the command.
type uninstallation struct {
	dir     string
	root    string // of the machine's files; replaced by tests
	yes     bool
	discard bool
}

func newUninstall() *cobra.Command {
	u := uninstallation{root: "/"}
	command := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the runner from this machine",
		Long: `Print what removing the runner from this machine deletes, and what stays for you to delete. With --yes,
delete it: the runner's directory with its keys, its audit log and its grants, its service, its configuration and
runnerd. Stop the service first.

Without the install key nobody can read what is sealed to it: the Terraform states and the sensitive values of the
installs that this runner ran.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return u.run(command.OutOrStdout()) },
	}
	command.Flags().BoolVar(&u.yes, "yes", false, "delete it; without this flag nothing is deleted")
	command.Flags().BoolVar(&u.discard, "discard-jobs", false, "also if jobs run, or their results are not delivered")
	addDir(command, &u.dir)
	return command
}

func (u uninstallation) run(out io.Writer) error {
	status, err := runner.ReadStatus(runner.StatusOptions{Dir: u.dir})
	if err != nil {
		return err
	}
	if _, err := os.Lstat(runner.KeyFile(u.dir)); err != nil {
		return fmt.Errorf("%s is not the directory of a runner (it has no install key); name that directory with --dir",
			u.dir)
	}
	switch {
	case !u.yes:
	case status.Running:
		return errors.New("the runner is running; stop it first: sudo systemctl disable --now nuon-runner")
	case len(status.Attempts) > 0 && !u.discard:
		return fmt.Errorf("%d jobs run, or their results are not delivered; start the runner until it has delivered them, "+
			"or pass --discard-jobs", len(status.Attempts))
	}
	files, err := u.files()
	if err != nil {
		return err
	}
	verb := "would delete"
	if u.yes {
		verb = "deleted"
	}
	for _, file := range files {
		if u.yes {
			if err := os.RemoveAll(file); err != nil {
				return fmt.Errorf("uninstall: %w", err)
			}
		}
		fmt.Fprintln(out, verb, file)
	}
	if _, err := io.WriteString(out, afterwards); err != nil || u.yes {
		return err
	}
	_, err = fmt.Fprintln(out, "\nNothing was deleted. Keep a copy of audit/ if you need it, and "+
		"run it again with --yes.")
	return err
}

// files returns what is deleted: what is in the runner's directory, which may be the root of a volume, and the files of
// the machine that exist.
func (u uninstallation) files() ([]string, error) {
	entries, err := os.ReadDir(u.dir)
	if err != nil {
		return nil, fmt.Errorf("uninstall: %w", err)
	}
	var all []string
	for _, entry := range entries {
		all = append(all, filepath.Join(u.dir, entry.Name()))
	}
	for _, name := range systemFiles {
		file := filepath.Join(u.root, name)
		_, err := os.Lstat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("uninstall: %w", err)
		}
		all = append(all, file)
	}
	return all, nil
}
