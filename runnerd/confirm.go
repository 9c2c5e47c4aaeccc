package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

func newConfirmEnded() *cobra.Command {
	var dir, reason string
	command := &cobra.Command{
		Use:   "confirm-ended JOB/ATTEMPT",
		Short: "Confirm that nothing runs of a job whose pod or node is lost",
		Long: `Confirm that nothing runs of a job whose node does not report how its pod ended. Until then the runner
reports nothing about the job, because its pod may still run on a node that lost its connection, and a second attempt
would work at the same time. Make sure that the node is off, or that no process of the job is left on it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			attempt, err := attemptOf(dir, args[0])
			if err != nil {
				return err
			}
			pod, found, err := attempt.Pod()
			switch {
			case err != nil:
				return err
			case !found:
				return fmt.Errorf("%s is no job of this runner that runs as a pod; see runnerd status", args[0])
			case pod.Ended != nil:
				return fmt.Errorf("%s has ended, and the runner knows that; see runnerd status", args[0])
			case pod.Unproven == "":
				return fmt.Errorf("the pod of %s is %s in the namespace %s, so the runner learns how it ends; cancel the job "+
					"instead", args[0], pod.Name, pod.Namespace)
			}
			record, err := attempt.Record()
			if err != nil {
				return err
			}
			now := time.Now()
			err = audit.Append(dir, audit.Event{At: now, What: audit.EndConfirmed, By: owner(), Job: record.Job,
				Attempt: record.Attempt, Reason: reason})
			if err != nil {
				return err
			}
			if err := attempt.ConfirmEnded(now); err != nil {
				return err
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "confirmed: nothing of %s runs, so it may be started again\n", args[0])
			return err
		},
	}
	command.Flags().StringVar(&reason, "reason", "", "how you know, for the audit log")
	addDir(command, &dir)
	return command
}

// attemptOf returns the attempt that JOB/ATTEMPT names.
func attemptOf(dir, name string) (spool.Attempt, error) {
	job, number, _ := strings.Cut(name, "/")
	attempt, err := strconv.Atoi(number)
	if err != nil {
		return spool.Attempt{}, fmt.Errorf("%q is no attempt of a job; runnerd status shows them, such as job_06hv/1", name)
	}
	return spool.Spool{Root: dir}.Attempt(job, attempt)
}
