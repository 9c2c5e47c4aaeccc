// Command up starts a private Kubernetes for a user, prints the lines that configure kubectl and
// put it on the PATH, and runs until it is interrupted. Then it removes everything, unless a
// directory was named; the next start continues with that. It builds the program if necessary.
//
//	go run ./examples/internal/kubernetes/up [-dir DIR] [-port N]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/nuon-toolkit/nuon/examples/internal/kubernetes"
)

func main() {
	dir := flag.String("dir", "", "keep the state in `DIR`")
	port := flag.Int("port", 0, "let the API server listen on port `N`")
	only := flag.Bool("build", false, "only build the program, and print where it is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *dir, *port, *only, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "up:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string, port int, only bool, out io.Writer) (err error) {
	if only {
		return build(ctx, out)
	}
	if dir == "" {
		dir, err = os.MkdirTemp("", "nuon-kubernetes-")
		if err != nil {
			return fmt.Errorf("make a place for the cluster: %w", err)
		}
		defer os.RemoveAll(dir) //nolint:errcheck // the system's temporary directory is emptied some day
	}
	cluster, program, err := kubernetes.Up(ctx, dir, port, os.Stderr)
	if err != nil {
		return err
	}
	tools := filepath.Join(filepath.Dir(cluster.Kubeconfig), "bin")
	if err := kubernetes.Tools(program, tools); err != nil {
		return errors.Join(err, cluster.Stop())
	}
	fmt.Fprintf(out, "export KUBECONFIG=%s PATH=%s:$PATH\n", cluster.Kubeconfig, tools)
	fmt.Fprintln(os.Stderr, "It is ready, and stays until you press Ctrl-C. Pods are pretended; those of Jobs run on "+
		"this machine, without isolation.")
	select {
	case <-ctx.Done():
	case <-cluster.Ended():
	}
	return cluster.Stop()
}

func build(ctx context.Context, out io.Writer) error {
	source, err := kubernetes.Source()
	if err != nil {
		return err
	}
	path, err := kubernetes.Build(ctx, source, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, path)
	return nil
}
