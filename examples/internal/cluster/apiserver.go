package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// lookAgain is the poll interval for something that has no notification.
const lookAgain = 20 * time.Millisecond

// startAPIServer starts the API server with the default admission plugins, writes the kubeconfig,
// and waits until it is ready. Upstream's own command is unusable here, because it installs signal
// handlers.
func startAPIServer(ctx context.Context, d *directory) (*part, error) {
	o := options.NewServerRunOptions()
	if err := parse(o.Flags(),
		"--etcd-servers=unix:"+etcdSocket, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--secure-port="+strconv.Itoa(d.port()), "--cert-dir="+certsName, "--token-auth-file="+tokensName,
		"--authorization-mode=RBAC", "--allow-privileged=true",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+accountKey,
		"--service-account-signing-key-file="+accountKey, "--service-cluster-ip-range=10.0.0.0/16",
		"--endpoint-reconciler-type=none", "--kubelet-client-certificate="+kubeletClient+".crt",
		"--kubelet-client-key="+kubeletClient+".key", "--profiling=false",
		"--shutdown-watch-termination-grace-period=1s", // otherwise it waits for watchers
	); err != nil {
		return nil, fmt.Errorf("set up the API server: %w", err)
	}
	if err := writeKubeletClient(d); err != nil {
		return nil, err
	}
	o.SecureServing.Listener = d.listener
	// once per process, for all parts
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("set up the API server: %w", err)
	}
	completed, err := o.Complete(ctx)
	if err != nil {
		return nil, fmt.Errorf("set up the API server: %w", err)
	}
	if err := d.writeKubeconfig(); err != nil {
		return nil, err
	}
	p := start("API server", func(ctx context.Context) error { return app.Run(ctx, completed) })
	if err := waitServing(ctx, d, p); err != nil {
		stopAll(time.Second, p)
		return nil, err
	}
	return p, nil
}

// parse sets the flags of one of Kubernetes' programs.
func parse(sets cliflag.NamedFlagSets, args ...string) error {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, set := range sets.FlagSets {
		all.AddFlagSet(set)
	}
	return all.Parse(args)
}

// waitServing waits until the API server reports that it is ready.
func waitServing(ctx context.Context, d *directory, p *part) error {
	client, err := d.client()
	if err != nil {
		return err
	}
	return wait(ctx, p, func() bool {
		said, err := client.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil && string(said) == "ok"
	})
}

// waitUsable waits until a pod in the default namespace would be admitted and scheduled, and a claim
// without a class bound.
func waitUsable(ctx context.Context, d *directory) error {
	client, err := d.client()
	if err != nil {
		return err
	}
	return wait(ctx, nil, func() bool {
		_, err := client.CoreV1().ServiceAccounts(corev1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if err != nil {
			return false
		}
		node, err := client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		return err == nil && len(node.Spec.Taints) == 0 && nodeIsReady(node)
	})
}

// wait polls until there returns true, or until ctx or the part ends.
func wait(ctx context.Context, p *part, there func() bool) error {
	ended := make(chan struct{})
	if p != nil {
		ended = p.done
	}
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for !there() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the cluster: %w", ctx.Err())
		case <-ended:
			return p.ended()
		}
	}
	return nil
}

// client returns the admin's client.
func (d *directory) client() (*kubernetes.Clientset, error) {
	config, err := d.admin()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", filepath.Base(d.root), err)
	}
	return client, nil
}
