package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// workspace is the directory of one install component. Its absolute path is the same
// for a plan and for its apply, because plans contain paths (abspath, generated archives).
// It contains rendered secrets, so it is private and exists only during a job.
// Below the runner's directory it has
//
//	work/<install component>/tree   the artifact's files, and those that Terraform writes
//	work/<install component>/vars   the rendered variables
//	work/<install component>/plan   the plan file
//	work/<install component>/use    which attempt uses it, for FinishKilled
//
// Where programs run as another user, that user owns the tree, can read the variables and the
// plan, and cannot access the rest.
type workspace struct {
	root   string // work/<install component> below the runner's directory
	module string // the root module's directory, relative to the tree
	use    usage
	free   func()
}

// usage records the attempt that uses a workspace, and the directory of its module.
type usage struct {
	Job     string `json:"job"`
	Attempt int    `json:"attempt"`
	Module  string `json:"module"`
}

func workspaceOf(root, installComponent string) (*workspace, error) {
	if !plainID.MatchString(installComponent) {
		return nil, fmt.Errorf("install component %q is not an id; this is a bug in the control plane; report it",
			installComponent)
	}
	return &workspace{root: filepath.Join(root, "work", installComponent)}, nil
}

func (w *workspace) lock() string { return w.root + ".lock" }

// plainID matches valid ids of install components. An id becomes the name of a directory, beside those of locks, which
// have a dot in their names.
var plainID = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// openWorkspace takes the lock of the workspace and empties it. The caller must call remove.
func openWorkspace(ctx context.Context, env *job.Env, installComponent string) (*workspace, error) {
	place, err := workspaceOf(env.Root, installComponent)
	if err != nil {
		return nil, err
	}
	place.use = usage{Job: env.Spec.Job, Attempt: env.Spec.Attempt}
	if err := os.MkdirAll(filepath.Dir(place.root), 0o700); err != nil {
		return nil, fmt.Errorf("make the work directory: %w", err)
	}
	release, err := filelock.Wait(ctx, place.lock(), nil)
	if err != nil {
		return nil, fmt.Errorf("another job is running on this component on this runner: %w", err)
	}
	place.free = release
	if err := place.wipe(); err != nil {
		place.free()
		return nil, err
	}
	if err := place.recordUse(); err != nil {
		return nil, errors.Join(err, place.remove())
	}
	return place, nil
}

// remove removes everything, because it contains secrets.
func (w *workspace) remove() error {
	defer w.free()
	return spool.RemoveTree(w.root)
}

func (w *workspace) wipe() error {
	if err := spool.RemoveTree(w.root); err != nil {
		return fmt.Errorf("empty the work directory: %w", err)
	}
	if err := os.Mkdir(w.root, 0o700); err != nil {
		return fmt.Errorf("make the work directory: %w", err)
	}
	return subprocess.AllowTraverse(w.root)
}

// handOver grants Terraform access to its files: it owns the tree and can read the variables.
// Nothing is written to the tree after that.
func (w *workspace) handOver() error {
	return errors.Join(subprocess.GrantRead(w.vars()), subprocess.GrantOwnership(w.tree()))
}

func (w *workspace) recordUse() error {
	encoded, err := json.Marshal(w.use)
	if err == nil {
		err = spool.WriteFile(w.useFile(), encoded)
	}
	if err != nil {
		return fmt.Errorf("record who works here: %w", err)
	}
	return nil
}

func (w *workspace) tree() string      { return filepath.Join(w.root, "tree") }
func (w *workspace) vars() string      { return filepath.Join(w.root, "vars") }
func (w *workspace) plan() string      { return filepath.Join(w.root, "plan") }
func (w *workspace) useFile() string   { return filepath.Join(w.root, "use") }
func (w *workspace) moduleDir() string { return filepath.Join(w.tree(), filepath.FromSlash(w.module)) }

// unpack unpacks a module's artifact. The files of beside, relative to the root module, and those of
// overlay, relative to the tree, replace files of the artifact. Both may be nil.
func (w *workspace) unpack(packed artifact.Artifact, beside, overlay []artifact.File) error {
	module, err := directoryOf(packed)
	if err != nil {
		return err
	}
	files, err := packed.Files(artifact.Limits{})
	if err != nil {
		return fmt.Errorf("unpack the module: %w", err)
	}
	w.module, w.use.Module = module, module
	if err := w.recordUse(); err != nil {
		return err
	}
	files = overlayFiles(overlayFiles(files, w.inModule(beside)), overlay)
	for _, file := range files {
		if slices.Contains(strings.Split(file.Path, "/"), erroredState) {
			return fmt.Errorf("the module has a file %s, which would be stored as the state of this component; remove it, "+
				"and build the component again", file.Path)
		}
	}
	if err := artifact.WriteTree(files, w.tree(), artifact.Limits{}); err != nil {
		return fmt.Errorf("unpack the module: %w", err)
	}
	return nil
}

// inModule returns files relative to the root module as files relative to the tree.
func (w *workspace) inModule(files []artifact.File) []artifact.File {
	moved := slices.Clone(files)
	for i := range moved {
		moved[i].Path = path.Join(w.module, moved[i].Path)
	}
	return moved
}

// overlayFiles returns the files of both lists. A file of over replaces one of
// under with the same path.
func overlayFiles(under, over []artifact.File) []artifact.File {
	replaced := make(map[string]bool, len(over))
	for _, file := range over {
		replaced[file.Path] = true
	}
	var made []artifact.File
	for _, file := range under {
		if !replaced[file.Path] {
			made = append(made, file)
		}
	}
	return append(made, over...)
}

// erroredState is the file to which Terraform writes a state that it cannot deliver. A module that contains it is
// refused: nothing in a plan would show that state.
const erroredState = "errored.tfstate"

// maxUndelivered bounds errored.tfstate in bytes, with the limit of the endpoint.
const maxUndelivered = 256 << 20

// undeliveredState returns the content of errored.tfstate, or nil when it does not exist. A link leads it neither out
// of the tree nor out of work: programs of a pod can write to all workspaces.
func (w *workspace) undeliveredState() ([]byte, error) {
	tree, err := w.openTree()
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = tree.Close() }()
	content, err := subprocess.ReadUntrustedIn(tree, filepath.Join(filepath.FromSlash(w.module), erroredState),
		maxUndelivered)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, subprocess.ErrTooLarge) {
		err = fmt.Errorf("%w; divide the component into smaller ones", err)
	}
	return content, err
}

// openTree opens the tree, which must be below work.
func (w *workspace) openTree() (*os.Root, error) {
	work, err := os.OpenRoot(filepath.Dir(w.root))
	if err != nil {
		return nil, err
	}
	defer func() { _ = work.Close() }()
	return work.OpenRoot(filepath.Join(filepath.Base(w.root), filepath.Base(w.tree())))
}

// readBounded reads a file that a job left. It returns an error if it is not
// a regular file, or too large.
func readBounded(name string, most int64) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", filepath.Base(name))
	}
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("%s has more than %d MiB; divide the component into smaller ones", filepath.Base(name), most>>20)
	}
	return content, err
}
