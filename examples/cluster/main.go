// Command cluster is a Kubernetes control plane in one process, for tests and demos on a machine without Docker: etcd, API server,
// controller manager and scheduler as they are, and a kubelet that is fake.
//
//	cluster -dir DIR [-port N] [-tied]
//	cluster kubectl …
//
// The second form is kubectl of the same version, as the whole program is when it is called by that name. The first prints
// "KUBECONFIG=<path>" and, once its node takes pods and the default service account is there, "ready". SIGINT, SIGTERM and, with -tied,
// the end of its standard input end it within five seconds; a second signal ends it at once. What is in DIR is taken up again by the next
// start, with the same port if that is free. It listens on 127.0.0.1 only.
//
// To clients it is a plain cluster, whose admin token is made for each DIR and lies in DIR/kubeconfig. What is not plain:
//
// Pods are pretended: one is Running and Ready as soon as it is scheduled, its init containers have ended well, and a pod that is not
// to be restarted ends well after a second. Nothing answers at its address, and kubectl exec is not served.
//
// Pods of Jobs run for real: every container that has a command is a process of this machine, of the user who started the cluster,
// WITHOUT ANY ISOLATION, with command, args and env of the pod (secretKeyRef, configMapKeyRef, fieldRef and envFrom too), PATH of this
// program, and an empty HOME, which is its working directory unless workingDir says otherwise. Volumes are not mounted. Its exit code is
// the container's, its log is what kubectl logs shows (timestamps and times since are not kept), and its process group ends with it and
// with the pod. A command that this machine has not is an error of the container, code 127.
//
// Trouble is asked for by the name of an image, the last element of its path without tag and digest:
//
//	missing          cannot be pulled: ErrImagePull, then ImagePullBackOff, with Warning events
//	crash            ends with code 1 after a second, again and again: CrashLoopBackOff, a log of three lines, Warning events
//	slow-<seconds>   is ready only after that time; in a pod that is not to be restarted, it ends well after that time
//	never            runs, and never is ready nor ends: a Warning event Unhealthy
//
// A container of a Job with such an image is pretended. Claims on volumes whose storage class exists are bound to volumes that hold
// nothing ("standard" is there and is the default). Services of type LoadBalancer get an address in 10.2.0.0/16.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// lastMoment is when the process ends after it was asked to, whatever still runs.
const lastMoment = 5 * time.Second

func main() {
	if args, is := asKubectl(os.Args); is {
		os.Exit(kubectl(args))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the process at once
		time.AfterFunc(lastMoment, func() {
			fmt.Fprintln(os.Stderr, "cluster: something does not end, so it is left behind")
			os.Exit(1)
		})
	})
	err := command(ctx, os.Args[1:], os.Stdin, os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// settings are what the command line says.
type settings struct {
	dir  string
	port int // of the API server; zero for the one it had, else a free one
	tied bool
}

// command reads the command line, and runs a cluster until ctx or, when it is tied, its input ends.
func command(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	var s settings
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.StringVar(&s.dir, "dir", "", "keep everything in `DIR`")
	flags.IntVar(&s.port, "port", 0, "let the API server listen on port `N`; by default on the one it had, or a free one")
	flags.BoolVar(&s.tied, "tied", false, "end when the standard input ends")
	if err := flags.Parse(args); err != nil {
		return flag.ErrHelp // the flag set has said what is wrong
	}
	if s.dir == "" || flags.NArg() > 0 {
		return errors.New("name the directory: cluster -dir DIR [-port N] [-tied]")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.tied {
		go func() { // it waits for the input's end and dies with the process
			_, _ = io.Copy(io.Discard, in)
			time.AfterFunc(lastMoment, func() { os.Exit(1) })
			cancel()
		}()
	}
	err := run(ctx, s, out)
	select {
	case <-ctx.Done(): // that is how a cluster is stopped, at its start too
		return nil
	default:
		return err
	}
}

// run starts the parts in their order and, when ctx ends or a part does, stops them in the opposite one: an API server whose etcd went
// first never ends. The patience with all of them together is shorter than lastMoment; what is left behind then harms nothing, for all of
// them bear to be killed.
func run(ctx context.Context, s settings, out io.Writer) error {
	d, err := openDirectory(s.dir, s.port)
	if err != nil {
		return err
	}
	defer d.close()
	etcd, err := startEtcd(ctx)
	if err != nil {
		return err
	}
	defer func() { stopAll(time.Second, etcd) }()
	api, err := startAPIServer(ctx, d)
	if err != nil {
		return err
	}
	defer func() { stopAll(1500*time.Millisecond, api) }()
	node, err := startNode(ctx, d)
	if err != nil {
		return err
	}
	defer func() { stopAll(time.Second, node...) }()
	controllers, err := startControllers(ctx)
	defer func() { stopAll(time.Second, controllers...) }()
	if err != nil {
		return err
	}
	if err := waitUsable(ctx, d); err != nil {
		return err
	}
	fmt.Fprintf(out, "KUBECONFIG=%s\nready\n", d.path(kubeconfigName))
	return firstEnd(ctx, append(append(controllers, node...), api, etcd)...)
}
