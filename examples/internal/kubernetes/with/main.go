// Command with runs another command with a private Kubernetes that all tests of that command share.
// The admin's kubeconfig is in NUON_TEST_KUBECONFIG, and the program in NUON_CLUSTER. It builds the
// program if necessary, which takes minutes the first time on a machine. If the first variable is
// already set, it only runs the command. It ignores KUBECONFIG, and removes it from the command's
// environment.
//
// If the cluster cannot be built or started, the command runs with the reason in
// NUON_TEST_NO_CLUSTER, and the exit code is not zero. Set that variable to run without a cluster
// on purpose.
//
//	go run ./examples/internal/kubernetes/with -- go test ./...
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/nuon-toolkit/nuon/examples/internal/kubernetes"
	"github.com/nuon-toolkit/nuon/pkg/scratch"
)

const envKubeconfig, envProgram, envNone = "NUON_TEST_KUBECONFIG", "NUON_CLUSTER", "NUON_TEST_NO_CLUSTER"

// space is the number of bytes that must be free in memory for the objects of all tests.
const space = 2 << 30

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "with:", err)
	}
	os.Exit(code)
}

// run returns the exit code of the command, or its own error with a nonzero code.
func run(ctx context.Context, args []string) (code int, err error) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return 2, errors.New("name the command to run, after --")
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "KUBECONFIG=") })
	if os.Getenv(envKubeconfig) == "" && os.Getenv(envNone) == "" {
		dir, err := scratch.Dir("nuon-kubernetes-", space)
		if err != nil {
			return 1, fmt.Errorf("make a place for the cluster: %w", err)
		}
		defer os.RemoveAll(dir) //nolint:errcheck // the system's temporary directory is emptied some day
		cluster, program, upErr := kubernetes.Up(ctx, dir, 0, os.Stderr)
		if upErr != nil && ctx.Err() == nil {
			return without(ctx, args, env, upErr)
		}
		if upErr != nil {
			return 1, upErr
		}
		defer func() { // the result of stopping a temporary cluster does not change that of the command
			if stopped := cluster.Stop(); stopped != nil {
				fmt.Fprintln(os.Stderr, "with:", stopped)
			}
		}()
		env = append(env, envKubeconfig+"="+cluster.Kubeconfig, envProgram+"="+program)
	}
	return execute(ctx, args, env)
}

// without runs the command without a cluster and then fails, because not everything was tested.
func without(ctx context.Context, args, env []string, why error) (code int, err error) {
	fmt.Fprintln(os.Stderr, "with: there is no cluster; going on without what needs one:", why)
	reason, _, _ := strings.Cut(why.Error(), "\n")
	code, err = execute(ctx, args, append(env, envNone+"="+reason))
	return max(code, 1), errors.Join(
		err, fmt.Errorf("what needs a cluster did not run (set %s to a reason to leave it out on purpose): %w", envNone, why))
}

// execute runs the command to its end and returns its exit code.
func execute(ctx context.Context, args, env []string) (code int, err error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var exited *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exited) {
		return max(exited.ExitCode(), 1), nil
	} else if err != nil {
		return 1, err
	}
	return 0, nil
}
