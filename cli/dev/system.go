package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/devcontract"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// system is one run of nuon dev.
type system struct {
	options  Options
	place    dataDir
	programs struct{ reconciler, runnerd string }
	remotes  []string
	external struct{ database, registry bool }

	log, reconcilerLog *prefixWriter
	view               *logMux
	hard               chan struct{} // closed by a second Ctrl-C to kill everything

	database *database
	ready    devcontract.Ready

	mu         sync.Mutex // guards addresses, which change once
	addresses  addresses
	reconciler *supervisedProgram
	runners    []*supervisedProgram
}

// addresses are the listen addresses of the reconciler.
type addresses struct{ control, runner, registry string }

// runnerPlan describes one of the two runners: its directory, which is also its name, and its kind.
type runnerPlan struct {
	dir  string
	kind api.NewRunnerKind
}

var runnerPlans = []runnerPlan{{"build", "build"}, {"local", "install"}}

// Run starts everything, shows the logs until ctx ends or the process is interrupted,
// and stops everything. An interrupt is the normal end and returns no error.
func Run(ctx context.Context, options Options) error {
	began := time.Now()
	s, err := prepare(options)
	if err != nil {
		return err
	}
	release, err := s.place.take(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = release() }()
	ctx, stop := s.heedSignals(ctx)
	defer stop()
	defer s.stopInOrder()
	if err := s.bringUp(ctx, began); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	<-ctx.Done()
	return nil
}

// prepare checks everything that can be checked before anything is started.
func prepare(options Options) (*system, error) {
	options.timeouts = options.timeouts.orDefault()
	s := &system{options: options, hard: make(chan struct{})}
	s.view = newLogMux(options.Console.Err, options.Console.ErrIsTerminal && options.Console.Color)
	s.log, s.reconcilerLog = s.view.newWriter("nuon dev", 4), s.view.newWriter("reconciler", 0)
	s.external.database = options.Getenv("DATABASE_URL") != ""
	s.external.registry = options.Getenv("NUON_REGISTRY") != ""
	s.addresses = addresses{options.Listen, options.RunnerListen, options.RegistryListen}
	var err error
	if s.programs.reconciler, err = options.FindProgram("reconciler"); err != nil {
		return nil, err
	}
	if s.programs.runnerd, err = options.FindProgram("runnerd"); err != nil {
		return nil, err
	}
	if s.remotes, err = fileRemotes(options.FileRemotes); err != nil {
		return nil, exitcode.With(exitcode.Usage, err)
	}
	if s.place, err = openDataDir(options.DataDir, options.Getenv); err != nil {
		return nil, err
	}
	return s, nil
}

// heedSignals returns a context that the first interrupt cancels. The second
// interrupt kills everything.
func (s *system) heedSignals(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	finished := make(chan struct{})
	go func() { // listens for signals until the run is over
		asked := false
		for {
			select {
			case <-finished:
				return
			case <-signals:
			}
			if asked {
				s.log.logf("killing what is still running")
				close(s.hard)
				return
			}
			asked = true
			s.log.logf("stopping; press Ctrl-C again to kill what is still running")
			cancel()
		}
	}()
	return ctx, func() { signal.Stop(signals); close(finished); cancel() }
}

// bringUp starts the parts in order; each needs the ones before it.
func (s *system) bringUp(ctx context.Context, began time.Time) error {
	if err := s.checkAddresses(ctx); err != nil {
		return err
	}
	if s.options.ReadyFile != "" { // may exist from a run that was killed
		if err := removeFile(s.options.ReadyFile); err != nil {
			return exitcode.With(exitcode.Usage, fmt.Errorf("--ready-file: %w", err))
		}
	}
	if _, err := seal.LoadOrCreateIdentity(s.place.key()); err != nil {
		return err
	}
	if err := s.startDatabase(ctx); err != nil {
		return err
	}
	if err := s.startReconciler(ctx); err != nil {
		return err
	}
	admitted, err := s.admit(ctx)
	if err != nil {
		return err
	}
	saved, err := s.options.SaveContext(ContextName,
		contexts.Context{URL: s.ready.ControlURL, Token: admitted.Token, Org: admitted.Org})
	if err != nil {
		return err
	}
	if err := s.startRunners(ctx, admitted); err != nil {
		return err
	}
	return s.announce(admitted, saved, time.Since(began))
}

// checkAddresses reports a port conflict with a clear message, which otherwise
// would appear only in the reconciler's log. Another process may still take a
// port after the check; then the log shows it.
func (s *system) checkAddresses(ctx context.Context) error {
	flags := map[string]string{
		"--listen": s.options.Listen, "--runner-listen": s.options.RunnerListen,
		"--registry-listen": s.options.RegistryListen}
	if s.external.registry {
		delete(flags, "--registry-listen")
	}
	for flag, address := range flags {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf(
				"%s %s: the port is in use; stop the program that uses it, or choose another port (0: any free port)",
				flag, address)
		}
		if err != nil {
			return exitcode.With(exitcode.Usage, fmt.Errorf("%s %s: %w; use host:port", flag, address, err))
		}
		if err := listener.Close(); err != nil {
			return err
		}
	}
	return nil
}

// startReconciler starts the control plane and waits until it is ready.
func (s *system) startReconciler(ctx context.Context) error {
	if err := removeFile(s.place.ready()); err != nil {
		return err
	}
	s.reconciler = startChild(s.reconcilerLog, s.hard, s.options.timeouts, s.serveCommand)
	late := time.NewTimer(s.options.timeouts.ready)
	defer late.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-s.reconciler.left:
			return fmt.Errorf("the reconciler did not start: %w; see its message above", err)
		case <-late.C:
			return fmt.Errorf("the reconciler is not ready after %s; see its log above",
				s.options.timeouts.ready)
		case <-again.C:
			if readJSON(s.place.ready(), &s.ready) == nil && s.ready.ControlURL != "" {
				s.keepAddresses()
				return nil
			}
		}
	}
}

// keepAddresses stores the actual ports, so that a restarted reconciler listens
// where the runners and the CLI expect it, also where the system selected the ports.
func (s *system) keepAddresses() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses.control = fixedPort(s.addresses.control, s.ready.ControlURL)
	s.addresses.runner = fixedPort(s.addresses.runner, s.ready.RunnerURL)
	s.addresses.registry = fixedPort(s.addresses.registry, "http://"+s.ready.Registry)
}

// fixedPort returns address with the port of the URL reached if its own port is 0.
func fixedPort(address, reached string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port != "0" {
		return address
	}
	at, err := url.Parse(reached)
	if err != nil || at.Port() == "" {
		return address
	}
	return net.JoinHostPort(host, at.Port())
}

func (s *system) serveCommand() *exec.Cmd {
	s.mu.Lock()
	at := s.addresses
	s.mu.Unlock()
	arguments := append([]string{"serve"}, s.databaseArguments()...)
	arguments = append(arguments, "--listen", at.control, "--runner-listen", at.runner)
	if !s.external.registry {
		arguments = append(arguments, "--registry-listen", at.registry)
	}
	arguments = append(arguments, "--data-dir", s.place.reconciler(), "--key-file", s.place.key())
	arguments = append(arguments, "--insight-listen", "127.0.0.1:0")
	for _, dir := range s.remotes {
		arguments = append(arguments, "--allow-file-remotes", dir)
	}
	if s.options.PrivateRemotes {
		arguments = append(arguments, "--allow-private-remotes")
	}
	arguments = append(arguments, "--runner-url", "http://"+at.runner, "--runner-program", s.programs.runnerd)
	arguments = append(arguments, "--poll", s.options.Poll.String(), "--ready-file", s.place.ready())
	command := exec.Command(s.programs.reconciler, arguments...)
	if s.external.registry {
		command.Env = append(os.Environ(), "NUON_REGISTRY="+s.externalRegistry(devcontract.VendorNamespace))
	}
	return command
}

// externalRegistry returns a namespace of the registry in NUON_REGISTRY.
func (s *system) externalRegistry(namespace string) string {
	return strings.TrimSuffix(s.options.Getenv("NUON_REGISTRY"), "/") + "/" + namespace
}

func (s *system) bootstrapCommand(ctx context.Context) *exec.Cmd {
	arguments := append([]string{"bootstrap"}, s.databaseArguments()...)
	arguments = append(arguments, "--key-file", s.place.key(),
		"--org", s.options.Org, "--name", s.person(), "-o", "json")
	return exec.CommandContext(ctx, s.programs.reconciler, arguments...)
}

// person returns the actor name for the token: the user of this machine.
func (s *system) person() string {
	if name := s.options.Getenv("USER"); name != "" {
		return name
	}
	return "dev"
}

// databaseArguments returns the flag for the private cluster. A DATABASE_URL of the user stays in
// the environment: it may contain a password, and every user of the machine can see arguments.
func (s *system) databaseArguments() []string {
	if s.external.database {
		return nil
	}
	return []string{"--database-url", s.database.dsn()}
}

// startRunners registers runners that have no key yet, then starts both.
func (s *system) startRunners(ctx context.Context, with devcontract.BootstrapCredentials) error {
	names, tokens := make([]string, len(runnerPlans)), make([]string, len(runnerPlans))
	for number, runner := range runnerPlans {
		var err error
		if names[number], tokens[number], err = s.register(ctx, with, runner); err != nil {
			return err
		}
	}
	for number, runner := range runnerPlans {
		access := s.accessTo(devcontract.InstallNamespace, with.Registry.Install)
		if runner.kind == "build" {
			access = s.accessTo(devcontract.VendorNamespace, with.Registry.Vendor)
		}
		environment := s.runnerEnvironment(access, tokens[number])
		arguments := []string{"run", "--url", s.ready.RunnerURL,
			"--dir", s.place.runner(runner.dir), "--name", names[number]}
		if runner.kind == "install" && s.options.KubeConfig != "" {
			arguments = append(arguments, "--kubeconfig", s.options.KubeConfig)
		}
		log := s.view.newWriter("runner:"+runner.dir, 1+number)
		s.runners = append(s.runners, startChild(log, s.hard, s.options.timeouts, func() *exec.Cmd {
			command := exec.Command(s.programs.runnerd, arguments...)
			command.Env = environment
			return command
		}))
	}
	return nil
}

// accessTo returns a runner's access to its registry namespace, with the host in the prefix: for
// the embedded registry the credentials from bootstrap, for an external one those of the user.
func (s *system) accessTo(namespace string, embedded devcontract.RegistryAccess) devcontract.RegistryAccess {
	if s.external.registry {
		return devcontract.RegistryAccess{
			Prefix:   s.externalRegistry(namespace),
			Username: s.options.Getenv("NUON_REGISTRY_USERNAME"), Password: s.options.Getenv("NUON_REGISTRY_PASSWORD"),
		}
	}
	embedded.Prefix = s.ready.Registry + "/" + strings.Trim(embedded.Prefix, "/")
	return embedded
}

// runnerEnvironment returns this process's environment without the control plane's
// credentials, plus the runner's own.
func (s *system) runnerEnvironment(access devcontract.RegistryAccess, token string) []string {
	kept := []string{}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		// Never deploy to the cluster that the user's environment happens to select.
		if strings.HasPrefix(name, "KUBE") || name == "DATABASE_URL" ||
			name == "NUON_TOKEN" || name == "NUON_URL" ||
			strings.HasPrefix(name, "NUON_REGISTR") || strings.HasPrefix(name, "PG") {
			continue
		}
		kept = append(kept, pair)
	}
	kept = append(kept, "NUON_REGISTRY="+access.Prefix,
		"NUON_REGISTRY_USERNAME="+access.Username, "NUON_REGISTRY_PASSWORD="+access.Password)
	if s.options.PrivateRemotes {
		kept = append(kept, "NUON_CHARTS_PRIVATE=1", "NUON_MODULES_PRIVATE=1", "NUON_IMAGES_PRIVATE=1")
	}
	if !s.external.registry || s.options.Getenv("NUON_REGISTRY_PLAIN_HTTP") == "1" {
		kept = append(kept, "NUON_REGISTRY_PLAIN_HTTP=1")
	}
	if token != "" {
		kept = append(kept, "NUON_REGISTRATION_TOKEN="+token)
	}
	return kept
}

// stopInOrder stops consumers before what they use: the runners deliver their last
// results while the reconciler still runs, and the reconciler stops before the database.
func (s *system) stopInOrder() {
	stopAll(s.runners...)
	stopAll(s.reconciler)
	s.stopDatabase()
	// Remove the ready files: a leftover would signal that the system is up.
	_ = removeFile(s.place.ready())
	if s.options.ReadyFile != "" {
		_ = removeFile(s.options.ReadyFile)
	}
	s.log.logf("stopped; the data is in %s", s.place.dir)
}

// announce writes the ready file and the banner.
func (s *system) announce(with devcontract.BootstrapCredentials, saved Saved, took time.Duration) error {
	made := Ready{
		Ready: s.ready,
		Org:   with.Org, Context: ContextName, DataDir: s.place.dir, PID: os.Getpid(),
	}
	if s.options.ReadyFile != "" {
		file, err := filepath.Abs(s.options.ReadyFile)
		if err != nil {
			return fmt.Errorf("--ready-file: %w", err)
		}
		if err := writeJSON(file, made); err != nil {
			return fmt.Errorf("--ready-file: %w", err)
		}
	}
	return writeBanner(s.options.Console.Out, made, saved, s.databaseText(), took, ".")
}
