package store_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// TestPrefetch: what was read without being decoded is later the same as if it were read again, and the digest changes
// with each value.
func TestPrefetch(t *testing.T) {
	t.Parallel()
	s, org := storetest.New(t)
	work := func(do func(ctx context.Context, tx *store.Tx) error) {
		t.Helper()
		must(t, s.InTx(t.Context(), org.ID, do))
	}
	work(func(ctx context.Context, tx *store.Tx) error {
		for _, name := range []string{"one", "two"} {
			app := store.AddAppParams{OrgID: org.ID, ID: "app-" + name, Name: name, Directory: "."}
			if _, err := tx.AddApp(ctx, app); err != nil {
				return err
			}
			if _, err := store.Raw(tx).Exec(ctx, `insert into components (org_id, id, app_id, name, kind) values
				($1, $2, $3, 'web', 'terraform_module')`, org.ID, "cmp-"+name, "app-"+name); err != nil {
				return err
			}
		}
		return nil
	})
	var digests []store.ReadDigest
	read := func() {
		t.Helper()
		work(func(ctx context.Context, tx *store.Tx) error {
			later, digest, err := tx.Prefetch(ctx, func(ctx context.Context, tx *store.Tx) error {
				if all, err := tx.ComponentsForRollout(ctx, org.ID, "app-one"); err != nil || len(all) > 0 {
					t.Errorf("%v %v", all, err)
				}
				app, err := tx.AppByID(ctx, org.ID, "app-one")
				if err != nil || app.Name != "one" {
					t.Errorf("%v %v", app, err)
				}
				_, err = tx.AppByID(ctx, org.ID, "no-app")
				if !errors.Is(err, store.ErrNotFound) {
					t.Error(err)
				}
				return nil
			})
			must(t, err)
			digests = append(digests, digest)
			for _, app := range []string{"app-one", "app-two", "app-one"} { // the third time from the database
				got, err := later.ComponentsForRollout(ctx, org.ID, app)
				must(t, err)
				want, err := tx.ComponentsForRollout(ctx, org.ID, app)
				must(t, err)
				if len(got) != 1 || !reflect.DeepEqual(got, want) {
					t.Errorf("got  %+v\nwant %+v", got, want)
				}
			}
			got, err := later.AppByID(ctx, org.ID, "app-one")
			must(t, err)
			want, err := tx.AppByID(ctx, org.ID, "app-one")
			must(t, err)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if _, err := later.AppByID(ctx, org.ID, "no-app"); !errors.Is(err, store.ErrNotFound) {
				t.Error(err)
			}
			if tx.Wrote() || later.Wrote() {
				t.Error("reading counts as a write")
			}
			return nil
		})
	}
	read()
	read()
	if digests[0] != digests[1] {
		t.Error("the same rows have two digests")
	}
	for i, change := range []string{
		"update components set name = 'wex' where app_id = 'app-one'",
		"update components set problem = 'p' where app_id = 'app-one'",
		"update apps set directory = 'a' where id = 'app-one'",
		"update components set problem = 'p' where app_id = 'app-two'", // which was not read
	} {
		work(func(ctx context.Context, tx *store.Tx) error {
			_, err := store.Raw(tx).Exec(ctx, change)
			return err
		})
		read()
		if last := len(digests) - 1; (digests[last] != digests[last-1]) != (i < 3) {
			t.Errorf("after %s the digest is the same or not as it should be", change)
		}
	}
}
