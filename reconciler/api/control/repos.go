package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/catalog"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// newestRevisions is the number of revisions shown with a repository.
const newestRevisions = 20

// ListRepos implements GET /v1/repos.
func (s *Server) ListRepos(ctx context.Context, r ListReposRequestObject) (ListReposResponseObject, error) {
	var list api.RepoList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		most := page(r.Params.Limit)
		after := readRepoCursor(r.Params.Cursor)
		rows, err := tx.ViewRepos(ctx, store.ViewReposParams{
			OrgID: tx.Org, AfterURL: after[0], AfterRef: after[1], AfterID: after[2], Most: most,
		})
		if err != nil {
			return err
		}
		rows, list.Next = paged(rows, most, repoCursor)
		list.Items = each(rows, viewRepo)
		return nil
	})
	return ListRepos200JSONResponse(list), err
}

// repoCursor returns the cursor of a row: URLs, refs and ids have no line breaks.
func repoCursor(r store.ViewReposRow) string { return strings.Join([]string{r.URL, r.Ref, r.ID}, "\n") }

// readRepoCursor parses a cursor of repoCursor. Any other text means the first row.
func readRepoCursor(cursor string) [3]string {
	parts := strings.Split(cursor, "\n")
	if len(parts) != 3 {
		return [3]string{}
	}
	return [3]string(parts)
}

// GetRepo implements GET /v1/repos/{repo}.
func (s *Server) GetRepo(ctx context.Context, r GetRepoRequestObject) (GetRepoResponseObject, error) {
	repo, err := s.repo(ctx, r.Repo)
	return GetRepo200JSONResponse(repo), err
}

// LookAtRepo implements POST /v1/repos/{repo}/look. An unreadable repository is not an error of the
// request.
func (s *Server) LookAtRepo(ctx context.Context, r LookAtRepoRequestObject) (LookAtRepoResponseObject, error) {
	repo, err := s.repo(ctx, r.Repo)
	if err != nil {
		return nil, err
	}
	pollErr := s.services.Repositories.Poll(ctx, callerOf(ctx).org.ID, repo.ID)
	// A poll that fails, or whose client has gone, may have stored a commit, which is built.
	ctx = context.WithoutCancel(ctx)
	after, err := s.repo(ctx, repo.ID)
	if err == nil {
		repo = after
	}
	auditErr := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Audit(ctx, callerOf(ctx).actor, "repo.look", repo.ID, map[string]any{
			"url": repo.URL, "ref": repo.Ref, "commit": repo.Commit,
		})
	})
	if err := cmp.Or(pollErr, err, auditErr); err != nil {
		return nil, err
	}
	return LookAtRepo200JSONResponse(repo), nil
}

// repo returns one watched ref with its newest revisions.
func (s *Server) repo(ctx context.Context, key string) (api.Repo, error) {
	var repo api.Repo
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ViewRepos(ctx, store.ViewReposParams{OrgID: tx.Org, ID: key, Most: 1})
		if err != nil {
			return err
		}
		if key == "" || len(rows) == 0 {
			return named("repo", key, store.ErrNotFound)
		}
		repo = viewRepo(rows[0])
		newest, err := tx.ViewRevisionsOfRepo(ctx, tx.Org, repo.ID, newestRevisions)
		if err != nil {
			return err
		}
		repo.Revisions, err = eachErr(newest, func(r store.ViewRevisionsOfRepoRow) (api.Revision, error) {
			return revisionOf(store.ViewRevisionsRow(r))
		})
		return err
	})
	return repo, err
}

func viewRepo(r store.ViewReposRow) api.Repo {
	repo := api.Repo{
		ID: r.ID, URL: r.URL, Ref: r.Ref, Credential: r.Credential, Commit: r.Commit, Problem: r.Error, Apps: r.Apps,
		CheckedAt: at(r.CheckedAt), PolledAt: at(r.PolledAt), NextPollAt: at(r.NextPollAt),
	}
	if r.WebhookID != nil {
		repo.Webhook = *r.WebhookID
	}
	if r.DeliveredAt != nil {
		repo.LastDelivery = &api.RepoDelivery{At: *r.DeliveredAt, Forge: r.DeliveryForge, ID: r.DeliveryID}
	}
	return repo
}

// repositoryRefusal turns the reason why a repository cannot be read into a refusal of the request
// that names the repository.
func repositoryRefusal(err error) error {
	var repo *observe.RepoError
	if errors.As(err, &repo) {
		return refusal.New(refusal.Invalid, "repository_refused", repo.Error(), "")
	}
	return err
}

// findRevision returns one revision by its id.
func findRevision(ctx context.Context, tx *store.Tx, id string) (api.Revision, error) {
	all, err := viewRevisions(ctx, tx, []string{id})
	if err != nil {
		return api.Revision{}, err
	}
	r, is := all[id]
	if !is {
		return r, named("revision", id, store.ErrNotFound)
	}
	return r, nil
}

// revisionIsSeen refuses a revision of a repository that no app visible to the caller reads. A
// repository belongs to no app.
func revisionIsSeen(ctx context.Context, tx *store.Tx, id string) error {
	if tx.App == "" {
		return nil
	}
	r, err := tx.WatchRevision(ctx, tx.Org, id)
	if err != nil {
		return named("revision", id, err)
	}
	readers, err := tx.AppsOfWatch(ctx, tx.Org, r.WatchID)
	if err == nil && len(readers) == 0 {
		err = named("revision", id, store.ErrNotFound)
	}
	return err
}

// viewRevisions returns revisions by id, without missing ones. Several apps may read one revision; a
// caller that sees one app alone gets the outcome for that app.
func viewRevisions(ctx context.Context, tx *store.Tx, ids []string) (map[string]api.Revision, error) {
	rows, err := tx.ViewRevisions(ctx, tx.Org, ids)
	if err != nil {
		return nil, err
	}
	if tx.App != "" && len(rows) > 0 {
		app, err := tx.AppByID(ctx, tx.Org, tx.App)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i].Revision.Outcome = catalog.OutcomeOf(rows[i].Revision.Outcome, app.Name)
		}
	}
	all, err := eachErr(rows, revisionOf)
	return byID(all, func(r api.Revision) string { return r.ID }), err
}

func revisionOf(row store.ViewRevisionsRow) (api.Revision, error) {
	r := row.Revision
	out := api.Revision{
		ID: r.ID, Repository: row.URL, Ref: row.Ref, Commit: r.Commit, Tree: r.Tree,
		Previous: r.Previous, Forced: r.Forced,
		Subject: r.Subject, Author: r.Author, Reason: r.Reason, Outcome: r.Outcome, ObservedAt: r.ObservedAt,
	}
	if len(r.ChangedPaths) > 0 {
		if err := json.Unmarshal(r.ChangedPaths, &out.ChangedPaths); err != nil {
			return api.Revision{}, fmt.Errorf("read changed paths of %s: %w", r.ID, err)
		}
	}
	return out, nil
}
