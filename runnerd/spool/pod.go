package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/untrusted"
)

// handoverFile is what the job process of a pod needs once, by runnerd; taken away by the first who renames it.
const handoverFile = "handover.json"

// The suffixes of the files of an attempt in podsDir, which pods do not mount: programs of a job must not be able to
// report that the job has ended. The others are those of ownPath.
const (
	podsDir         = "pods"
	recordSuffix    = ".record"    // Record, by runnerd
	podSuffix       = ".json"      // Pod, by runnerd
	handoverSuffix  = ".handover"  // the digest of the handover, by runnerd
	withdrawnSuffix = ".withdrawn" // the handover that runnerd took back
	confirmedSuffix = ".confirmed" // time, by the runner's owner: nothing of the attempt runs any more
)

// ownPath returns the path of a file that runnerd alone writes: of a pod in podsDir, because the programs of the job
// can write to the directory of the attempt.
func (a Attempt) ownPath(name string) string {
	if _, err := os.Lstat(a.podPath(recordSuffix)); err == nil {
		return a.podPath(ownSuffix(name))
	}
	return a.path(name)
}

// ownSuffix returns the suffix in podsDir of a file that ownPath is called with.
func ownSuffix(name string) string { return "." + strings.TrimSuffix(name, ".json") }

// podPath returns the path of a file of an attempt in podsDir.
func (a Attempt) podPath(suffix string) string {
	return filepath.Join(filepath.Dir(filepath.Dir(a.Dir)), podsDir, filepath.Base(a.Dir)+suffix)
}

// Pod identifies the Kubernetes Job of an attempt, and its pod.
type Pod struct {
	Namespace string `json:"namespace"`
	// Job is the name of the Kubernetes Job, and Created means that the API server has it.
	Job     string `json:"job"`
	Created bool   `json:"created,omitempty"`
	// Claim is the name of the PersistentVolumeClaim that the pod mounts, and ClaimUID its uid, which identifies the
	// cluster and the namespace; empty until runnerd has read the claim.
	Claim    string `json:"claim,omitempty"`
	ClaimUID string `json:"claim_uid,omitempty"`
	// Name, UID and Node identify the pod; empty until runnerd has seen it.
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
	Node string `json:"node,omitempty"`
	// Unproven is why nobody can tell whether the job process still runs; empty if that is known.
	Unproven string `json:"unproven,omitempty"`
	// Ended is set when the end of the job process is proven.
	Ended *PodEnd `json:"ended,omitempty"`
}

// PodEnd is the proof that the job process of a pod does not run.
type PodEnd struct {
	// Proof is ProofKubelet, ProofNode, ProofOwner or ProofNotStarted.
	Proof string `json:"proof"`
	// Reason is Kubernetes' own name for it, such as OOMKilled or Evicted; empty for none.
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
	ExitCode int32  `json:"exit_code,omitempty"`
	// Failed means that another attempt would not start either.
	Failed bool `json:"failed,omitempty"`
}

// The proofs of a PodEnd.
const (
	ProofKubelet    = "kubelet"     // the kubelet reported that the container has terminated
	ProofNode       = "node"        // the node was removed from the cluster
	ProofOwner      = "owner"       // the runner's owner confirmed it
	ProofNotStarted = "not started" // runnerd took back what the job process needs
)

// SavePod stores the pod. runnerd calls it before it creates the Kubernetes Job.
func (a Attempt) SavePod(pod Pod) error {
	return a.saveInPods(podSuffix, pod)
}

func (a Attempt) saveInPods(suffix string, content any) error {
	if err := os.MkdirAll(filepath.Dir(a.podPath(suffix)), 0o700); err != nil {
		return fmt.Errorf("record the pod of an attempt: %w", err)
	}
	return SaveJSON(a.podPath(suffix), content)
}

// Pod reads the pod, and returns false for an attempt that does not run as one.
func (a Attempt) Pod() (pod Pod, found bool, err error) {
	found, err = loadJSON(a.podPath(podSuffix), maxFile, &pod)
	return pod, found, err
}

// SavePodSpec stores the spec of a pod as runnerd read it. Errors: ErrSpecTooLarge.
func (a Attempt) SavePodSpec(spec api.JobSpec) error {
	encoded, err := encodeSpec(spec)
	if err != nil {
		return err
	}
	return a.saveInPods(ownSuffix(specFile), json.RawMessage(encoded))
}

// TrustedSpec returns the spec, which programs of the job cannot have changed: of a pod the one that runnerd read, and
// otherwise that of Spec.
func (a Attempt) TrustedSpec() (spec api.JobSpec, found bool, err error) {
	found, err = loadJSON(a.ownPath(specFile), maxFile, &spec)
	return spec, found, err
}

// HandoverFile returns the path of the file with what the job process of a pod needs once.
func (a Attempt) HandoverFile() string { return a.path(handoverFile) }

// SaveHandover stores what the job process of a pod needs once. Nobody but that process may be able to guess it: by its
// digest runnerd recognizes it, because the programs of the job can write another file with its name.
func (a Attempt) SaveHandover(content []byte) error {
	if err := a.saveInPods(handoverSuffix, sha256digest.Of(content)); err != nil {
		return err
	}
	return WriteFile(a.HandoverFile(), content)
}

// HasHandover reports whether nobody has taken what the job process needs.
func (a Attempt) HasHandover() bool { return a.isHandover(a.HandoverFile()) }

// isHandover reports whether a file is what SaveHandover stored. A file that cannot be read is not.
func (a Attempt) isHandover(file string) bool {
	var saved string
	if found, err := loadJSON(a.podPath(handoverSuffix), maxFile, &saved); err != nil || !found {
		return false
	}
	opened, err := untrusted.Open(filepath.Dir(file), filepath.Base(file), os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = opened.Close() }()
	content, err := io.ReadAll(io.LimitReader(opened, maxFile))
	return err == nil && sha256digest.Of(content) == saved
}

// TakeHandover reads and removes the file that SaveHandover wrote. Of several processes that call it, one succeeds; for
// the others the error wraps fs.ErrNotExist. So either the job process starts, or runnerd knows that it never will.
func TakeHandover(file string) ([]byte, error) {
	taken := file + ".taken"
	if err := os.Rename(file, taken); err != nil {
		return nil, fmt.Errorf("take what runnerd hands over: %w", err)
	}
	content, err := os.ReadFile(taken)
	if err = errors.Join(err, os.Remove(taken)); err != nil {
		return nil, fmt.Errorf("take what runnerd hands over: %w", err)
	}
	return content, nil
}

// WithdrawHandover takes back what the job process needs, and reports whether it had not taken that yet. It reports the
// same when it is called again, also after a crash or with a full disk.
func (a Attempt) WithdrawHandover() (bool, error) {
	withdrawn := a.podPath(withdrawnSuffix)
	if a.HasHandover() {
		if err := os.Rename(a.HandoverFile(), withdrawn); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return a.isHandover(withdrawn), nil
}

// ConfirmEnded records that a person has made sure that nothing of the attempt runs.
func (a Attempt) ConfirmEnded(at time.Time) error { return a.saveInPods(confirmedSuffix, at) }

// ClearConfirmation removes what ConfirmEnded recorded, because the pod is heard again: it must not count when the pod
// is lost once more.
func (a Attempt) ClearConfirmation() error {
	if err := os.Remove(a.podPath(confirmedSuffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget that the end of an attempt was confirmed: %w", err)
	}
	return nil
}

// IsConfirmedEnded reports whether ConfirmEnded was called.
func (a Attempt) IsConfirmedEnded() bool {
	_, err := os.Stat(a.podPath(confirmedSuffix))
	return err == nil
}

// removePod removes the files of the attempt in podsDir.
func (a Attempt) removePod() error {
	for _, suffix := range []string{ownSuffix(specFile), ownSuffix(startedFile), ownSuffix(terminationFile),
		ownSuffix(finalFile), handoverSuffix, withdrawnSuffix, confirmedSuffix, podSuffix, recordSuffix} {
		if err := RemoveTree(a.podPath(suffix)); err != nil { // what was taken back may be a directory that a job made
			return err
		}
	}
	return nil
}
