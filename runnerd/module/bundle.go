package module

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/bundle"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// A plan bundle is everything that the apply of one plan needs and that must not differ from the time of the plan, sealed to the
// install key. Inside it is a packed tree:
//
//	bundle.json   what the fields of note say
//	plan          Terraform's plan file
//	vars/…        the rendered variables
//	tree/…        the lock file, and what the plan wrote or changed beside the module's files
const (
	bundleFormat = 1
	noteName     = "bundle.json"
	planName     = "plan"
)

// note is bundle.json. It holds secrets.
type note struct {
	Format int `json:"format"`
	// Workplace is the absolute path that the plan was made at.
	Workplace string `json:"workplace"`
	// Terraform is the version of the executable that made it.
	Terraform string    `json:"terraform"`
	Basis     api.Basis `json:"basis"`
	// ReportDigest is that of the report that people see.
	ReportDigest string `json:"report_digest"`
	Destroy      bool   `json:"destroy"`
	// Environ is the component's rendered environment.
	Environ map[string]string `json:"environ"`
	// Target is what of the runner's own environment chose the account and region.
	Target map[string]string `json:"target,omitempty"`
	// Secrets are the texts that the report was masked with.
	Secrets []string `json:"secrets"`
}

// savedPlan is an opened plan bundle.
type savedPlan struct {
	note note
	plan []byte
	vars []artifact.File // relative to the workplace's vars
	tree []artifact.File // relative to the workplace's tree
}

// seal packs the bundle and seals it.
func (b savedPlan) seal(context seal.Context, to seal.Recipient) (artifact.Artifact, error) {
	noted, err := json.Marshal(b.note)
	if err != nil {
		return artifact.Artifact{}, fmt.Errorf("write the plan bundle: %w", err)
	}
	files := []artifact.File{{Path: noteName, Content: noted}, {Path: planName, Content: b.plan}}
	for _, file := range b.vars {
		file.Path = path.Join("vars", file.Path)
		files = append(files, file)
	}
	for _, file := range b.tree {
		file.Path = path.Join("tree", file.Path)
		files = append(files, file)
	}
	return bundle.Seal(files, context, to)
}

// openBundle reads what seal made.
func openBundle(packed artifact.Artifact, context seal.Context, key seal.Identity) (savedPlan, error) {
	files, err := bundle.Open(packed, context, key)
	if err != nil {
		return savedPlan{}, err
	}
	return readBundle(files)
}

// readBundle reads the files of a bundle.
func readBundle(files []artifact.File) (savedPlan, error) {
	var (
		made savedPlan
		err  error
	)
	for _, file := range files {
		top, rest, _ := strings.Cut(file.Path, "/")
		below := file
		below.Path = rest
		switch {
		case file.Path == noteName:
			err = json.Unmarshal(file.Content, &made.note)
		case file.Path == planName:
			made.plan = file.Content
		case top == "vars" && rest != "":
			made.vars = append(made.vars, below)
		case top == "tree" && rest != "":
			made.tree = append(made.tree, below)
		default:
			err = errors.New("there is a file in it that nobody expects")
		}
		if err != nil {
			return savedPlan{}, fmt.Errorf("read the plan bundle: %w; plan again", err)
		}
	}
	if made.note.Format != bundleFormat || made.plan == nil {
		return savedPlan{}, fmt.Errorf("the plan bundle is of format %d, this runner reads %d; plan again", made.note.Format, bundleFormat)
	}
	return made, nil
}

// pullBundle fetches and opens the bundle of an apply, and makes its secrets known to the redactor.
func pullBundle(ctx context.Context, env *job.Env, spec api.ApplySpec) (savedPlan, *values.Secrets, error) {
	packed, err := env.Install.Pull(ctx, spec.Bundle)
	if err != nil {
		return savedPlan{}, nil, err
	}
	opened, err := openBundle(packed, bundle.ContextOf(spec.Deploy), env.Key)
	if err != nil {
		return savedPlan{}, nil, err
	}
	return opened, values.NewSecrets(env.Redact, opened.note.Secrets...), nil
}

// snapshot reads the tree of a workplace without what init makes anew.
func snapshot(place *workplace) ([]artifact.File, error) {
	return artifact.ReadDir(place.tree(), artifact.ReadOptions{Skip: func(_ string, entry os.DirEntry) bool {
		return entry.Name() == ".terraform"
	}})
}

// written gives the files of after that before had not, or not like that.
func written(before, after []artifact.File) []artifact.File {
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

// withLockFile adds the lock file of the root module, if there is one: init may have changed it before the first snapshot.
func withLockFile(changed, all []artifact.File, place *workplace) []artifact.File {
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
