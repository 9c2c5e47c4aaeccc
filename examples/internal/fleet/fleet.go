package fleet

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/devcontract"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/fault"
)

// Options configures Start.
type Options struct {
	// Bin is the directory of nuon, reconciler and runnerd.
	Bin string
	// Dir receives everything: data, logs, repositories. The user that runs Postgres must have
	// access to subdirectories.
	Dir string
	// Replicas is the number of reconcilers; zero means one.
	Replicas int
	// Installers are the names of the customers' runners.
	Installers []string
	// Capacity is the number of concurrent jobs of each runner; zero means 2.
	Capacity int
	// Poll is the interval of git polls; zero means a second.
	Poll time.Duration
	// Serve holds further flags of every reconciler, and Env further variables of every program.
	Serve, Env []string
	// Kubeconfig is the path of the kubeconfig of the installers; empty means none.
	Kubeconfig string
	// Seed determines the fate of requests between runners and the control plane.
	Seed uint64
}

// Fleet is the set of running programs.
type Fleet struct {
	Options
	Database *Database
	Registry *Registry
	Replicas []*Program
	// Builder builds; Installers work for customers, by name.
	Builder    *Runner
	Installers map[string]*Runner
	// Control is the address of the control API. It forwards to a replica that answers.
	Control *fault.Proxy
	// Token is an admin's token.
	Token string

	ready []devcontract.Ready // the addresses of each replica

	mu      sync.Mutex
	lines   uint64 // number of lines so far
	opened  []*fault.Proxy
	started []*Runner // all runners so far
}

// Runner is a runnerd with its directory.
type Runner struct {
	*Program
	// Dir is its own directory: key, spool, work.
	Dir string
	// Home is the HOME of the processes that it runs.
	Home string
	// Line is its network connection to the control plane.
	Line *fault.Proxy
	// Args are further flags and Env further variables of runnerd; a change counts from its next start.
	Args, Env []string
	// Key is the customer's copy of the install key, if one was made.
	Key []byte
}

// KeyFile returns the path of the machine's install key.
func (r *Runner) KeyFile() string { return filepath.Join(r.Dir, "install.key") }

// startLimit bounds the time until a program is ready.
const startLimit = testtime.Limit

// newFleet returns a fleet without running programs, with defaults for its options.
func newFleet(o Options) *Fleet {
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.Capacity == 0 {
		o.Capacity = 2
	}
	if o.Poll == 0 {
		o.Poll = time.Second
	}
	return &Fleet{Options: o, Installers: map[string]*Runner{}}
}

// Start starts everything. The caller must call Stop on the result, also after an error.
func Start(ctx context.Context, o Options) (*Fleet, error) {
	f := newFleet(o)
	for _, dir := range []string{f.path("logs"), f.path("git"), f.path("tmp"), f.path("screen")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return f, err
		}
	}
	return f, f.steps(ctx, f.startStores, f.StartReplicas, f.openControl, f.bootstrap, f.startRunners)
}

// Reopen starts the programs of an earlier fleet in its directory, on the same data, but not its
// runners. For each installer it only sets the directory of the newest machine.
func Reopen(ctx context.Context, o Options) (*Fleet, error) {
	f := newFleet(o)
	for _, name := range o.Installers {
		dir, err := f.newestMachine(name)
		if err != nil {
			return f, err
		}
		f.Installers[name] = &Runner{Dir: dir}
	}
	return f, f.steps(ctx, f.startStores, f.StartReplicas, f.openControl, f.bootstrap)
}

// newestMachine returns the disk of an installer's latest machine: NUMBER-NAME for a replacement,
// or NAME if there was none.
func (f *Fleet) newestMachine(name string) (string, error) {
	found, err := filepath.Glob(f.path("runners", "*-"+name))
	if err != nil || len(found) == 0 {
		return f.path("runners", name), err
	}
	number := func(dir string) int {
		// a directory without a number is no replacement
		n, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(dir), "-"+name))
		return n
	}
	return slices.MaxFunc(found, func(a, b string) int { return number(a) - number(b) }), nil
}

func (f *Fleet) steps(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fleet) path(parts ...string) string {
	return filepath.Join(append([]string{f.Dir}, parts...)...)
}

// KeyFile returns the path of the control plane's own key.
func (f *Fleet) KeyFile() string { return f.path("server.key") }

// startStores starts Postgres and the registry.
func (f *Fleet) startStores(ctx context.Context) (err error) {
	if f.Database, err = openDatabase(ctx, f.path("postgres"), f.path("logs", "postgres.log")); err != nil {
		return err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	f.Registry, err = OpenRegistry(f.path("registry"), key)
	return err
}

// StartReplicas starts every reconciler that is not running, one after the other.
func (f *Fleet) StartReplicas(ctx context.Context) error {
	for number := range f.Options.Replicas {
		if number == len(f.Replicas) {
			name := fmt.Sprintf("reconciler-%d", number+1)
			f.Replicas = append(f.Replicas, &Program{Name: name, log: f.path("logs", name+".log"),
				command: func() *exec.Cmd { return f.serve(number) }})
			f.ready = append(f.ready, devcontract.Ready{})
		}
		if err := f.StartReplica(ctx, number); err != nil {
			return err
		}
	}
	return nil
}

// StartReplica starts one reconciler and waits until it answers.
func (f *Fleet) StartReplica(ctx context.Context, number int) error {
	r := f.Replicas[number]
	if r.Running() {
		return nil
	}
	if err := os.Remove(f.readyFile(number)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := r.Start(); err != nil {
		return err
	}
	return Until(ctx, startLimit, r.Name+" is ready", func() (bool, error) {
		if !r.Running() {
			return false, fmt.Errorf("%s ended; its log is %s", r.Name, r.log)
		}
		b, err := os.ReadFile(f.readyFile(number))
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return true, json.Unmarshal(b, &f.ready[number])
	})
}

func (f *Fleet) readyFile(number int) string { return f.path(fmt.Sprintf("ready-%d.json", number+1)) }

// Ready returns the addresses of a replica.
func (f *Fleet) Ready(number int) devcontract.Ready { return f.ready[number] }

// serve returns the command line of a replica, with the same addresses as before.
func (f *Fleet) serve(number int) *exec.Cmd {
	cmd := exec.Command(filepath.Join(f.Bin, "reconciler"), "serve",
		"--listen", hostOf(f.ready[number].ControlURL), "--runner-listen", hostOf(f.ready[number].RunnerURL),
		"--data-dir", f.path("reconciler", fmt.Sprint(number+1)), "--key-file", f.KeyFile(),
		"--allow-file-remotes", f.path("git"), "--poll", f.Poll.String(), "--ready-file", f.readyFile(number))
	cmd.Args = append(cmd.Args, f.Serve...)
	cmd.Dir = f.Dir
	cmd.Env = append(f.environment(), append(f.Registry.vendor(), "DATABASE_URL="+f.Database.DSN())...)
	return cmd
}

// hostOf returns the host and port of a URL, or a free port for an empty one.
func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return "127.0.0.1:0"
}

// environment returns the variables for every program.
func (f *Fleet) environment() []string {
	env := []string{"TMPDIR=" + f.path("tmp"), "TZ=UTC", "USER=vera", "HOME=" + f.path("screen"), "NO_COLOR=1"}
	for _, name := range []string{"PATH", "LANG", "NUON_TERRAFORM", "NUON_TERRAFORM_RELEASES", "GODEBUG"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, f.Env...)
}

// openControl opens one address for people in front of the replicas.
func (f *Fleet) openControl(context.Context) (err error) {
	var replicas []string
	for _, r := range f.ready {
		replicas = append(replicas, r.ControlURL)
	}
	f.Control, err = fault.NewProxy(f.Seed, replicas...)
	return err
}

// openLine opens a runner's connection to the replicas.
func (f *Fleet) openLine() (*fault.Proxy, error) {
	var replicas []string
	for _, r := range f.ready {
		replicas = append(replicas, r.RunnerURL)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines++
	line, err := fault.NewProxy(f.Seed+f.lines, replicas...)
	if err == nil {
		f.opened = append(f.opened, line)
	}
	return line, err
}

// Org is the name of the only org.
const Org = "fleet"

func (f *Fleet) bootstrap(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, filepath.Join(f.Bin, "reconciler"), "bootstrap", "--key-file", f.KeyFile(), "--org",
		Org, "--name", "vera")
	cmd.Env = append(f.environment(), "DATABASE_URL="+f.Database.DSN())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("bootstrap: %w: %s", err, errs.String())
	}
	f.Token = strings.TrimSpace(string(out))
	return nil
}

// Migrate migrates the database to the schema of the programs; an empty one is then ready for a
// restore.
func (f *Fleet) Migrate(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, filepath.Join(f.Bin, "reconciler"), "migrate")
	cmd.Env = append(f.environment(), "DATABASE_URL="+f.Database.DSN())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate: %w: %s", err, out)
	}
	return nil
}

// startRunners creates the runners and starts them.
func (f *Fleet) startRunners(ctx context.Context) (err error) {
	if f.Builder, err = f.addRunner(ctx, "build", "build"); err != nil {
		return err
	}
	for _, name := range f.Options.Installers {
		if f.Installers[name], err = f.AddInstaller(ctx, name, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// AddInstaller creates the runner of another customer, and starts it with further flags and variables.
func (f *Fleet) AddInstaller(ctx context.Context, name string, args, env []string) (*Runner, error) {
	return f.addRunner(ctx, name, "install", func(r *Runner) { r.Args, r.Env = args, env })
}

func (f *Fleet) addRunner(ctx context.Context, name, kind string, options ...func(*Runner)) (*Runner, error) {
	var made api.CreatedRunner
	if err := f.JSON(ctx, &made, "runners", "create", name, "--kind", kind); err != nil {
		return nil, err
	}
	r, err := f.Machine(name, name, kind)
	if err != nil {
		return r, err
	}
	for _, set := range options {
		set(r)
	}
	return r, f.Register(ctx, r, made.RegistrationToken)
}

// Machine creates a machine for a runner: a directory and a home with that name, and a separate
// line. It starts nothing.
func (f *Fleet) Machine(place, name, kind string) (r *Runner, err error) {
	r = &Runner{Dir: f.path("runners", place), Home: f.path("homes", place)}
	if r.Line, err = f.openLine(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.started = append(f.started, r)
	f.mu.Unlock()
	access := f.Registry.Install()
	if kind == "build" {
		access = f.Registry.vendor()
	}
	r.Program = &Program{Name: "runner " + place, log: f.path("logs", "runner-"+place+".log"), command: func() *exec.Cmd {
		cmd := exec.Command(filepath.Join(f.Bin, "runnerd"), "run", "--url", r.Line.URL(), "--dir", r.Dir, "--name", name,
			"--capacity", fmt.Sprint(f.Capacity))
		cmd.Args = append(cmd.Args, r.Args...)
		if f.Kubeconfig != "" && kind != "build" {
			cmd.Args = append(cmd.Args, "--kubeconfig", f.Kubeconfig)
		}
		cmd.Dir = f.Dir
		// If a variable occurs twice, a child process gets the last value.
		cmd.Env = slices.Concat(f.environment(), access, []string{"HOME=" + r.Home}, r.Env)
		if token, err := os.ReadFile(r.tokenFile()); err == nil {
			cmd.Env = append(cmd.Env, "NUON_REGISTRATION_TOKEN="+string(token))
		}
		return cmd
	}}
	return r, os.MkdirAll(r.Home, 0o755)
}

func (r *Runner) tokenFile() string { return filepath.Join(r.Home, "registration-token") }

// Register starts a runner with a registration token and waits until it has its key. Every start
// gets the token until the runner is registered, as from a file of a service manager.
func (f *Fleet) Register(ctx context.Context, r *Runner, token string) error {
	if err := os.WriteFile(r.tokenFile(), []byte(token), 0o600); err != nil {
		return err
	}
	if err := r.Start(); err != nil {
		return err
	}
	err := Until(ctx, startLimit, r.Name+" is registered", func() (bool, error) {
		if !r.Running() {
			return false, fmt.Errorf("%s ended; its log is %s", r.Name, r.log)
		}
		_, err := os.Stat(filepath.Join(r.Dir, "runner.json"))
		return err == nil, nil
	})
	return errors.Join(err, os.Remove(r.tokenFile()))
}

// Nuon runs a command as a person does, and returns its standard output. An error contains its
// standard error.
func (f *Fleet) Nuon(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, testtime.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(f.Bin, "nuon"), args...)
	cmd.Dir = f.path("screen")
	cmd.Env = f.Person()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("nuon %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out, nil
}

// Person returns the environment in which a person runs nuon.
func (f *Fleet) Person() []string {
	return append(f.environment(), "NUON_URL="+f.Control.URL(), "NUON_TOKEN="+f.Token,
		"NUON_CONFIG="+f.path("screen", "nuon.toml"))
}

// JSON runs Nuon and decodes the result.
func (f *Fleet) JSON(ctx context.Context, into any, args ...string) error {
	out, err := f.Nuon(ctx, append(slices.Clone(args), "-o", "json")...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("nuon %s: read what it printed: %w", strings.Join(args, " "), err)
	}
	return nil
}

// Stop ends everything: clients before their servers, and orphaned processes last. It leaves the
// directory.
func (f *Fleet) Stop() error {
	var errs []error
	for _, r := range f.started {
		errs = append(errs, r.Kill())
	}
	for _, r := range f.Replicas {
		errs = append(errs, r.Kill())
	}
	for _, line := range f.opened {
		errs = append(errs, line.Close())
	}
	if f.Control != nil {
		errs = append(errs, f.Control.Close())
	}
	errs = append(errs, f.clear())
	if f.Registry != nil {
		errs = append(errs, f.Registry.Close())
	}
	if f.Database != nil {
		errs = append(errs, f.Database.close())
	}
	return errors.Join(errs...)
}

// clear kills the processes of jobs, which survive their runner.
func (f *Fleet) clear() error {
	return Until(context.Background(), startLimit, "no process is left", func() (bool, error) {
		left, err := fault.UsingDir(f.path("runners"))
		if err != nil {
			return false, err
		}
		homes, err := fault.UsingDir(f.path("homes"))
		if err != nil {
			return false, err
		}
		left = append(left, homes...)
		for _, p := range left {
			if _, err := fault.Kill(p); err != nil {
				return false, err
			}
		}
		return len(left) == 0, nil
	})
}

// Until polls until look returns true. what describes the condition in the error when the limit is
// over.
func Until(ctx context.Context, limit time.Duration, what string, look func() (bool, error)) error {
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		began := time.Now()
		done, err := look()
		if err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return fmt.Errorf("after %s it is still not so that %s", limit, what)
		case <-time.After(testtime.Rest(time.Since(began))):
		}
	}
}
