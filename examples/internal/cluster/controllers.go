package main

import (
	"context"
	"fmt"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// startControllers starts the controller manager, with the default controllers, and the scheduler.
// It returns the parts that it has started, also with an error.
func startControllers(ctx context.Context) ([]*part, error) {
	manager, err := startManager(ctx)
	if err != nil {
		return nil, err
	}
	placing, err := startScheduler()
	if err != nil {
		return []*part{manager}, err
	}
	return []*part{manager, placing}, nil
}

func startManager(ctx context.Context) (*part, error) {
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("set up the controller manager: %w", err)
	}
	known, off, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	if err := parse(o.Flags(known, off, aliases),
		"--kubeconfig="+kubeconfigName, "--service-account-private-key-file="+accountKey,
		"--root-ca-file="+certsName+"/apiserver.crt", "--leader-elect=false", "--secure-port=0", "--kube-api-qps=200",
		"--kube-api-burst=400",
		"--node-monitor-grace-period=1h", // after a suspend of the machine, the node must not count as lost
	); err != nil {
		return nil, fmt.Errorf("set up the controller manager: %w", err)
	}
	c, err := o.Config(ctx, known, off, aliases)
	if err != nil {
		return nil, fmt.Errorf("set up the controller manager: %w", err)
	}
	return start("controller manager", func(ctx context.Context) error { return app.Run(ctx, c.Complete()) }), nil
}

func startScheduler() (*part, error) {
	o := scheduleroptions.NewOptions()
	if err := parse(*o.Flags, "--kubeconfig="+kubeconfigName, "--leader-elect=false", "--secure-port=0"); err != nil {
		return nil, fmt.Errorf("set up the scheduler: %w", err)
	}
	ready := make(chan error, 1)
	p := start("scheduler", func(ctx context.Context) error {
		config, scheduling, err := scheduler.Setup(ctx, o)
		ready <- err
		if err != nil {
			return err
		}
		return scheduler.Run(ctx, config, scheduling)
	})
	if err := <-ready; err != nil {
		return nil, fmt.Errorf("set up the scheduler: %w", err)
	}
	return p, nil
}
