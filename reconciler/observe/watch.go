package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// EnsureWatch returns the watch of one ref of one repository, with one credential ("" for none), and
// creates it if it does not exist. It is polled as soon as the transaction has committed. A URL
// or ref that is never allowed is a *RepoError; whether the repository is reachable is left to the
// poll.
func (o *Observer) EnsureWatch(ctx context.Context, tx *store.Tx, url, ref, credentialID string) (store.Watch, error) {
	at, err := o.checkAllowed(url, ref)
	if err != nil {
		return store.Watch{}, err
	}
	key := store.FindWatchParams{OrgID: tx.Org, URL: at.String(), Ref: ref, CredentialID: credentialID}
	err = tx.AddWatch(ctx, store.AddWatchParams{OrgID: tx.Org, ID: id.New("wat"), URL: key.URL, Ref: ref,
		CredentialID: credentialID})
	if err != nil {
		return store.Watch{}, fmt.Errorf("watch %s: %w", url, err)
	}
	watch, err := tx.FindWatch(ctx, key)
	if err != nil {
		return store.Watch{}, fmt.Errorf("watch %s: %w", url, err)
	}
	if err := o.schedulePoll(ctx, tx, watch.ID); err != nil {
		return store.Watch{}, fmt.Errorf("watch %s: %w", url, err)
	}
	return watch, nil
}

// schedulePoll polls a watch that is not due at any time: it is new, or had no readers for a while.
func (o *Observer) schedulePoll(ctx context.Context, tx *store.Tx, watchID string) error {
	_, err := tx.DueOf(ctx, tx.Org, store.DueWatch, watchID)
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err := o.setDue(ctx, tx, watchID, o.options.Interval); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Poll{Org: tx.Org, Watch: watchID})
}

// Check returns a *RepoError for a repository URL or ref that is never allowed, and for a file://
// repository that does not exist now, so that a person who names a repository gets the error at
// once.
func (o *Observer) Check(url, ref string) error {
	at, err := o.checkAllowed(url, ref)
	if err == nil && at.scheme == "file" {
		_, err = openFileRemote(url, at.path, o.options)
	}
	return err
}

// CheckForm returns a *RepoError for a repository URL or ref that is never allowed, whether it exists
// or not.
func (o *Observer) CheckForm(url, ref string) error {
	_, err := o.checkAllowed(url, ref)
	return err
}

func (o *Observer) checkAllowed(url, ref string) (repository, error) {
	at, err := parseRepository(url)
	if err != nil {
		return at, err
	}
	if err := checkRef(ref); err != nil {
		return at, err
	}
	switch at.scheme {
	case "file":
		if _, err := openFileRemote(url, at.path, o.options); errors.Is(err, errFileNotAllowed) {
			return at, err
		}
	case "http":
		if !o.options.AllowPrivate {
			return at, repoErrorf("%s", plainHTTPMessage)
		}
	}
	return at, nil
}

// checkRef rejects names that git itself does not accept for a ref (git-check-ref-format).
func checkRef(ref string) error {
	refused := ref == "" || len(ref) > 250 || strings.HasPrefix(ref, "-") || strings.HasPrefix(ref, "/") ||
		strings.HasSuffix(ref, "/") ||
		strings.HasSuffix(ref, ".lock") || strings.HasSuffix(ref, ".") || strings.Contains(ref, "..") ||
		strings.Contains(ref, "@{") ||
		strings.ContainsAny(ref, " ~^:?*[\\\x7f") || strings.ContainsFunc(ref, func(r rune) bool { return r < ' ' })
	if refused {
		return repoErrorf("%q is not the name of a branch, a tag or a commit; write it as git does, such as main or v1.2",
			PlainText(ref, 100))
	}
	return nil
}

// SameHost reports whether two repository URLs are on one server: only then may a component's
// repository be read with the credential of its app's.
func SameHost(a, b string) bool { return sameHost(a, b) }
