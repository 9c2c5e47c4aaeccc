package release

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// The statuses of a release. building → complete or incomplete; incomplete → building, when a failed build is tried again.
const (
	Building   = "building"
	Complete   = "complete"
	Incomplete = "incomplete"
)

// Commit is what one watched repository was at when a release was made, or what was uploaded.
type Commit struct {
	Repository string `json:"repository,omitempty"`
	Ref        string `json:"ref,omitempty"`
	Commit     string `json:"commit,omitempty"`
	Subject    string `json:"subject,omitempty"`
	Upload     string `json:"upload,omitempty"` // digest of the config of an app that has no repository
}

// Commits decodes the commits of a release. The first is that of the app's own repository, or the upload.
func Commits(r store.Release) ([]Commit, error) {
	var all []Commit
	if len(r.Commits) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(r.Commits, &all); err != nil {
		return nil, fmt.Errorf("decode the commits of release %d: %w", r.Number, err)
	}
	return all, nil
}

// Make makes the release of what a locked app is built from now, and returns it. It returns nil when the newest release has the
// same digests, and when something is not known yet: no version, or a component that has not been read.
func Make(ctx context.Context, tx *store.Tx, app store.App, commits []Commit) (*store.Release, error) {
	if app.VersionID == nil {
		return nil, nil
	}
	version, err := tx.AppVersionByID(ctx, tx.Org, *app.VersionID)
	if err != nil {
		return nil, err
	}
	config := &appconfig.App{}
	if err := json.Unmarshal(version.Config, config); err != nil {
		return nil, fmt.Errorf("decode app version %d: %w", version.Number, err)
	}
	inputs, err := tx.InputsToRelease(ctx, tx.Org, app.ID)
	if err != nil {
		return nil, err
	}
	made, deployed := contents{config: config, version: version.ID}, config.Deployed()
	inputs = slices.DeleteFunc(inputs, func(in store.InputsToReleaseRow) bool {
		_, has := deployed.Component(in.Name)
		return !has
	})
	for _, in := range inputs {
		if in.InputID == "" && in.Problem == "" {
			return nil, nil
		}
		p := part{component: in.ComponentID, name: in.Name, problem: in.Problem}
		if in.Problem == "" {
			p.input, p.inputDigest = in.InputID, in.InputDigest
		}
		made.parts = append(made.parts, p)
	}
	want := len(deployed.Components)
	if deployed.Sandbox != nil {
		want++
	}
	if len(inputs) < want {
		return nil, nil
	}
	cause, err := causeOf(ctx, tx, app, version, made, inputs)
	if err != nil || cause == "" {
		return nil, err
	}
	return add(ctx, tx, app, made, cause, commits)
}

// causeOf returns why there is a release of what was found, or nothing when there is none to make.
func causeOf(ctx context.Context, tx *store.Tx, app store.App, version store.AppVersion, made contents, inputs []store.InputsToReleaseRow) (string, error) {
	newest, err := tx.NewestRelease(ctx, tx.Org, app.ID)
	if errors.Is(err, store.ErrNotFound) {
		return version.Reason, nil
	}
	if err != nil {
		return "", err
	}
	if newest.Digest == made.digest() {
		return overtaken(ctx, tx, app, newest)
	}
	var words []string
	if newest.VersionID != version.ID {
		words = append(words, version.Reason)
	}
	before, err := tx.ReleaseComponents(ctx, tx.Org, newest.ID)
	if err != nil {
		return "", err
	}
	was := map[string]store.ReleaseComponentsRow{}
	for _, row := range before {
		was[row.ComponentID] = row
	}
	for _, in := range inputs {
		old := was[in.ComponentID]
		switch {
		case in.Problem != "" && in.Problem != old.Problem:
			words = append(words, fmt.Sprintf("%s cannot be built: %s", in.Name, in.Problem))
		case in.Problem != "" || in.InputID == old.InputID:
		case in.Known:
			words = append(words, fmt.Sprintf("%s is built from what it was built from before", in.Name))
		default:
			words = append(words, in.Reason)
		}
	}
	if len(words) == 0 { // nothing else can differ
		words = append(words, "what the app is made of changed")
	}
	return summary(words), nil
}

// overtaken returns why a release that is complete is made again: a partial one has taken its place.
func overtaken(ctx context.Context, tx *store.Tx, app store.App, newest store.Release) (string, error) {
	followed, err := tx.NewestComplete(ctx, tx.Org, app.ID)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil || newest.Status != Complete || followed.Number <= newest.Number {
		return "", err
	}
	return fmt.Sprintf("what release %d lacked has been built; it takes the place of release %d, which was partial", newest.Number, followed.Number), nil
}

// mostReasons is how many things a cause names.
const mostReasons = 4

func summary(words []string) string {
	if len(words) <= mostReasons {
		return strings.Join(words, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(words[:mostReasons], "; "), len(words)-mostReasons)
}

// contents are what a release is made of.
type contents struct {
	config  *appconfig.App
	own     bool   // the config is that of no version
	version string // id
	partial bool
	parts   []part
}

// part is one component of a release.
type part struct {
	component, name    string
	input, inputDigest string
	problem            string
	keptFrom           int32
}

// digest names the config, as far as it is deployed, and what each component is built from.
func (c contents) digest() string {
	type entry struct {
		Name    string `json:"name"`
		Input   string `json:"input,omitempty"`
		Problem string `json:"problem,omitempty"`
	}
	whole := struct {
		Format     string  `json:"format"`
		Config     string  `json:"config"`
		Components []entry `json:"components"`
	}{Format: "nuon release 1", Config: c.config.Deployed().Digest()}
	for _, p := range c.parts {
		whole.Components = append(whole.Components, entry{p.name, p.inputDigest, p.problem})
	}
	raw, _ := json.Marshal(whole) // strings always encode
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// add writes a release and how it stands.
func add(ctx context.Context, tx *store.Tx, app store.App, made contents, cause string, commits []Commit) (*store.Release, error) {
	if commits == nil {
		commits = []Commit{}
	}
	encoded, err := json.Marshal(commits)
	if err != nil {
		return nil, fmt.Errorf("encode commits: %w", err)
	}
	n := store.AddReleaseParams{
		OrgID: tx.Org, ID: id.New("rel"), AppID: app.ID, Digest: made.digest(), VersionID: made.version, Partial: made.partial,
		Cause: cause, Commits: encoded,
	}
	if made.own {
		if n.Config, err = json.Marshal(made.config); err != nil {
			return nil, fmt.Errorf("encode config: %w", err)
		}
	}
	r, err := tx.AddRelease(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("add a release of app %s: %w", app.Name, err)
	}
	all := store.AddReleaseComponentsParams{OrgID: tx.Org, ReleaseID: r.ID}
	for _, p := range made.parts {
		all.ComponentIds, all.InputIds = append(all.ComponentIds, p.component), append(all.InputIds, p.input)
		all.Problems, all.KeptFrom = append(all.Problems, p.problem), append(all.KeptFrom, p.keptFrom)
	}
	if err := tx.AddReleaseComponents(ctx, all); err != nil {
		return nil, fmt.Errorf("add release %d of app %s: %w", r.Number, app.Name, err)
	}
	// A build that ends now does not see this release yet, so it waits until it does.
	if _, err := tx.LockOpenBuilds(ctx, tx.Org, r.ID); err != nil {
		return nil, err
	}
	r, err = settle(ctx, tx, r)
	return &r, err
}

// Built works out anew how the releases stand that an input is part of: a build of it has ended, or another was started. It
// returns those that changed.
func Built(ctx context.Context, tx *store.Tx, inputID string) (changed []store.Release, err error) {
	// Of two builds that end at once, the later sees here that the other has ended.
	rows, err := tx.LockUnfinishedReleases(ctx, tx.Org, &inputID)
	if err != nil {
		return nil, fmt.Errorf("lock the releases of input %s: %w", inputID, err)
	}
	for _, was := range rows {
		now, err := settle(ctx, tx, was)
		if err != nil {
			return nil, err
		}
		if now.Status != was.Status {
			changed = append(changed, now)
		}
	}
	return changed, nil
}

// Followed reports whether installs that follow the newest complete release are to have this one. Before there is a complete one,
// they show how the newest stands.
func Followed(ctx context.Context, tx *store.Tx, r store.Release) (bool, error) {
	followed, err := tx.NewestComplete(ctx, tx.Org, r.AppID)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return followed.ID == r.ID, err
}

func settle(ctx context.Context, tx *store.Tx, r store.Release) (store.Release, error) {
	rows, err := tx.ReleaseComponents(ctx, tx.Org, r.ID)
	if err != nil {
		return r, err
	}
	r.Status, r.Reason = stand(rows)
	if err := tx.SetReleaseStatus(ctx, store.SetReleaseStatusParams{OrgID: tx.Org, ID: r.ID, Status: r.Status, Reason: r.Reason}); err != nil {
		return r, fmt.Errorf("settle release %d: %w", r.Number, err)
	}
	return r, nil
}

// stand returns the status of a release and why it is not complete.
func stand(rows []store.ReleaseComponentsRow) (status, reason string) {
	var lacks, waits []string
	for _, row := range rows {
		switch {
		case row.Problem != "":
			lacks = append(lacks, fmt.Sprintf("%s cannot be built: %s", row.Name, row.Problem))
		case row.Status == "failed":
			lacks = append(lacks, fmt.Sprintf("build %d of %s failed", row.Build, row.Name))
		case row.Status == "":
			waits = append(waits, fmt.Sprintf("%s has no build yet", row.Name))
		case row.Status != "succeeded":
			waits = append(waits, fmt.Sprintf("build %d of %s has not ended", row.Build, row.Name))
		}
	}
	switch {
	case len(lacks) > 0:
		return Incomplete, summary(lacks)
	case len(waits) > 0:
		return Building, summary(waits)
	}
	return Complete, ""
}

// Name returns what a release is called besides its number: the commit of the app's own repository, or the digest of the upload.
func Name(commits []Commit) string {
	if len(commits) == 0 {
		return ""
	}
	if commits[0].Upload != "" {
		return commits[0].Upload
	}
	return commits[0].Commit
}
