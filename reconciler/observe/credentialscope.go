package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/reconciler/credentialscope"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// RepositoryPattern checks one entry of a credential's repositories, and returns it in normalized
// spelling: a repository's https:// URL, or a URL with /* at its end for all repositories below it.
func RepositoryPattern(text string) (string, error) {
	below, all := credentialscope.CutBelow(text)
	at, err := parseRepository(below)
	if all && err != nil && at.host == "" {
		if host, _, _ := strings.Cut(strings.TrimPrefix(below, "https://"), "/"); host != "" &&
			below == "https://"+host {
			at, err = repository{scheme: "https", host: strings.ToLower(host)}, nil
		}
	}
	switch {
	case err != nil:
		return "", err
	case at.scheme == "file" || strings.Contains(at.path, "*") || !credentialscope.PlainPath(at.path):
		return "", repoErrorf(
			"%q is not a repository or owner to use a credential for; write https://host/owner/repository, or "+
				"https://host/owner/*",
			PlainText(text, 200))
	case all:
		return credentialscope.Below(at.String()), nil
	}
	return at.String(), nil
}

// patternsCover reports whether one of the patterns includes the repository at a URL. A .git at the end
// makes no difference.
func patternsCover(patterns []string, text string) bool {
	at, err := parseRepository(text)
	if err != nil || !credentialscope.PlainPath(at.path) {
		return false
	}
	named := strings.TrimSuffix(at.String(), ".git")
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return credentialscope.Match(strings.TrimSuffix(pattern, ".git"), named) > 0
	})
}

// notAllowedError returns the error for a credential that must not be used for a repository.
func notAllowedError(name, url string) *RepoError {
	return repoErrorf(
		"the credential %s may not be used for %s; an administrator allows it with "+
			"`nuon credentials update %s --add-repository %s`",
		name, PlainText(url, 200), name, PlainText(url, 200))
}

// Connect returns the watch of a repository that a person names together with a credential. A
// credential without any repositories is bound to this one; any other credential must cover it.
func (o *Observer) Connect(ctx context.Context, tx *store.Tx, url, ref, credentialID string) (store.Watch, error) {
	if credentialID == "" {
		return o.EnsureWatch(ctx, tx, url, ref, "")
	}
	row, err := tx.TakeCredential(ctx, tx.Org, credentialID)
	if err != nil {
		return store.Watch{}, fmt.Errorf("read credential %s: %w", credentialID, err)
	}
	if len(row.Repositories) == 0 {
		only, err := RepositoryPattern(url)
		if err != nil {
			return store.Watch{}, err
		}
		row.Repositories = []string{only}
		if _, err := tx.SetCredentialRepositories(ctx, row.Repositories, tx.Org, row.ID); err != nil {
			return store.Watch{}, fmt.Errorf("bind credential %s: %w", row.Name, err)
		}
	}
	if !patternsCover(row.Repositories, url) {
		return store.Watch{}, notAllowedError(row.Name, url)
	}
	return o.EnsureWatch(ctx, tx, url, ref, credentialID)
}

// ChangeRepositories returns a credential's repositories with some added and some removed,
// normalized and sorted. Its error is a *RepoError.
func ChangeRepositories(now, add, remove []string) ([]string, error) {
	changed, err := credentialscope.Change(now, add, remove, RepositoryPattern)
	var missing *credentialscope.NotNamedError
	switch {
	case errors.As(err, &missing):
		return nil, repoErrorf("the credential does not list %s; `nuon credentials list` shows what it lists",
			PlainText(missing.Pattern, 200))
	case errors.Is(err, credentialscope.TooManyError{}):
		return nil, repoErrorf("a credential can have at most %d repositories; use https://host/owner/* for all of an owner",
			credentialscope.Limit)
	case err != nil:
		return nil, err
	case len(changed) == 0 && len(now) > 0:
		return nil, repoErrorf("a credential needs at least one repository; delete it if it is unused")
	}
	return changed, nil
}
