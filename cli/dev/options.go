package dev

import (
	"time"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
)

// ContextName is the name of the CLI context that nuon dev writes.
const ContextName = "dev"

// The default listen addresses, which only this machine can reach.
const (
	DefaultListen         = "127.0.0.1:7110"
	DefaultRunnerListen   = "127.0.0.1:7111"
	DefaultRegistryListen = "127.0.0.1:7112"
)

// Options configure Run. The flags of the command set them.
type Options struct {
	// Console receives the logs on Err and the banner on Out.
	Console *console.Console
	// DataDir is where all data is stored; empty means DefaultDataDir.
	DataDir string
	// Listen, RunnerListen and RegistryListen are the addresses of the control
	// API, the runner API and the embedded registry. Port 0 selects a free port.
	Listen, RunnerListen, RegistryListen string
	// FileRemotes are the directories below which file:// remotes are allowed;
	// empty means the git repository of the working directory, else that directory.
	FileRemotes []string
	// PrivateRemotes allows repositories in private networks and on this machine.
	PrivateRemotes bool
	// Org is the name of the org.
	Org string
	// Poll is the interval at which git repositories are polled.
	Poll time.Duration
	// KubeConfig, if not empty, is the kubeconfig file of the install runner.
	// KUBECONFIG is never used.
	KubeConfig string
	// ReadyFile, if not empty, is the file to write when everything is up.
	ReadyFile string

	// Getenv reads an environment variable.
	Getenv func(string) string
	// FindProgram returns the path of the reconciler or of runnerd.
	FindProgram func(name string) (string, error)
	// SaveContext stores a CLI context and returns where.
	SaveContext func(name string, made contexts.Context) (Saved, error)

	timeouts timeouts
}

// timeouts holds timeouts. Zero fields use the defaults; tests set shorter ones.
type timeouts struct {
	// ready limits a start until the reconciler is ready.
	ready time.Duration
	// stop limits the time for a child to exit after SIGTERM; then it is killed.
	stop time.Duration
	// backoff is the pause before a child that exited is restarted. It doubles
	// up to longest, and is reset after a child has run for settled.
	backoff, longest, settled time.Duration
}

func (p timeouts) orDefault() timeouts {
	for _, field := range []struct {
		value *time.Duration
		by    time.Duration
	}{
		{&p.ready, 90 * time.Second},
		{&p.stop, 30 * time.Second},
		{&p.backoff, 500 * time.Millisecond},
		{&p.longest, 15 * time.Second},
		{&p.settled, 30 * time.Second},
	} {
		if *field.value == 0 {
			*field.value = field.by
		}
	}
	return p
}
