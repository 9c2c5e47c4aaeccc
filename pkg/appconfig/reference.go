package appconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// The rules about files.
const (
	ruleMissingFile    = "missing-file"
	ruleUnreadableFile = "unreadable-file"
	ruleUnknownFile    = "unknown-file"
	ruleBothForms      = "both-forms"
	ruleInclude        = "include"
	ruleRemoteFile     = "remote-file"
	ruleRemovedKind    = "removed-kind"
)

// isReference reports whether a value refers to a file instead of being the content. Only these
// prefixes count: a readme may start with "github". A value of more than one line is content.
func isReference(value string) bool {
	if strings.ContainsAny(value, "\r\n") {
		return false
	}
	return strings.HasPrefix(value, "./") || strings.HasPrefix(value, "../") || isRemote(value)
}

func isRemote(value string) bool {
	for _, scheme := range []string{"http://", "https://", "git::", "file://"} {
		if strings.HasPrefix(value, scheme) {
			return !strings.ContainsAny(value, "\r\n")
		}
	}
	return false
}

// inlineFiles reads the files that keys of a struct refer to, and replaces the references with their
// texts.
func (l *loader) inlineFiles(d document, t *syntax.Table, keys []format.Key, into any) map[string]fileText {
	var texts map[string]fileText
	for text := range format.Texts(t, keys, into, func(k *format.Key) bool { return k.File }) {
		if !isReference(text.Value) {
			continue
		}
		var file fileText
		if isRemote(text.Value) {
			file = l.remoteFile(text.Node.At, text.Path, text.Value)
		} else {
			file = l.localFile(d.inFileOf(text.Node.At), text.Node.At, text.Value, text.Key.Name == "readme")
		}
		if texts == nil {
			texts = map[string]fileText{}
		}
		texts[text.Path] = file
		if !file.unknown {
			text.Set(file.text)
		}
	}
	return texts
}

// localFile reads a file of the config directory. A missing optional file is a warning, and empty.
func (l *loader) localFile(d document, at syntax.Position, reference string, optional bool) fileText {
	unknown := fileText{unknown: true, file: d.file}
	if l.full() {
		return unknown
	}
	tried := candidates(d, reference)
	for _, name := range tried {
		text, err := l.readText(name)
		if err == nil {
			return fileText{text: text, file: name}
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, errDirectory):
			l.errorf(ruleUnreadableFile, at, "name a file in it", "%s is a directory", shorten(reference))
		default:
			l.errorf(ruleUnreadableFile, at, "", "%s cannot be read: %s", name, withoutPath(err))
		}
		return unknown
	}
	rule := ruleMissingFile
	if len(tried) == 0 {
		rule = ruleUnreadableFile
	}
	message, hint := l.missingFile(reference, tried)
	if optional && len(tried) > 0 {
		l.warnf(rule, at, hint, "%s", message)
		return fileText{file: d.file}
	}
	l.errorf(rule, at, hint, "%s", message)
	return unknown
}

// missingFile returns the error for a reference whose candidates are all missing, or which has none.
func (l *loader) missingFile(reference string, tried []string) (message, hint string) {
	if len(tried) == 0 {
		return shorten(reference) + " leads out of the config directory", "copy the file into it"
	}
	for _, name := range tried {
		if nearest := l.nearestFile(name); nearest != "" {
			hint = fmt.Sprintf("did you mean %q?", strings.TrimSuffix(reference, path.Base(reference))+nearest)
			break
		}
	}
	return fmt.Sprintf("there is no file %s: looked for %s", shorten(reference), strings.Join(tried, " and ")), hint
}

// nearestFile returns the file in the same directory whose name is most similar to a missing one.
func (l *loader) nearestFile(name string) string {
	entries, err := fs.ReadDir(l.fsys, path.Dir(name))
	if l.entries += len(entries); err != nil || l.entries > l.limits.Entries {
		return ""
	}
	var names []string
	for _, entry := range entries {
		if strings.EqualFold(entry.Name(), path.Base(name)) {
			return entry.Name()
		}
		if entry.Type().IsRegular() {
			names = append(names, entry.Name())
		}
	}
	nearest, _ := diagnostic.Nearest(path.Base(name), names)
	return nearest
}

// inFileOf returns the document with the file that holds one of its values, which may be an included
// file.
func (d document) inFileOf(at syntax.Position) document {
	d.file = at.File
	return d
}

// candidates returns the files that a local reference may refer to, in the order in which they
// are tried: relative to the file that holds the reference, then as in section 2.2 of the format.
// It leaves out paths outside of the config directory.
func candidates(d document, reference string) []string {
	var names []string
	for _, base := range bases(d) {
		name := path.Join(base, reference)
		if path.IsAbs(reference) || !fs.ValidPath(name) || name == "." || slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// bases returns the directories that a reference in a document is relative to.
func bases(d document) []string {
	own := path.Dir(d.file)
	switch d.section {
	case "components", "actions", "permissions", "installs":
		return []string{own, d.section}
	case "break_glass":
		return []string{own, "permissions"}
	}
	return []string{own, "."}
}

// fetchResult is the text of a remote file, or the error of reading it.
type fetchResult struct {
	text string
	err  error
}

// remoteFile reads a remote file, once for all keys that refer to it.
func (l *loader) remoteFile(at syntax.Position, key, reference string) fileText {
	file := fileText{unknown: true, file: maskCredentials(reference)}
	if problem, hint := remoteProblem(reference, l.config.options.Fetch != nil); problem != "" {
		l.errorf(ruleRemoteFile, at, hint, "%q: the address %s", key, problem)
		return file
	}
	if l.full() {
		return file
	}
	got, known := l.fetched[reference]
	if !known {
		got = l.fetch(reference)
		l.fetched[reference] = got
	}
	switch {
	case errors.Is(got.err, ErrNotFetched):
	case got.err != nil:
		hint := "put the file beside the config and write ./name, or try again"
		var hinted interface{ Hint() string }
		if errors.As(got.err, &hinted) {
			hint = hinted.Hint()
		}
		l.errorf(ruleRemoteFile, at, hint, "%q: %s cannot be read: %s", key, file.file, got.err)
	default:
		file.text, file.unknown = got.text, false
	}
	return file
}

// ErrNotFetched is the error of an Options.Fetch that skips a file: Load then does not check the file's
// content.
var ErrNotFetched = errors.New("not read")

// fetch reads a remote file and records it.
func (l *loader) fetch(reference string) fetchResult {
	file := RemoteFile{Reference: reference}
	got := fetchResult{err: ErrNotFetched}
	var data []byte
	if l.config.options.Fetch != nil {
		if data, got.err = l.config.options.Fetch(reference, l.limits.ReferencedFile); got.err == nil {
			got.err = l.countBytes(len(data))
		}
		if got.err == nil {
			got.text, got.err = checkUTF8(data)
		}
	}
	if got.err != nil && !errors.Is(got.err, ErrNotFetched) {
		return got
	}
	if got.err == nil {
		file.Digest, file.Bytes = sha256digest.Of(data), int64(len(data))
	}
	l.config.remote = append(l.config.remote, file)
	return got
}

// remoteProblem returns what is wrong with a remote reference. It does not repeat a reference
// that may contain a password.
func remoteProblem(reference string, fetches bool) (problem, hint string) {
	address, err := url.Parse(strings.TrimPrefix(reference, "git::"))
	switch {
	case err != nil:
		return "is no address",
			"write it like https://example.com/file, or put the file beside the config and write ./name"
	case address.User != nil:
		return "contains a user or a password", "remove it, or put the file beside the config and write ./name"
	case strings.HasPrefix(reference, "file://") && !fetches:
		return "is of a file outside of the config directory, which is only read where the config lies",
			"put the file beside the config and write ./name"
	}
	return "", ""
}

// maskCredentials returns a reference that is safe to show: without user and query, which may contain a
// token.
func maskCredentials(reference string) string {
	forced, rest, isForced := strings.Cut(reference, "::")
	if !isForced {
		forced, rest = "", reference
	}
	address, err := url.Parse(rest)
	if err != nil {
		return "the file from elsewhere"
	}
	address.User = nil
	if query := address.Query(); len(query) > 0 {
		address.RawQuery = ""
		if ref := query.Get("ref"); ref != "" && isForced {
			address.RawQuery = "ref=" + url.QueryEscape(ref)
		}
	}
	if isForced {
		return forced + "::" + address.String()
	}
	return address.String()
}

// shorten shortens user input for a message, without quotes.
func shorten(s string) string {
	return strings.Trim(diagnostic.Quote(s), `"`)
}
