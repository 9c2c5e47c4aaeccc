package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// The statuses of a release. building → complete or incomplete; incomplete → building, when a
// failed build is tried again.
const (
	Building   = "building"
	Complete   = "complete"
	Incomplete = "incomplete"
)

// Commit is the commit of one watched repository when a release was created, or an upload.
type Commit struct {
	Repository string `json:"repository,omitempty"`
	Ref        string `json:"ref,omitempty"`
	Commit     string `json:"commit,omitempty"`
	Subject    string `json:"subject,omitempty"`
	Upload     string `json:"upload,omitempty"` // digest of the config of an app without a repository
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

// Create creates and returns a release of a locked app's current version and inputs. It returns nil
// if the newest release has the same digests, and if something is still missing: a version, or
// the input of a component.
func Create(ctx context.Context, tx *store.Tx, app store.App, commits []Commit) (*store.Release, error) {
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
	made, built := contents{config: config, version: version.ID}, config.Built()
	inputs = slices.DeleteFunc(inputs, func(in store.InputsToReleaseRow) bool {
		return !slices.ContainsFunc(built, func(c appconfig.Component) bool { return c.Name == in.Name })
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
	if len(inputs) < len(built) {
		return nil, nil
	}
	cause, err := causeOf(ctx, tx, app, version, made, inputs)
	if err != nil || cause == "" {
		return nil, err
	}
	return insertRelease(ctx, tx, app, made, cause, commits)
}

// causeOf returns the cause of a new release, or "" if none is needed.
func causeOf(ctx context.Context, tx *store.Tx, app store.App, version store.AppVersion, made contents,
	inputs []store.InputsToReleaseRow) (string, error) {
	newest, err := tx.NewestRelease(ctx, tx.Org, app.ID)
	if errors.Is(err, store.ErrNotFound) {
		return version.Reason, nil
	}
	if err != nil {
		return "", err
	}
	if newest.Digest == made.digest() {
		return supersededCause(ctx, tx, app, newest)
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
			words = append(words, fmt.Sprintf("%s is built from unchanged sources", in.Name))
		default:
			words = append(words, in.Reason)
		}
	}
	if len(words) == 0 { // only the config can differ
		words = append(words, "the app's components changed")
	}
	return joinReasons(words), nil
}

// supersededCause returns the cause for creating a complete release again because a partial one has
// replaced it, or "".
func supersededCause(ctx context.Context, tx *store.Tx, app store.App, newest store.Release) (string, error) {
	followed, err := tx.NewestComplete(ctx, tx.Org, app.ID)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil || newest.Status != Complete || followed.Number <= newest.Number {
		return "", err
	}
	return fmt.Sprintf("the missing parts of release %d were built; it replaces release %d, which was partial",
		newest.Number, followed.Number), nil
}

// maxListedReasons is how many reasons a cause lists.
const maxListedReasons = 4

func joinReasons(words []string) string {
	if len(words) <= maxListedReasons {
		return strings.Join(words, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(words[:maxListedReasons], "; "), len(words)-maxListedReasons)
}

// contents are the parts of a release.
type contents struct {
	config       *appconfig.App
	hasOwnConfig bool   // the config differs from that of the version
	version      string // id
	partial      bool
	parts        []part
}

// part is one component, or the source of actions, of a release.
type part struct {
	component, name    string
	input, inputDigest string
	problem            string
	keptFrom           int32
}

// digest identifies the deployed part of the config, and the input of each component.
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
	return sha256digest.Of(raw)
}

// insertRelease inserts a release and sets its status.
func insertRelease(ctx context.Context, tx *store.Tx, app store.App, made contents, cause string,
	commits []Commit) (*store.Release, error) {
	if commits == nil {
		commits = []Commit{}
	}
	encoded, err := json.Marshal(commits)
	if err != nil {
		return nil, fmt.Errorf("encode commits: %w", err)
	}
	n := store.AddReleaseParams{
		OrgID: tx.Org, ID: id.New("rel"), AppID: app.ID, Digest: made.digest(), VersionID: made.version,
		Partial: made.partial, Cause: cause, Commits: encoded,
	}
	if made.hasOwnConfig {
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
	// A build that ends concurrently does not see this release yet, so it must wait until it does.
	if _, err := tx.LockOpenBuilds(ctx, tx.Org, r.ID); err != nil {
		return nil, err
	}
	r, err = updateStatus(ctx, tx, r)
	return &r, err
}

// BuildEnded updates the status of the releases that contain an input, after a build of it has ended or
// another was started. It returns the releases whose status changed.
func BuildEnded(ctx context.Context, tx *store.Tx, inputID string) (changed []store.Release, err error) {
	// Of two builds that end concurrently, the later one sees here that the other has ended.
	rows, err := tx.LockUnfinishedReleases(ctx, tx.Org, &inputID)
	if err != nil {
		return nil, fmt.Errorf("lock the releases of input %s: %w", inputID, err)
	}
	for _, was := range rows {
		now, err := updateStatus(ctx, tx, was)
		if err != nil {
			return nil, err
		}
		if now.Status != was.Status {
			changed = append(changed, now)
		}
	}
	return changed, nil
}

// IsFollowed reports whether installs that follow the newest complete release should have this one.
// Before there is a complete release, they show the status of the newest one.
func IsFollowed(ctx context.Context, tx *store.Tx, r store.Release) (bool, error) {
	followed, err := tx.NewestComplete(ctx, tx.Org, r.AppID)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return followed.ID == r.ID, err
}

func updateStatus(ctx context.Context, tx *store.Tx, r store.Release) (store.Release, error) {
	rows, err := tx.ReleaseComponents(ctx, tx.Org, r.ID)
	if err != nil {
		return r, err
	}
	r.Status, r.Reason = statusOf(rows)
	if err := tx.SetReleaseStatus(ctx, store.SetReleaseStatusParams{
		OrgID: tx.Org, ID: r.ID, Status: r.Status, Reason: r.Reason}); err != nil {
		return r, fmt.Errorf("update the status of release %d: %w", r.Number, err)
	}
	return r, nil
}

// statusOf returns the status of a release and why it is not complete.
func statusOf(rows []store.ReleaseComponentsRow) (status, reason string) {
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
		return Incomplete, joinReasons(lacks)
	case len(waits) > 0:
		return Building, joinReasons(waits)
	}
	return Complete, ""
}

// Name returns the name of a release besides its number: the commit of the app's own repository,
// or the digest of the upload.
func Name(commits []Commit) string {
	if len(commits) == 0 {
		return ""
	}
	if commits[0].Upload != "" {
		return commits[0].Upload
	}
	return commits[0].Commit
}
