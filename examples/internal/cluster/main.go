// Command cluster is a Kubernetes control plane in one process, for tests and demos on a machine
// without Docker. It runs the real etcd, API server, controller manager and scheduler, and a fake
// kubelet.
//
//	cluster -dir DIR [-port N] [-tied]
//	cluster kubectl …
//
// The second form is kubectl of the same version; so is the whole program when it is called by that
// name. The first form prints "KUBECONFIG=<path>" and, once its node accepts pods and the default
// service account exists, "ready". SIGINT, SIGTERM and, with -tied, the end of its standard input
// stop it within five seconds; a second signal stops it at once. The next start continues with the
// state in DIR, on the same port if that is free. It listens on 127.0.0.1 only.
//
// To clients it is an ordinary cluster. Each DIR has its own admin token, which is in
// DIR/kubeconfig. The differences are:
//
// Pods are simulated unless they are marked: a pod is Running and Ready as soon as it is scheduled,
// and its init containers have succeeded. A pod that is not to be restarted succeeds after a second.
// Nothing listens at its address, and kubectl exec is refused.
//
// The containers of pods with the annotation nuon.test/containers=run run, and so do those of pods
// without such an annotation in a namespace with such a label. The image must be named by digest and
// be in a registry on a loopback address; pull secrets are used. A container has the files of its
// image as an overlay, volumes (emptyDir, hostPath, claims, Secrets, ConfigMaps, the downward API,
// tokens), users, capabilities, probes, and separate mounts, processes, host name and IPC. It has the
// network of this machine and no limits of memory and processor time. The address of its pod, for
// what listens and for status.podIP as a variable, is in 127.64.0.0/10; the API server shows one in
// 10.64.0.0/10 instead. kubectl logs, exec, attach, debug (ephemeral containers) and port-forward
// work. All this needs Linux, root and overlayfs; the annotation nuon.test/containers of the node is
// "supported", or the reason why they cannot run.
//
// Unmarked pods of Jobs run differently: every container that has a command is a process of this
// machine, of the user who started the cluster, WITHOUT ANY ISOLATION. It has the command, args and
// env of the pod (also secretKeyRef, configMapKeyRef, fieldRef and envFrom), the PATH of this
// program, and an empty HOME, which is its working directory unless workingDir is set. Volumes are
// not mounted. Its exit code is that of the container, kubectl logs shows its output (timestamps and
// since are not supported), and its process group ends with it and with the pod. A command that this
// machine lacks fails the container with code 127.
//
// The name of an image, which is the last element of its path without tag and digest, can request a
// failure:
//
//	missing          cannot be pulled: ErrImagePull, then ImagePullBackOff, with Warning events
//	crash            ends with code 1 after a second, each time: CrashLoopBackOff, a log of three lines,
//	                 Warning events
//	slow-<seconds>   is ready only after that time; in a pod that is not to be restarted, it succeeds
//	                 after that time
//	never            runs, but never becomes ready or ends: a Warning event Unhealthy
//
// A container of a Job with one of these images is simulated. Claims with an existing storage class
// are bound to empty volumes (the default class is "standard"). Services of type LoadBalancer get
// an address in 10.2.0.0/16.
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

// lastMoment is the time between a request to stop and the forced end of the process.
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

// settings holds the command line.
type settings struct {
	dir  string
	port int // of the API server; zero for the previous one, otherwise a free one
	tied bool
}

// command parses the command line, and runs a cluster until ctx ends or, when it is tied, its input.
func command(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	var s settings
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.StringVar(&s.dir, "dir", "", "keep everything in `DIR`")
	flags.IntVar(&s.port, "port", 0, "let the API server listen on port `N`; by default on the one it had, or a free one")
	flags.BoolVar(&s.tied, "tied", false, "end when the standard input ends")
	if err := flags.Parse(args); err != nil {
		return flag.ErrHelp // the flag set has already printed the error
	}
	if s.dir == "" || flags.NArg() > 0 {
		return errors.New("name the directory: cluster -dir DIR [-port N] [-tied]")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.tied {
		go func() { // waits for the end of the input, and ends with the process
			_, _ = io.Copy(io.Discard, in)
			time.AfterFunc(lastMoment, func() { os.Exit(1) })
			cancel()
		}()
	}
	err := run(ctx, s, out)
	select {
	case <-ctx.Done(): // a cluster is stopped this way, also during its start
		return nil
	default:
		return err
	}
}

// run starts the parts in order. When ctx or a part ends, it stops them in reverse order, because
// an API server without etcd never ends. It waits for all of them for less than lastMoment. Parts
// that have not ended then are harmless, because all of them tolerate being killed.
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
