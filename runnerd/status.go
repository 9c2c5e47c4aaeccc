package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/runnerd/runner"
)

func newStatus() *cobra.Command {
	var options runner.StatusOptions
	var output string
	command := &cobra.Command{
		Use:   "status",
		Short: "Show running jobs and undelivered results, without the network",
		Long: `Read a runner's directory and print the identity of the runner, whether it is running,
what its file allows, and its jobs. This does not contact the control plane, so it works
while the network is down.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			status, err := runner.ReadStatus(options)
			if err != nil {
				return err
			}
			switch output {
			case "json":
				encoder := json.NewEncoder(command.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(status)
			case "table":
				return printStatus(command.OutOrStdout(), status)
			}
			return fmt.Errorf("-o %s is not known; use table or json", output)
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.Dir, "dir", defaultDir, "the runner's own directory")
	flags.StringVar(&options.Policy, "policy", "", "the runner file (default <dir>/runner.toml, if it exists)")
	flags.StringVarP(&output, "output", "o", "table", "table or json")
	return command
}

func printStatus(out io.Writer, status runner.Status) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	process := "no runnerd is running here"
	if status.Running {
		process = "running"
	}
	if status.Runner == "" {
		fmt.Fprintf(table, "runner\tnot registered\n")
	} else {
		fmt.Fprintf(table, "runner\t%s (%s, %s)\n", status.Name, status.Runner, status.Kind)
	}
	if status.KeyFingerprint != "" {
		fmt.Fprintf(table, "install key\t%s\n", status.KeyFingerprint)
	}
	fmt.Fprintf(table, "process\t%s\n", process)
	fmt.Fprintf(table, "programs\t%s\n", status.Programs)
	for _, line := range status.PolicyLines() {
		fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
	}
	for _, g := range status.Grants {
		fmt.Fprintf(table, "granted\t%s until %s, by %s\n", g.Role, g.Until.UTC().Format(time.RFC3339), g.By)
	}
	if status.Undelivered > 0 {
		fmt.Fprintf(table, "undelivered\t%d in undelivered/: the control plane rejected them\n", status.Undelivered)
	}
	fmt.Fprintf(table, "jobs\t%d\n", len(status.Attempts))
	if len(status.Attempts) > 0 {
		fmt.Fprintf(table, "\nJOB\tATTEMPT\tKIND\tINSTALL\tSTATUS\tSINCE\tUNDELIVERED\n")
	}
	for _, a := range status.Attempts {
		since, install := "-", "-"
		if !a.Started.IsZero() {
			since = a.Started.Local().Format("2 Jan 15:04:05")
		}
		if a.Install != "" {
			install = a.Install
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\t%d states\n", a.Job, a.Attempt, a.Kind, install, a.Status,
			since, a.States)
	}
	return table.Flush()
}
