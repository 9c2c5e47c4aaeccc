package policy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// maxFile bounds the size of a runner file, in bytes.
const maxFile = 64 << 10

// File is the content of a runner file. The zero value of each part forbids nothing;
// see Default for a runner without a file.
type File struct {
	// Enabled is false for a runner that accepts no jobs.
	Enabled bool `toml:"enabled"`
	// Jobs are the kinds of job that it accepts; nil for all, empty for none.
	Jobs []Job `toml:"jobs"`
	// Components are the kinds of component that it works on; nil for all. Actions have no kind
	// of component, so this does not limit them.
	Components []Component `toml:"components"`
	// Debug allows people to look into what runs.
	Debug Debug `toml:"debug"`
	// Actions limits what a run of an action may set.
	Actions Actions `toml:"actions"`
	// Cluster limits how jobs log in to a cluster.
	Cluster Cluster `toml:"cluster"`
	// Window is when applies and actions may start; nil for always.
	Window *Window `toml:"window"`
	// Roles limits the roles of the cloud account that jobs run under.
	Roles Roles `toml:"roles"`
	// Limits apply to each job.
	Limits Limits `toml:"limits"`
	// Secrets selects the store of the customer's secrets.
	Secrets Secrets `toml:"secrets"`
	// Executor selects where jobs run.
	Executor Executor `toml:"executor"`
}

// Secrets selects the store of the customer's secrets. Without a Store it follows from the runner's environment.
type Secrets struct {
	// Store is aws, gcp, azure or kubernetes.
	Store StoreKind `toml:"store" json:"store,omitzero"`
	// Region is the AWS region, Project the GCP project, Vault the address of the Azure Key Vault, and Namespace
	// the Kubernetes namespace of the store.
	Region    string `toml:"region" json:"region,omitempty"`
	Project   string `toml:"project" json:"project,omitempty"`
	Vault     string `toml:"vault" json:"vault,omitempty"`
	Namespace string `toml:"namespace" json:"namespace,omitempty"`
	// Addresses are the addresses of secrets that are stored under other names, by name.
	Addresses map[string]string `toml:"addresses" json:"addresses,omitempty"`
	// Installs are the ids of the installs whose secrets the runner reads; nil for all, empty for none.
	Installs []string `toml:"installs" json:"installs"`
}

// Debug is how people may look into what runs. The zero value allows nothing.
type Debug struct {
	// Logs allows requests for log lines of the pods of components.
	Logs bool `toml:"logs"`
	// Commands are the debug commands that may run; empty for none.
	Commands []Command `toml:"commands"`
	// Shells are the components in whose pods interactive shells may run, and Images the images of debug containers that
	// may be added to those pods; empty for none. In both, * stands for any text.
	Shells []string `toml:"shells"`
	Images []string `toml:"images"`
	// Timeout is how long one request may take; zero for no limit here.
	Timeout Duration `toml:"timeout"`
}

// Actions holds the owner's rules for runs of actions.
type Actions struct {
	// FreeEnv allows a run to set environment variables that its action does
	// not declare as inputs.
	FreeEnv bool `toml:"free_env"`
}

// Cluster holds the owner's rules for access to clusters that a component's outputs describe.
type Cluster struct {
	// Exec are the programs that such outputs may use to log in, each by its name on the PATH
	// or by its absolute path; empty for none. It does not limit the owner's own kubeconfig.
	Exec []Program `toml:"exec"`
}

// Limits bound what jobs use. Zero means that the owner sets no limit.
type Limits struct {
	// Memory is the total memory of the processes of one job.
	Memory Size `toml:"memory"`
	// Timeout is how long one job may run.
	Timeout Duration `toml:"timeout"`
	// Capacity is how many jobs may run at once; nil for the value that the
	// runner was started with.
	Capacity *int `toml:"capacity"`
}

// Default returns the File of a runner without a file: everything is allowed except looking into
// what runs, undeclared environment variables, and login programs of a cluster's outputs.
func Default() File { return File{Enabled: true} }

// Parse parses a runner file. The error has a line of the form "name:line:column:
// what is wrong, and what would be right" for each unknown key, or for the first invalid value.
func Parse(name string, content []byte) (File, error) {
	file := Default()
	decoder := toml.NewDecoder(bytes.NewReader(content)).DisallowUnknownFields()
	err := decoder.Decode(&file)
	if err == nil {
		if err := file.check(name); err != nil {
			return File{}, err
		}
		return file, nil
	}
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) {
		var lines []string
		for _, missing := range unknown.Errors {
			row, column := missing.Position()
			lines = append(lines, fmt.Sprintf("%s:%d:%d: there is no %s in a runner file; it has enabled, jobs, components, "+
				"[debug] with logs, commands, shells, images and timeout, [actions] with free_env, "+
				"[cluster] with exec, [roles] with own_identity, allow, break_glass and read_only_plans, "+
				"[window] with days, hours and zone, [limits] with memory, timeout and capacity, [secrets] with store, "+
				"region, project, vault, namespace, installs and addresses, and [executor] with kind, namespace, image, claim, "+
				"claim_path, service_accounts, roles and node_selector",
				name, row, column, strings.Join(missing.Key(), ".")))
		}
		return File{}, errors.New(strings.Join(lines, "\n"))
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		row, column := wrong.Position()
		if slices.Equal(wrong.Key(), toml.Key{"debug"}) {
			return File{}, fmt.Errorf("%s:%d:%d: debug is a table; write [debug] with logs = true to allow requests for logs, "+
				"commands to allow debug commands, shells to allow interactive shells, and nothing to allow none",
				name, row, column)
		}
		return File{}, fmt.Errorf("%s:%d:%d: %s", name, row, column, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	return File{}, fmt.Errorf("%s: %w", name, err)
}

// check checks the rules that involve more than one value.
func (f File) check(name string) error {
	if most := f.Limits.Capacity; most != nil && (*most < 1 || *most > maxCapacity) {
		return fmt.Errorf("%s: [limits] has the capacity %d; write a number from 1 to %d, or enabled = false for none", name,
			*most, maxCapacity)
	}
	if err := cmp.Or(f.Roles.check(), f.Executor.check(), f.Debug.check()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if f.Window != nil && f.Window.Days != nil && len(f.Window.Days) == 0 {
		return fmt.Errorf("%s: [window] has no days in its days; name some, leave them out for every day, or forbid "+
			"applies and actions with jobs", name)
	}
	if f.Window != nil && f.Window.Zone.location == nil {
		return fmt.Errorf("%s: [window] has no zone; name one, such as zone = \"Europe/Berlin\" or \"UTC\"", name)
	}
	return nil
}

// Read reads the runner file at a path. The error wraps fs.ErrNotExist when there is none.
// An empty file is an error: an editor or a shell that writes a file in place truncates it
// first, and a file that forbids something must not allow everything for that moment.
func Read(path string) (File, error) {
	opened, err := os.Open(path)
	if err != nil {
		return File{}, fmt.Errorf("read the runner file: %w", err)
	}
	defer func() { _ = opened.Close() }()
	content, err := io.ReadAll(io.LimitReader(opened, maxFile+1))
	if err != nil {
		return File{}, fmt.Errorf("read the runner file: %w", err)
	}
	if len(content) > maxFile {
		return File{}, fmt.Errorf("%s: it has more than %d KiB; a runner file has a few lines", path, maxFile>>10)
	}
	if len(content) == 0 {
		return File{}, fmt.Errorf("%s: it is empty; write enabled = true to allow everything", path)
	}
	return Parse(path, content)
}

// TimeoutOf returns how long a job may run whose spec has the given limit (zero for none):
// the smaller of that and the file's limit, or otherwise when neither has one.
func (l Limits) TimeoutOf(limit, otherwise time.Duration) time.Duration {
	own := time.Duration(l.Timeout)
	switch {
	case limit <= 0 && own <= 0:
		return otherwise
	case limit <= 0:
		return own
	case own <= 0:
		return limit
	}
	return min(limit, own)
}
