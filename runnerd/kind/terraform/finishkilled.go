package terraform

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/state"
	"github.com/nuon-toolkit/nuon/runnerd/untrusted"
)

// FinishKilled does the final work of a job that was killed, after all its processes have ended:
// it seals a last state that Terraform left in the workspace, adds it to the attempt's spool,
// and removes the workspace with its rendered secrets. root is the runner's directory
// and keyFile the path of the install key. The returned sentences are for the job's log.
// An error is one of the disk, after which FinishKilled can be called again. It does nothing
// for a job that ended regularly.
func FinishKilled(root, keyFile string, attempt spool.Attempt, spec api.JobSpec) (said []string, err error) {
	deploy := spec.Plan.Deploy
	if spec.Kind == api.JobSpecKindApply {
		deploy = spec.Apply.Deploy
	}
	place, err := workspaceOf(root, deploy.InstallComponent)
	if err != nil {
		return nil, nil //nolint:nilerr // no job of a module, or one that was refused for this
	}
	if _, err := os.Lstat(place.root); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	lock, err := filelock.Try(place.lock())
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return nil, nil // another job works there, and has emptied the workspace first
	case err != nil && isReplaced(place.lock(), err):
		return []string{fmt.Sprintf("the runner cannot take the lock of this component, so it leaves the files of this "+
			"job in its work directory: %v; remove the lock on the runner", err)}, nil
	case err != nil:
		return nil, err
	}
	place.free = func() { _ = lock.Close() }
	if !place.usedBy(spec) {
		place.free()
		return nil, nil
	}
	said, err = place.recoverState(root, keyFile, state.ContextOf(deploy), attempt, spec)
	if err != nil {
		place.free()
		return said, err
	}
	return said, place.remove()
}

// isReplaced reports whether a file could not be opened because of what programs of a pod did to it.
func isReplaced(file string, err error) bool {
	info, statErr := os.Lstat(file)
	return errors.Is(err, fs.ErrPermission) || statErr == nil && !info.Mode().IsRegular()
}

// usedBy reports whether the attempt was the last one in this workspace. It returns true
// for a workspace without a note, because nothing was written to it yet.
func (w *workspace) usedBy(spec api.JobSpec) bool {
	file, err := untrusted.Open(filepath.Dir(w.root), filepath.Join(filepath.Base(w.root), filepath.Base(w.useFile())),
		os.O_RDONLY)
	if err != nil {
		return true
	}
	defer func() { _ = file.Close() }()
	if json.NewDecoder(io.LimitReader(file, 1<<10)).Decode(&w.use) != nil || !fs.ValidPath(w.use.Module) {
		return true
	}
	w.module = w.use.Module
	return w.use.Job == spec.Job && w.use.Attempt == spec.Attempt
}

// recoverState stores a last state. It sets an incomplete one aside, because that may still
// name created objects.
func (w *workspace) recoverState(root, keyFile string, context seal.Context, attempt spool.Attempt,
	spec api.JobSpec) ([]string, error) {
	content, err := w.undeliveredState()
	if err != nil {
		return []string{fmt.Sprintf("Terraform left a last state that cannot be read: %v; plan again, and look at "+
			"what exists", err)}, nil
	}
	if content == nil && spec.Kind == api.JobSpecKindApply {
		return []string{"the job was killed; what Terraform made since it last wrote its state is in no state: look at " +
			"what exists before the next plan is approved"}, nil
	}
	if content == nil {
		return nil, nil
	}
	key, err := seal.LoadIdentity(keyFile)
	if err != nil {
		return nil, fmt.Errorf("seal the state that Terraform left: %w", err)
	}
	last, err := state.ParseStateFile(content, firstLineage(spec))
	if err != nil {
		context.Kind = seal.KindPartialState
		return w.saveUndelivered(content, key, context, root, attempt)
	}
	kept, err := state.SealVersion(last, key, context)
	if err != nil {
		return nil, err
	}
	if err := attempt.AppendState(kept); err != nil {
		return nil, err
	}
	return []string{"the job was killed before it could deliver Terraform's last state; the runner found and " +
		"stored it"}, nil
}

// firstLineage returns the lineage for a first state to which Terraform could not give one,
// or "" when there was a state before. It always returns the same for an attempt, so that one
// state does not become two.
func firstLineage(spec api.JobSpec) string {
	if spec.Kind != api.JobSpecKindApply || spec.Apply.Basis.StateLineage != "" {
		return ""
	}
	return fmt.Sprintf("%s-%d", spec.Job, spec.Attempt)
}

func (w *workspace) saveUndelivered(content []byte, key seal.Identity, context seal.Context, root string,
	attempt spool.Attempt) ([]string, error) {
	closed, err := key.Recipient().Seal(context, content)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(closed)
	if err != nil {
		return nil, err
	}
	aside := filepath.Join(root, spool.UndeliveredDir, filepath.Base(attempt.Dir)+"-"+erroredState)
	if err := os.MkdirAll(filepath.Dir(aside), 0o700); err != nil {
		return nil, err
	}
	if err := spool.WriteFile(aside, encoded); err != nil {
		return nil, err
	}
	return []string{"Terraform was killed while it wrote its last state, which is incomplete; the runner stores it, " +
		"sealed, in its directory undelivered/: check what exists, and plan again"}, nil
}
