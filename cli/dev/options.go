package dev

import (
	"time"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
)

// ContextName is the CLI context that nuon dev writes.
const ContextName = "dev"

// Where the system listens unless it is told otherwise: on this machine alone.
const (
	DefaultListen         = "127.0.0.1:7110"
	DefaultRunnerListen   = "127.0.0.1:7111"
	DefaultRegistryListen = "127.0.0.1:7112"
)

// Options say what Run brings up. The flags of the command fill them.
type Options struct {
	// Console gets the logs on Err and the banner on Out.
	Console *console.Console
	// DataDir is where everything is kept; empty means the default place.
	DataDir string
	// Listen, RunnerListen and RegistryListen are the addresses of the control API, the runner API and the embedded registry.
	// Port 0 takes any that is free.
	Listen, RunnerListen, RegistryListen string
	// FileRemotes are the directories below which file:// remotes are allowed; empty means the git repository of the working
	// directory, else that directory.
	FileRemotes []string
	// PrivateRemotes lets repositories be in private networks, and on this machine.
	PrivateRemotes bool
	// Org is the org's name.
	Org string
	// Poll is how often git repositories are looked at.
	Poll time.Duration
	// KubeConfig, when not empty, is the file by which the install runner finds its cluster. That of the environment is never used.
	KubeConfig string
	// ReadyFile, when not empty, is written once everything is up.
	ReadyFile string

	// Getenv reads the environment.
	Getenv func(string) string
	// FindProgram gives the path of the reconciler or of runnerd.
	FindProgram func(name string) (string, error)
	// SaveContext keeps a CLI context and says where.
	SaveContext func(name string, made contexts.Context) (Saved, error)

	patience patience
}

// patience holds how long things may take. Zero fields take the defaults; tests shorten them.
type patience struct {
	// ready is for a start until the reconciler is up.
	ready time.Duration
	// stop is for a child to end after it was asked; then it is killed.
	stop time.Duration
	// backoff is the pause before a child that left by itself is started again; it doubles up to longest, and is short again
	// after a child has run for settled.
	backoff, longest, settled time.Duration
}

func (p patience) orDefault() patience {
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
