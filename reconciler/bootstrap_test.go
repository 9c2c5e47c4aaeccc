package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// TestBootstrap checks that it creates a valid admin token and revokes the earlier one of that
// name.
func TestBootstrap(t *testing.T) {
	o := bootstrapOptions{
		databaseURL: storetest.DSN(t), keyFile: filepath.Join(t.TempDir(), "server.key"),
		org: "acme", actor: "bootstrap",
	}
	if _, err := seal.LoadOrCreateIdentity(o.keyFile); err != nil {
		t.Fatal(err)
	}
	var given []string
	for _, name := range []string{"bootstrap", "alice", "bootstrap"} {
		o.actor = name
		made, err := createBootstrap(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		given = append(given, made.Token)
	}
	s, err := store.Open(t.Context(), o.databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	org, err := s.FindOrg(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	var good []bool
	var events []string
	err = s.ReadTx(t.Context(), org.ID, func(ctx context.Context, tx *store.Tx) error {
		for _, plain := range given {
			row, err := tx.TokenByHash(ctx, tx.Org, token.Hash(plain))
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			good = append(good, err == nil && row.Token.Role == "admin")
		}
		all, err := tx.ViewAudit(ctx, store.ViewAuditParams{OrgID: tx.Org, Before: 1 << 40, Most: 10})
		for _, e := range all {
			events = append(events, e.Actor+" "+e.Action)
			for _, plain := range given {
				if strings.Contains(string(e.Detail), plain) {
					t.Errorf("the audit has a token: %s", e.Detail)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(good, []bool{false, true, true}) {
		t.Errorf("good are %v, want all but the first, whose name was given anew", good)
	}
	if want := []string{
		"bootstrap token.create", "bootstrap token.revoke", "alice token.create", "bootstrap token.create",
	}; !slices.Equal(events, want) {
		t.Errorf("recorded %q, want %q", events, want)
	}
}
