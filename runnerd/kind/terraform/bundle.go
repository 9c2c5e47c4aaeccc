package terraform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// In addition to the files of every bundle, the plan bundle of a module holds
//
//	plan.json   the fields of note
//	plan        Terraform's plan file
//	vars/…      the rendered variables
//	tree/…      the lock file, and the files that the plan wrote or changed in the module's tree
const (
	metadataName = "plan.json"
	planName     = "plan"
)

// planMetadata is the content of plan.json.
type planMetadata struct {
	// Workspace is the absolute path that the plan was made at.
	Workspace string `json:"workspace"`
	// Terraform is the version of the executable that made it.
	Terraform string `json:"terraform"`
}

// savedPlan is the data that the apply of a plan needs.
type savedPlan struct {
	metadata planMetadata
	plan     []byte
	vars     []artifact.File // relative to the workspace's vars
	tree     []artifact.File // relative to the workspace's tree
}

// save returns the files of a plan bundle.
func (p savedPlan) save() ([]artifact.File, error) {
	noted, err := json.Marshal(p.metadata)
	if err != nil {
		return nil, fmt.Errorf("write the plan bundle: %w", err)
	}
	files := []artifact.File{{Path: metadataName, Content: noted}, {Path: planName, Content: p.plan}}
	for _, file := range p.vars {
		file.Path = path.Join("vars", file.Path)
		files = append(files, file)
	}
	for _, file := range p.tree {
		file.Path = path.Join("tree", file.Path)
		files = append(files, file)
	}
	return files, nil
}

// load reads the files that save returned.
func load(files []artifact.File) (savedPlan, error) {
	var (
		made savedPlan
		err  error
	)
	for _, file := range files {
		top, rest, _ := strings.Cut(file.Path, "/")
		below := file
		below.Path = rest
		switch {
		case file.Path == metadataName:
			err = json.Unmarshal(file.Content, &made.metadata)
		case file.Path == planName:
			made.plan = file.Content
		case top == "vars" && rest != "":
			made.vars = append(made.vars, below)
		case top == "tree" && rest != "":
			made.tree = append(made.tree, below)
		default:
			err = errors.New("it contains an unexpected file")
		}
		if err != nil {
			return savedPlan{}, fmt.Errorf("read the plan bundle: %w; plan again", err)
		}
	}
	if made.metadata.Workspace == "" || made.plan == nil {
		return savedPlan{}, errors.New("the plan bundle does not hold the files of a Terraform plan; plan again")
	}
	return made, nil
}

// snapshot reads the tree of a workspace without the files that init recreates.
func snapshot(place *workspace) ([]artifact.File, error) {
	return artifact.ReadDir(place.tree(), artifact.ReadOptions{Accept: subprocess.CheckOwner,
		Skip: func(_ string, entry os.DirEntry) bool {
			return entry.Name() == ".terraform"
		}})
}

// changedFiles returns the files of after that are new or differ from before.
func changedFiles(before, after []artifact.File) []artifact.File {
	known := make(map[string]artifact.File, len(before))
	for _, file := range before {
		known[file.Path] = file
	}
	var made []artifact.File
	for _, file := range after {
		was, there := known[file.Path]
		if !there || was.Link != file.Link || was.Executable != file.Executable || !bytes.Equal(was.Content, file.Content) {
			made = append(made, file)
		}
	}
	return made
}

// withLockFile adds the lock file of the root module if it exists, because init may have
// changed it before the first snapshot.
func withLockFile(changed, all []artifact.File, place *workspace) []artifact.File {
	name := filepath.ToSlash(filepath.Join(place.module, lockFileName))
	isLock := func(file artifact.File) bool { return file.Path == name }
	if slices.ContainsFunc(changed, isLock) {
		return changed
	}
	if at := slices.IndexFunc(all, isLock); at >= 0 {
		return append(changed, all[at])
	}
	return changed
}
