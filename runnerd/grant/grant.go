// Package grant stores what the owner of a runner granted on the runner itself: break-glass roles, each until a time.
// The runner refuses a break-glass role without a grant, and after its end, also if the control plane names it. The
// commands of the owner write it, and job processes read it each time that they need credentials. The runner reports
// the names and ends of grants, so that jobs wait for them.
package grant

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// Grant allows a break-glass role until a time.
type Grant struct {
	// Role is the name of a role, or a pattern with * for any text.
	Role   string    `json:"role"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by"` // user of the machine
	At     time.Time `json:"at"`
}

// MaxDuration is the longest time for which a role is granted at once.
const MaxDuration = 7 * 24 * time.Hour

// maxGrants bounds the number of grants.
const maxGrants = 1000

// file returns the file with the grants. Pods of jobs mount its directory, so that they see a file that was replaced.
func file(dir string) string { return filepath.Join(dir, "grants", "grants.json") }

// List returns the grants in a runner's directory, also those that have ended.
func List(dir string) ([]Grant, error) {
	var all []Grant
	if _, err := spool.LoadJSON(file(dir), &all); err != nil {
		return nil, fmt.Errorf("read the grants: %w", err)
	}
	return all, nil
}

// Add adds a grant and records it in the audit log.
func Add(ctx context.Context, dir string, g Grant) error {
	switch {
	case strings.TrimSpace(g.Role) == "" || len(g.Role) > 512:
		return errors.New("name the role to grant, as the request for it does")
	case !g.Until.After(g.At):
		return fmt.Errorf("the grant would have ended already, at %s", g.Until.Format(time.RFC3339))
	case g.Until.Sub(g.At) > MaxDuration:
		return fmt.Errorf("a role is granted for at most %d days at once; grant it again later", int(MaxDuration.Hours()/24))
	}
	event := audit.Event{At: g.At, What: audit.GrantAdded, By: g.By, Role: g.Role, Until: g.Until, Reason: g.Reason}
	return change(ctx, dir, event, func(all []Grant) ([]Grant, error) {
		all = slices.DeleteFunc(all, func(old Grant) bool { return old.Role == g.Role || g.At.Sub(old.Until) > MaxDuration })
		if len(all) >= maxGrants {
			return nil, fmt.Errorf("there are %d grants already; remove some", len(all))
		}
		return append(all, g), nil
	})
}

// Remove removes the grant of a role and records it in the audit log.
func Remove(ctx context.Context, dir, role, by string, now time.Time) error {
	event := audit.Event{At: now, What: audit.GrantRemoved, By: by, Role: role}
	return change(ctx, dir, event, func(all []Grant) ([]Grant, error) {
		left := slices.DeleteFunc(slices.Clone(all), func(g Grant) bool { return g.Role == role })
		if len(left) == len(all) {
			return nil, fmt.Errorf("there is no grant of %q; see runnerd grants list", role)
		}
		return left, nil
	})
}

// change changes the grants, after it recorded the event.
func change(ctx context.Context, dir string, event audit.Event, by func([]Grant) ([]Grant, error)) error {
	if err := os.MkdirAll(filepath.Dir(file(dir)), 0o700); err != nil {
		return fmt.Errorf("change the grants: %w", err)
	}
	release, err := filelock.Wait(ctx, file(dir)+".lock", nil)
	if err != nil {
		return fmt.Errorf("change the grants: %w", err)
	}
	defer release()
	all, err := List(dir)
	if err != nil {
		return err
	}
	if all, err = by(all); err != nil {
		return err
	}
	if err := audit.Append(dir, event); err != nil {
		return err
	}
	return spool.SaveJSON(file(dir), all)
}

// Current returns the grants that have not ended, as the runner reports them.
func Current(all []Grant, now time.Time) []api.RunnerGrant {
	var current []api.RunnerGrant
	for _, g := range all {
		if g.Until.After(now) {
			current = append(current, api.RunnerGrant{Role: g.Role, Until: g.Until})
		}
	}
	return current
}
