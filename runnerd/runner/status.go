package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/grant"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// StatusOptions selects the runner for ReadStatus.
type StatusOptions struct {
	// Dir is the runner's own directory.
	Dir string
	// Policy is the path of its runner file, as in Options.
	Policy string
}

// Status is the status of a runner, read from its directory.
type Status struct {
	// Runner is its id, and Name and Kind are as registered; all are empty for a runner
	// that is not registered.
	Runner string `json:"runner"`
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	// KeyFingerprint is the fingerprint of the install key, for people to
	// compare; empty without a key.
	KeyFingerprint string `json:"key_fingerprint,omitempty"`
	// KeySince is when its runner key was issued.
	KeySince time.Time `json:"key_since,omitzero"`
	// Running means that a runnerd runs in the directory.
	Running bool `json:"working"`
	// Policy is the current rule of the runner file.
	Policy api.RunnerPolicy `json:"policy"`
	// Grants are the owner's grants of break-glass roles that have not ended.
	Grants []grant.Grant `json:"grants,omitempty"`
	// Secrets selects the store of secrets.
	Secrets policy.Secrets `json:"secrets,omitzero"`
	// Executor selects where jobs run.
	Executor policy.Executor `json:"executor,omitzero"`
	// ProgramUser describes the user that the programs of jobs run as.
	Programs ProgramUser `json:"programs"`
	// Attempts are the attempts in the spool.
	Attempts []AttemptStatus `json:"attempts"`
	// Undelivered is the number of entries that were set aside because the control plane rejected
	// them.
	Undelivered int `json:"undelivered"`
}

// AttemptStatus is one attempt in the spool.
type AttemptStatus struct {
	Job     string `json:"job"`
	Attempt int    `json:"attempt"`
	Kind    string `json:"kind"`
	Install string `json:"install,omitempty"`
	// Status describes the next step.
	Status string `json:"status"`
	// Started is when its process was started; zero if it was not.
	Started time.Time `json:"started,omitzero"`
	// States is the number of state versions that are not delivered yet.
	States int `json:"states"`
}

// PolicyLines describes what the runner file allows, one line for each part.
func (s Status) PolicyLines() [][2]string {
	return policy.Rule{RunnerPolicy: s.Policy, Secrets: s.Secrets, Executor: s.Executor}.Lines()
}

// statusWords maps the next step of an attempt to its status.
var statusWords = map[step]string{
	accept: "offered", start: "accepted", watch: "running", conclude: "ended", deliver: "delivering its result",
}

// ReadStatus reads a runner's directory and changes nothing in it.
func ReadStatus(options StatusOptions) (Status, error) {
	status := Status{Attempts: []AttemptStatus{}}
	if _, err := os.Stat(options.Dir); err != nil {
		return status, fmt.Errorf("%w; name the directory that runnerd run was given with --dir", err)
	}
	known, err := loadIdentity(options.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return status, err
	}
	status.Runner, status.Name, status.Kind, status.KeySince = known.RunnerID, known.Name, known.Kind, known.KeySince
	key, err := seal.LoadIdentity(KeyFile(options.Dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return status, err
	}
	if err == nil {
		status.KeyFingerprint = key.Recipient().Fingerprint()
	}
	if status.Running, err = filelock.Held(lockFile(options.Dir)); err != nil {
		return status, err
	}
	if _, err := spool.LoadJSON(programsFile(options.Dir), &status.Programs); err != nil {
		return status, err
	}
	watched := policy.FileWatcher{Path: options.Policy, Required: options.Policy != ""}
	if options.Policy == "" {
		watched.Path = PolicyFile(options.Dir)
	}
	rule := watched.Reload(time.Now()).PausedIn(options.Dir)
	status.Policy, status.Secrets, status.Executor = rule.RunnerPolicy, rule.Secrets, rule.Executor
	if status.Grants, err = currentGrants(options.Dir); err != nil {
		return status, err
	}
	undelivered, err := os.ReadDir(filepath.Join(options.Dir, spool.UndeliveredDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return status, fmt.Errorf("read what was not delivered: %w", err)
	}
	status.Undelivered = len(undelivered)
	found, err := spool.Spool{Root: options.Dir}.ListReadOnly()
	if err != nil {
		return status, err
	}
	for _, dir := range found {
		if seen, err := statusOf(dir); err == nil { // otherwise it has just been delivered
			status.Attempts = append(status.Attempts, seen)
		}
	}
	return status, nil
}

// currentGrants returns the grants that have not ended, those that end first before others.
func currentGrants(dir string) ([]grant.Grant, error) {
	all, err := grant.List(dir)
	now := time.Now()
	all = slices.DeleteFunc(all, func(g grant.Grant) bool { return !g.Until.After(now) })
	slices.SortFunc(all, func(a, b grant.Grant) int { return a.Until.Compare(b.Until) })
	return all, err
}

func statusOf(dir spool.Attempt) (AttemptStatus, error) {
	record, err := dir.Record()
	if err != nil {
		return AttemptStatus{}, err
	}
	seen, err := observe(dir, record.Accepted())
	if err != nil {
		return AttemptStatus{}, err
	}
	status := AttemptStatus{Job: record.Job, Attempt: record.Attempt, Kind: record.Kind, Status: statusWords[seen.next()]}
	if ending, ends, err := dir.Termination(); err == nil && ends && seen.Alive {
		status.Status = "being ended (" + ending.Reason + ")"
	}
	if pod, found, err := dir.Pod(); err == nil && found && seen.Alive && pod.Unproven != "" {
		status.Status = "unknown; see its log"
	}
	if spec, found, err := dir.TrustedSpec(); err == nil && found {
		status.Install = policy.InstallOf(spec)
	}
	if status.Started, _, err = dir.Started(); err != nil {
		return status, err
	}
	states, err := dir.States()
	status.States = len(states)
	return status, err
}
