package sync

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// refreshAfter is how long no install may change before all of them are read again: an install that was forgotten is in no answer.
const refreshAfter = time.Minute

// follower reads how far a sync is. It reads all installs once, and then those that changed, so that a poll does not cost more for an app with
// more installs.
type follower struct {
	client   *remote.Client
	app      string
	installs bool // read the installs, too

	mark    string // of the last answer, empty to read all installs
	release int    // number of the release that the installs were compared with
	known   map[string]api.InstallSummary
	moved   time.Time // when an install changed last, or all were read
}

// next reads what is now. Partial reports that only what changed was read.
func (f *follower) next(ctx context.Context) (now api.Sync, partial bool, err error) {
	if !f.installs {
		now, err = f.read(ctx, "")
		return now, false, err
	}
	partial = f.mark != "" && time.Since(f.moved) < refreshAfter
	if partial {
		if now, err = f.read(ctx, f.mark); err != nil {
			return now, true, err
		}
		partial = now.App.Release.Number == f.release
	}
	if !partial { // which release installs are to have has moved, without a change to any of them
		if now, err = f.read(ctx, ""); err != nil {
			return now, false, err
		}
		f.known = map[string]api.InstallSummary{}
	}
	f.mark, f.release = now.Mark, now.App.Release.Number
	if !partial || len(now.Installs) > 0 {
		f.moved = time.Now()
	}
	for _, i := range now.Installs {
		f.known[i.ID] = i
	}
	if partial {
		now.Installs = slices.SortedFunc(maps.Values(f.known), func(a, b api.InstallSummary) int { return strings.Compare(a.Name, b.Name) })
	}
	return now, partial, nil
}

func (f *follower) read(ctx context.Context, since string) (api.Sync, error) {
	return remote.Get[api.Sync](f.client.GetSync(ctx, f.app, &api.GetSyncParams{Installs: f.installs, Since: since}))
}

// all has the next answer be about all installs.
func (f *follower) all() { f.mark = "" }
