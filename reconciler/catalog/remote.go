package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/remote"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Fetcher has files that configs refer to elsewhere read by another Fetcher than the one for public addresses. It is called before
// anything else is.
func (c *Catalog) Fetcher(f *remote.Fetcher) { c.fetcher = f }

// load reads a config with all that it refers to elsewhere; without a watch it is an uploaded one. The end of ctx is no fault of the config, and the only error.
func (c *Catalog) load(ctx context.Context, files fs.FS, watch *store.Watch) (*appconfig.App, appconfig.Diagnostics, error) {
	options := appconfig.Options{Fetch: c.fetcher.Load(ctx)}
	if watch != nil {
		options.Repository, options.Branch = watch.URL, branchOf(watch.Ref)
	} else {
		options.Fetch = orCarried(files, options.Fetch)
	}
	config, found := appconfig.Load(files, options)
	return config, found, ctx.Err()
}

// orCarried takes files of the author's machine from what an upload carries of them.
func orCarried(files fs.FS, fetch func(string, int64) ([]byte, error)) func(string, int64) ([]byte, error) {
	return func(reference string, limit int64) ([]byte, error) {
		if remote.IsLocal(reference) {
			if data, err := fs.ReadFile(files, remote.Carried(reference)); err == nil && int64(len(data)) <= limit {
				return data, nil
			}
		}
		return fetch(reference, limit)
	}
}

// branchOf gives the branch that a ref names, as a component would write it; nothing for what is certainly none.
func branchOf(ref string) string {
	name, full := strings.CutPrefix(ref, "refs/heads/")
	if !full && strings.HasPrefix(ref, "refs/") {
		return ""
	}
	return name
}

// remoteRule is the rule of a diagnostic about a file that could not be fetched.
const remoteRule = "remote-file"

// unread tells whether what was wrong with the config when it was last read was, among other things, a file that could not be
// fetched: it may be there now, though no commit says so.
func (p position) unread() bool {
	var found appconfig.Diagnostics
	if err := json.Unmarshal(p.app.Diagnostics, &found); err != nil {
		return false
	}
	return slices.ContainsFunc(found, func(d appconfig.Diagnostic) bool { return d.Rule == remoteRule && d.Severity == diagnostic.Error })
}

// refetchedReason says why a config that was read again, at the commit at which it was read before, is another one.
func refetchedReason(config *appconfig.App) func(position, move, *store.AppVersion) string {
	return func(at position, moved move, version *store.AppVersion) string {
		var was appconfig.App
		if at.current != nil {
			// Written by keep alone. What cannot be read is as good as none: then all files are new.
			_ = json.Unmarshal(at.current.Config, &was)
		}
		changed := refetched(was.Remote, config.Remote)
		switch {
		case at.current == nil || len(changed) == 0:
			return connectedReason(at, moved, version)
		case moved == revived:
			return fmt.Sprintf("%s set the config back to that of version %d", Some(changed), version.Number)
		}
		return Some(changed) + " changed, which the config refers to"
	}
}

// refetched gives the addresses of the files that are not what they were, without what may be a key to them.
func refetched(was, are []appconfig.RemoteFile) []string {
	before := map[string]string{}
	for _, file := range was {
		before[file.Reference] = file.Digest
	}
	var changed []string
	for _, file := range are {
		if before[file.Reference] != file.Digest {
			address, _, _ := strings.Cut(file.Reference, "?")
			changed = append(changed, address)
		}
	}
	return changed
}
