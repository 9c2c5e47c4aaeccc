package main

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/runner"
)

func newCheck() *cobra.Command {
	var file, dir string
	command := &cobra.Command{
		Use:   "check",
		Short: "Show what a runner file allows",
		Long: `Read a runner file and say what it allows now, or what is wrong with it and where.
A runner that works with this file sees it the same way. The exit code is 0 when
the file can be used.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			path := file
			if path == "" && dir != "" {
				path = runner.PolicyFile(dir)
			}
			if path == "" {
				return errors.New("name the file with --policy, or the runner's directory with --dir")
			}
			read, err := policy.Read(path)
			if file == "" && errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%w\na runner that is started without this file allows everything; one that had it takes no "+
					"jobs until it is back", err)
			}
			if err != nil {
				return fmt.Errorf("%w\na runner with this file takes no jobs; correct it, and it counts at once", err)
			}
			for _, line := range read.RuleAt(time.Now()).Lines() {
				if _, err := fmt.Fprintf(command.OutOrStdout(), "%-11s %s\n", line[0], line[1]); err != nil {
					return err
				}
			}
			return nil
		},
	}
	command.Flags().StringVar(&file, "policy", "", "the runner file")
	command.Flags().StringVar(&dir, "dir", "", "the runner's own directory, whose runner.toml is meant")
	return command
}
