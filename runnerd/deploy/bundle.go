package deploy

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/envname"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// A plan bundle is everything that the apply of one plan needs and that must not differ from
// the time of the plan. It is an artifact of type artifact.MediaPlan, sealed to the install
// key. The sealed bytes are
//
//	nuon plan bundle 2\n    bundleMagic
//	hmac:…\n                the hash of the rest and of its context, keyed with the install key
//	…                       a packed tree
//
// Anyone can seal to the install key, because its public half is public, but only its
// holder can compute the hash. The hash is checked before anything in the tree is read.
// Hash and seal are bound to one install, component and kind (bundleContext). The tree holds
//
//	bundle.json    the fields of note: what the plan was made from
//	report.json    the report that people see, to explain what moved
//	files/…        the files that the kind stored
const (
	bundleMagic  = "nuon plan bundle 2\n"
	metadataName = "bundle.json"
	reportName   = "report.json"
	filesName    = "files/"
)

// metadata is the content of bundle.json. It holds secrets.
type metadata struct {
	Basis api.Basis `json:"basis"`
	// ReportDigest is the digest of the report that people see.
	ReportDigest string `json:"report_digest"`
	// Settings is the digest of the component's settings at the time of the
	// plan, without its values.
	Settings string      `json:"settings"`
	Destroy  bool        `json:"destroy"`
	Restore  api.Restore `json:"restore"`
	// Environ holds the environment variables that the apply runs with.
	Environ map[string]string `json:"environ,omitempty"`
	// Target holds the variables of the runner's own environment that chose the account,
	// the cluster and the region.
	Target map[string]string `json:"target,omitempty"`
	// Secrets are the texts that were masked in the report.
	Secrets []string `json:"secrets"`
}

// bundle is an opened plan bundle.
type bundle struct {
	metadata metadata
	report   []byte
	files    []artifact.File
}

// bundleContext returns the seal context of a component's plan bundles:
// its install, its id and its kind.
func bundleContext(spec api.DeploySpec) seal.Context {
	return seal.Context{
		Install: spec.InstallID, Kind: seal.KindBundle, Component: spec.InstallComponent, Path: spec.ComponentKind,
	}
}

// settingsDigest returns the digest of a component's settings other than its
// values and its artifact.
func settingsDigest(spec api.DeploySpec) (string, error) {
	encoded, err := json.Marshal([]any{spec.Terraform, spec.Helm, spec.Manifest, spec.Cluster, spec.Policies})
	if err != nil {
		return "", fmt.Errorf("write the component's settings: %w", err)
	}
	return sha256digest.Of(encoded), nil
}

// seal packs, authenticates and seals the bundle. Sealing the same bundle twice returns
// two different artifacts.
func (b bundle) seal(context seal.Context, key seal.Identity) (artifact.Artifact, error) {
	noted, err := json.Marshal(b.metadata)
	if err != nil {
		return artifact.Artifact{}, fmt.Errorf("write the plan bundle: %w", err)
	}
	tree := []artifact.File{{Path: metadataName, Content: noted}, {Path: reportName, Content: b.report}}
	for _, file := range b.files {
		file.Path = filesName + file.Path
		tree = append(tree, file)
	}
	packed, err := artifact.Tarball(tree, artifact.Limits{})
	if err != nil {
		return artifact.Artifact{}, fmt.Errorf("pack the plan bundle: %w; let the plan write fewer or smaller files", err)
	}
	return sealPlain(context, authenticate(context, packed, key), key.Recipient())
}

// authenticate prepends the magic and the keyed hash to a packed tree.
func authenticate(context seal.Context, packed []byte, key seal.Identity) []byte {
	return slices.Concat([]byte(bundleMagic), []byte(context.Hash(key, packed)), []byte("\n"), packed)
}

// sealPlain seals the bytes of a bundle.
func sealPlain(context seal.Context, plain []byte, to seal.Recipient) (artifact.Artifact, error) {
	sealed, err := to.Seal(context, plain)
	if err != nil {
		return artifact.Artifact{}, err
	}
	encoded, err := json.Marshal(sealed)
	if err != nil {
		return artifact.Artifact{}, fmt.Errorf("write the plan bundle: %w", err)
	}
	return artifact.Wrap(artifact.MediaPlan, encoded, nil), nil
}

// pullBundle fetches and opens the bundle of an apply.
func pullBundle(ctx context.Context, env *job.Env, spec api.ApplySpec) (bundle, error) {
	packed, err := env.Install.Pull(ctx, spec.Bundle)
	if err != nil {
		return bundle{}, err
	}
	return openBundle(bundleContext(spec.Deploy), packed, env.Key)
}

// openBundle returns a bundle that was made with the same install key and for the same context.
// Every error ends with the remedy.
func openBundle(context seal.Context, packed artifact.Artifact, key seal.Identity) (bundle, error) {
	if packed.Type != artifact.MediaPlan || packed.Form != artifact.FormSealed {
		return bundle{}, fmt.Errorf("the artifact is of type %s, not a plan bundle; "+
			"this is a bug in the control plane; report it", packed.Type)
	}
	var sealed seal.Sealed
	if err := json.Unmarshal(packed.Layer, &sealed); err != nil {
		return bundle{}, fmt.Errorf("the plan bundle is damaged: %w; plan again", err)
	}
	plain, err := key.Open(sealed, context)
	if err != nil {
		return bundle{}, fmt.Errorf("open the plan bundle: %w; plan again with the key that the runner has now", err)
	}

	tree, err := verifyBundle(context, plain.Reveal(), key)
	if err != nil {
		return bundle{}, err
	}
	files, err := artifact.Untar(tree, artifact.Limits{})
	if err != nil {
		return bundle{}, fmt.Errorf("unpack the plan bundle: %w; plan again", err)
	}
	made, err := readBundle(files)
	if err != nil {
		return bundle{}, fmt.Errorf("read the plan bundle: %w; plan again", err)
	}
	return made, nil
}

// verifyBundle returns the packed tree of a bundle whose hash was made with the key for the context.
func verifyBundle(context seal.Context, plain []byte, key seal.Identity) ([]byte, error) {
	rest, current := bytes.CutPrefix(plain, []byte(bundleMagic))
	if !current {
		return nil, errors.New("the plan bundle has another format than this runner reads; plan again")
	}
	hash, packed, found := bytes.Cut(rest, []byte("\n"))
	if !found || subtle.ConstantTimeCompare(hash, []byte(context.Hash(key, packed))) != 1 {
		return nil, errors.New("the plan bundle was not made with this install's key for this component, or was altered: " +
			"check who can write to the registry, and plan again")
	}
	return packed, nil
}

// readBundle assigns the files of a bundle's tree to the fields of the bundle.
func readBundle(tree []artifact.File) (bundle, error) {
	var made bundle
	noted := false
	for _, file := range tree {
		name, stored := strings.CutPrefix(file.Path, filesName)
		switch {
		case stored && name != "":
			file.Path = name
			made.files = append(made.files, file)
		case file.Path == metadataName && file.Link == "":
			noted = true
			if err := json.Unmarshal(file.Content, &made.metadata); err != nil {
				return bundle{}, err
			}
		case file.Path == reportName && file.Link == "":
			made.report = file.Content
		default:
			return bundle{}, fmt.Errorf("it contains an unexpected file: %q", file.Path)
		}
	}
	if !noted || made.report == nil {
		return bundle{}, errors.New("it is not complete")
	}
	return made, nil
}

// checkEnviron rejects environment variables that would change how programs run
// instead of what they do.
func checkEnviron(environ map[string]string) error {
	if err := envname.CheckAll(environ); err != nil {
		return fmt.Errorf("the environment of the plan: %w", err)
	}
	return nil
}

// StoredFiles returns the files that the kind stored in a plan bundle of the spec's component.
func StoredFiles(spec api.DeploySpec, packed artifact.Artifact, key seal.Identity) ([]artifact.File, error) {
	opened, err := openBundle(bundleContext(spec), packed, key)
	return opened.files, err
}
