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

// Watch gives the watch of one ref of one repository, with one credential ("" for none), and makes it when there is none. It is
// looked at as soon as the transaction has committed. An address or ref that is never read is refused with a *Trouble; whether
// the repository can be reached is found out by the look.
func (o *Observer) Watch(ctx context.Context, tx *store.Tx, url, ref, credentialID string) (store.Watch, error) {
	at, err := o.allowed(url, ref)
	if err != nil {
		return store.Watch{}, err
	}
	key := store.WatchOfParams{OrgID: tx.Org, URL: at.String(), Ref: ref, CredentialID: credentialID}
	err = tx.AddWatch(ctx, store.AddWatchParams{OrgID: tx.Org, ID: id.New("wat"), URL: key.URL, Ref: ref, CredentialID: credentialID})
	if err != nil {
		return store.Watch{}, fmt.Errorf("watch %s: %w", url, err)
	}
	watch, err := tx.WatchOf(ctx, key)
	if err != nil {
		return store.Watch{}, fmt.Errorf("watch %s: %w", url, err)
	}
	if err := o.wakeUp(ctx, tx, watch.ID); err != nil {
		return store.Watch{}, fmt.Errorf("watch %s: %w", url, err)
	}
	return watch, nil
}

// wakeUp has a watch looked at that is not due at any time: it is new, or nobody read it for a while.
func (o *Observer) wakeUp(ctx context.Context, tx *store.Tx, watchID string) error {
	_, err := tx.DueOf(ctx, tx.Org, store.DueWatch, watchID)
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err := o.due(ctx, tx, watchID, o.options.Interval); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Poll{Org: tx.Org, Watch: watchID})
}

// Check refuses, with a *Trouble, a repository address or ref that is never read, and a file:// repository that is not there now.
// A person who names a repository is told so at once.
func (o *Observer) Check(url, ref string) error {
	at, err := o.allowed(url, ref)
	if err == nil && at.scheme == "file" {
		_, err = openFileRemote(url, at.path, o.options)
	}
	return err
}

// Refuses gives a *Trouble for a repository address or ref that is never read, whatever may be there.
func (o *Observer) Refuses(url, ref string) error {
	_, err := o.allowed(url, ref)
	return err
}

func (o *Observer) allowed(url, ref string) (repository, error) {
	at, err := parseRepository(url)
	if err != nil {
		return at, err
	}
	if err := checkRef(ref); err != nil {
		return at, err
	}
	switch at.scheme {
	case "file":
		if _, err := openFileRemote(url, at.path, o.options); errors.Is(err, errRefused) {
			return at, err
		}
	case "http":
		if !o.options.AllowPrivate {
			return at, troubled("%s", plainHTTPWords)
		}
	}
	return at, nil
}

// checkRef keeps what git itself would not take as the name of a ref (git-check-ref-format) away from the protocol.
func checkRef(ref string) error {
	refused := ref == "" || len(ref) > 250 || strings.HasPrefix(ref, "-") || strings.HasPrefix(ref, "/") || strings.HasSuffix(ref, "/") ||
		strings.HasSuffix(ref, ".lock") || strings.HasSuffix(ref, ".") || strings.Contains(ref, "..") || strings.Contains(ref, "@{") ||
		strings.ContainsAny(ref, " ~^:?*[\\\x7f") || strings.ContainsFunc(ref, func(r rune) bool { return r < ' ' })
	if refused {
		return troubled("%q is not the name of a branch, a tag or a commit; write it as git does, such as main or v1.2", plainText(ref, 100))
	}
	return nil
}

// SameHost tells whether two repository URLs are on one server: only then may a component's repository be read with the
// credential of its app's.
func SameHost(a, b string) bool { return sameHost(a, b) }
