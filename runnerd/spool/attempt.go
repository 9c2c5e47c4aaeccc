package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/untrusted"
)

// The files of an attempt. Some of runnerd's own are in podsDir for a pod: see ownPath.
const (
	recordFile      = "attempt.json"     // Record, by runnerd
	startedFile     = "started.json"     // time, by runnerd, before it starts the process
	lockFile        = "lock"             // flock, held by the job process for its life
	processFile     = "process.json"     // Process, by the job process
	membersFile     = "members.json"     // []Member, by the job process
	specFile        = "spec.json"        // api.JobSpec, by the job process
	logFile         = "log.ndjson"       // api.LogLine each, by both, appended
	chunksFile      = "chunks.ndjson"    // where the log was cut, by runnerd, appended
	stateDir        = "state"            // NNNNNN.json: api.State, by the job process
	interruptedFile = "interrupted.json" // time, by runnerd, before it interrupts the programs of a dead job process
	unlockFile      = "unlock"           // by the job process: free the state lock after the states are delivered
	resultFile      = "result.json"      // api.JobResult, by the job process
	terminationFile = "termination.json" // Termination, by runnerd, before it interrupts
	finalFile       = "final.json"       // api.JobResult as it is delivered, by runnerd
)

// Attempt is the directory of one attempt.
type Attempt struct {
	// Dir is its absolute path.
	Dir string
}

// Record is runnerd's own record of an attempt.
type Record struct {
	Job     string `json:"job"`
	Attempt int    `json:"attempt"`
	Kind    string `json:"kind"`
	// ComponentKind is the kind of the job's component in the offer; empty for an action.
	ComponentKind string `json:"component_kind,omitempty"`
	// Copies reports that the job was offered as a plan that first copies its artifact.
	Copies bool `json:"copies,omitempty"`
	// Policy is the policy of the runner file when the job process received its spec. It applies to the whole attempt.
	Policy api.RunnerPolicy `json:"policy,omitzero"`
	// Secrets is the section of the runner file about the store of secrets at that time.
	Secrets json.RawMessage `json:"secrets,omitempty"`
	// Executor is the section of the runner file about where jobs run at that time; empty for processes of the machine.
	Executor json.RawMessage `json:"executor,omitempty"`
	// Token is the attempt token; empty until the offer is accepted.
	Token string `json:"token,omitempty"`
	// AcceptBy is when the offer expires.
	AcceptBy time.Time `json:"accept_by"`
}

// Accepted reports whether the control plane has assigned the attempt to this runner.
func (r Record) Accepted() bool { return r.Token != "" }

// Termination records why runnerd ends a job early.
type Termination struct {
	// Reason is ReasonCancel, ReasonTimeout or ReasonMemory.
	Reason string `json:"reason"`
	// Since is when the job process was interrupted.
	Since time.Time `json:"since"`
	// Killed means that the job process did not end after the interrupt, and that all its
	// processes were killed.
	Killed bool `json:"killed,omitempty"`
}

// The reasons of an Termination.
const (
	ReasonCancel  = "cancel"
	ReasonTimeout = "timeout"
	ReasonMemory  = "memory"
)

func (a Attempt) path(name string) string { return filepath.Join(a.Dir, name) }

// WorkDir returns the directory for the handler's files.
func (a Attempt) WorkDir() string { return a.path("work") }

// SharedDir returns the directory for the handler's files where programs run as another user,
// who has no access to the spool.
func (a Attempt) SharedDir() string {
	return filepath.Join(filepath.Dir(filepath.Dir(a.Dir)), "jobs", filepath.Base(a.Dir))
}

// StateDir returns the directory of the sealed state versions.
func (a Attempt) StateDir() string { return a.path(stateDir) }

// StdoutFile returns the file for output of the job process that is not part of its log.
func (a Attempt) StdoutFile() string { return a.path("stdout") }

// StderrFile returns the file for the Go runtime's output when the job process crashes.
func (a Attempt) StderrFile() string { return a.path("stderr") }

// OpenOutput opens StdoutFile or StderrFile for reading.
func OpenOutput(file string) (*os.File, error) {
	return untrusted.Open(filepath.Dir(file), filepath.Base(file), os.O_RDONLY)
}

// SaveRecord replaces the record. That of a pod is stored where the programs of the job cannot change it, and
// what they have of it has no token.
func (a Attempt) SaveRecord(record Record) error {
	if len(record.Executor) > 0 {
		if err := a.saveInPods(recordSuffix, record); err != nil {
			return err
		}
		record.Token = ""
	}
	return a.save(recordFile, record)
}

// Record reads the record.
func (a Attempt) Record() (Record, error) {
	var record Record
	found, err := loadJSON(a.podPath(recordSuffix), maxFile, &record)
	if err == nil && !found {
		found, err = a.load(recordFile, &record)
	}
	if err == nil && !found {
		err = fmt.Errorf("read %s: %w", a.path(recordFile), fs.ErrNotExist)
	}
	return record, err
}

// MarkStarted records that a process may run from this time on.
func (a Attempt) MarkStarted(at time.Time) error { return SaveJSON(a.ownPath(startedFile), at) }

// Started returns the time of MarkStarted, and false when it was not called.
func (a Attempt) Started() (at time.Time, found bool, err error) {
	found, err = loadJSON(a.ownPath(startedFile), maxFile, &at)
	return at, found, err
}

// MarkOrphansInterrupted records that the programs of the dead job process are being interrupted,
// which is done only once.
func (a Attempt) MarkOrphansInterrupted(at time.Time) error { return a.save(interruptedFile, at) }

// OrphansInterruptedAt returns the time of MarkOrphansInterrupted, and false when it was not called.
func (a Attempt) OrphansInterruptedAt() (at time.Time, found bool, err error) {
	found, err = a.load(interruptedFile, &at)
	return at, found, err
}

// SaveSpec stores the spec as the job process received it. Errors: ErrSpecTooLarge.
func (a Attempt) SaveSpec(spec api.JobSpec) error {
	encoded, err := encodeSpec(spec)
	if err != nil {
		return err
	}
	return WriteFile(a.path(specFile), encoded)
}

// maxSpec bounds the JSON of a spec, in bytes. What cannot be read back must not be stored: without its spec, an
// attempt cannot be concluded.
const maxSpec = 16 << 20

// ErrSpecTooLarge is the error of a spec that is not stored.
var ErrSpecTooLarge = errors.New("the description of the job is too large")

func encodeSpec(spec api.JobSpec) ([]byte, error) {
	encoded, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("write the spec: %w", err)
	}
	if len(encoded) > maxSpec {
		return nil, fmt.Errorf("%w: it has %d bytes, and at most %d are allowed; make the values of the component smaller",
			ErrSpecTooLarge, len(encoded), maxSpec)
	}
	return encoded, nil
}

// Spec reads the spec. It returns false until the job process has received it.
func (a Attempt) Spec() (spec api.JobSpec, found bool, err error) {
	found, err = a.load(specFile, &spec)
	return spec, found, err
}

// SaveResult stores the job's result as the job process determined it.
func (a Attempt) SaveResult(result api.JobResult) error { return a.save(resultFile, result) }

// Result reads the job process's result, and returns false when there is none.
func (a Attempt) Result() (result api.JobResult, found bool, err error) {
	found, err = a.load(resultFile, &result)
	return result, found, err
}

// SaveFinal stores the result to deliver. It need not survive a crash of the machine: after one, the job is
// concluded again, from files that do.
func (a Attempt) SaveFinal(result api.JobResult) error {
	return saveUnsynced(a.ownPath(finalFile), result)
}

// Final reads the result to deliver. It returns false until the job is concluded.
func (a Attempt) Final() (result api.JobResult, found bool, err error) {
	found, err = loadUnsynced(a.ownPath(finalFile), &result)
	return result, found, err
}

// SaveTermination records that the job is being ended.
func (a Attempt) SaveTermination(ending Termination) error {
	return SaveJSON(a.ownPath(terminationFile), ending)
}

// Termination reads the ending, and returns false when the job is not being ended.
func (a Attempt) Termination() (ending Termination, found bool, err error) {
	found, err = loadJSON(a.ownPath(terminationFile), maxFile, &ending)
	return ending, found, err
}

// RequestUnlock requests that runnerd frees the state lock after the states are delivered.
func (a Attempt) RequestUnlock() error { return WriteFile(a.path(unlockFile), nil) }

// UnlockRequested reports whether an RequestUnlock is still pending.
func (a Attempt) UnlockRequested() bool { return a.has(unlockFile) }

// ClearUnlockRequest clears the request of RequestUnlock.
func (a Attempt) ClearUnlockRequest() error {
	if err := os.Remove(a.path(unlockFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("note that the state lock is free: %w", err)
	}
	return nil
}

// deliveredSuffix marks a directory whose content has been delivered.
const deliveredSuffix = ".delivered"

// Remove deletes the directory. It renames it first, so that an interrupted removal leaves
// nothing that looks like a job.
func (a Attempt) Remove() error {
	gone := a.Dir + deliveredSuffix
	if err := os.Rename(a.Dir, gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the spool of an attempt: %w", err)
	}
	if err := errors.Join(a.removePod(), RemoveTree(gone)); err != nil {
		return fmt.Errorf("remove the spool of an attempt: %w", err)
	}
	return nil
}

// hasRecord reports whether the attempt has a record.
func (a Attempt) hasRecord() (bool, error) {
	for _, file := range []string{a.path(recordFile), a.podPath(recordSuffix)} {
		if _, err := os.Lstat(file); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
	}
	return false, nil
}

func (a Attempt) has(name string) bool {
	_, err := os.Stat(a.path(name))
	return err == nil
}

func (a Attempt) save(name string, content any) error {
	encoded, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("write %s: %w", a.path(name), err)
	}
	return WriteFile(a.path(name), encoded)
}

// saveUnsynced is SaveJSON without waiting for the disk.
func saveUnsynced(file string, content any) error {
	encoded, err := json.Marshal(content)
	if err == nil {
		err = untrusted.Replace(file, encoded, false)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// maxFile bounds the files that are read back, in bytes. The largest is a result with a report.
const maxFile = 64 << 20

func (a Attempt) load(name string, into any) (bool, error) {
	return loadJSON(a.path(name), maxFile, into)
}

// loadUnsynced is loadJSON for a file of saveUnsynced. One that is empty or no JSON is what a crash of the machine left
// of it, so it counts as missing.
func loadUnsynced(file string, into any) (bool, error) {
	found, err := loadJSON(file, maxFile, into)
	if broken := (*json.SyntaxError)(nil); errors.As(err, &broken) {
		return false, nil
	}
	return found, err
}

func loadJSON(file string, limit int64, into any) (bool, error) {
	opened, err := untrusted.Open(filepath.Dir(file), filepath.Base(file), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", file, err)
	}
	defer func() { _ = opened.Close() }()
	return decodeJSON(opened, limit, into)
}

// errContent is the error of a file whose content is not that of its name.
var errContent = errors.New("it is not what runnerd writes")

func decodeJSON(opened *os.File, limit int64, into any) (bool, error) {
	file := opened.Name()
	content, err := io.ReadAll(io.LimitReader(opened, limit+1))
	if err != nil {
		return false, fmt.Errorf("read %s: %w", file, err)
	}
	if int64(len(content)) > limit {
		return false, fmt.Errorf("read %s: %w: it has more than %d bytes", file, errContent, limit)
	}
	if err := json.Unmarshal(content, into); err != nil {
		return false, fmt.Errorf("read %s: %w: %w", file, errContent, err)
	}
	return true, nil
}
