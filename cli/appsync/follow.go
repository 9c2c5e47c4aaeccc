package appsync

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// refreshAfter is the time without changes after which all installs are read again. A
// poll for changes does not report installs that were forgotten.
const refreshAfter = time.Minute

// follower polls the progress of a sync. It reads all installs once, and after that only
// those that changed, so that the cost of a poll does not grow with the number of installs.
type follower struct {
	client   *apiclient.Client
	app      string
	installs bool // read the installs, too

	mark    string // cursor of the last response; empty to read all installs
	release int    // number of the release in the last response
	known   map[string]api.InstallSummary
	moved   time.Time // time of the last change of an install, or of the last full read
}

// next polls once. Partial reports that only changed installs were read.
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
	if !partial { // a new release changes the target of all installs without a change to any of them
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
		now.Installs = slices.SortedFunc(maps.Values(f.known), func(a, b api.InstallSummary) int {
			return strings.Compare(a.Name, b.Name)
		})
	}
	return now, partial, nil
}

func (f *follower) read(ctx context.Context, since string) (api.Sync, error) {
	return apiclient.Decode[api.Sync](f.client.GetSync(ctx, f.app, &api.GetSyncParams{Installs: f.installs, Since: since}))
}

// all makes the next poll read all installs.
func (f *follower) all() { f.mark = "" }
