package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/configfetch"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// SetFetcher replaces the default Fetcher, which reads only public addresses, for files elsewhere that
// configs refer to. Call it before any other method.
func (c *Catalog) SetFetcher(f *configfetch.Fetcher) { c.fetcher = f }

// load reads a config with everything that it refers to elsewhere; without a watch the config is
// uploaded. The only error is the end of ctx, which is no fault of the config.
func (c *Catalog) load(
	ctx context.Context, files fs.FS, watch *store.Watch, options appconfig.Options,
) (*appconfig.App, appconfig.Diagnostics, error) {
	options.Fetch = c.fetcher.Load(ctx)
	if watch != nil {
		options.Repository, options.Branch = watch.URL, branchOf(watch.Ref)
	} else {
		options.Fetch = preferUploaded(files, options.Fetch)
	}
	config, found := appconfig.Load(files, options)
	return config, found, ctx.Err()
}

// preferUploaded reads files of the author's machine from the copies that an upload includes.
func preferUploaded(files fs.FS, fetch func(string, int64) ([]byte, error)) func(string, int64) ([]byte, error) {
	return func(reference string, limit int64) ([]byte, error) {
		if configfetch.IsLocal(reference) {
			if data, err := fs.ReadFile(files, configfetch.UploadPath(reference)); err == nil && int64(len(data)) <= limit {
				return data, nil
			}
		}
		return fetch(reference, limit)
	}
}

// branchOf returns the branch that a ref names, as a component would write it. It is empty if the
// ref is certainly no branch.
func branchOf(ref string) string {
	name, full := strings.CutPrefix(ref, "refs/heads/")
	if !full && strings.HasPrefix(ref, "refs/") {
		return ""
	}
	return name
}

// remoteRule is the rule of a diagnostic about a file that could not be fetched.
const remoteRule = "remote-file"

// hasUnreadFiles reports whether the errors of the config, when it was last read, included a file that
// could not be fetched. That file may be available now, without any new commit.
func (p appState) hasUnreadFiles() bool {
	var found appconfig.Diagnostics
	if err := json.Unmarshal(p.app.Diagnostics, &found); err != nil {
		return false
	}
	return slices.ContainsFunc(found,
		func(d appconfig.Diagnostic) bool { return d.Rule == remoteRule && d.Severity == diagnostic.Error })
}

// refetchedReason returns why a config that was read again at the same commit has changed.
func refetchedReason(config *appconfig.App) func(appState, versionChange, *store.AppVersion) string {
	return func(at appState, moved versionChange, version *store.AppVersion) string {
		var was appconfig.App
		if at.current != nil {
			// Only keep writes it. If it cannot be read, all files count as new.
			_ = json.Unmarshal(at.current.Config, &was)
		}
		changed := changedRemoteFiles(was.Remote, config.Remote)
		switch {
		case at.current == nil || len(changed) == 0:
			return connectedReason(at, moved, version)
		case moved == versionRevived:
			return fmt.Sprintf("%s set the config back to that of version %d", Summarize(changed), version.Number)
		}
		return Summarize(changed) + " changed, which the config refers to"
	}
}

// changedRemoteFiles returns the addresses of the files that have changed, without query parameters, which
// may contain a key.
func changedRemoteFiles(was, are []appconfig.RemoteFile) []string {
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
