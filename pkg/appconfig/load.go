package appconfig

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// Options configure Load. The zero value reads the directory and nothing else.
type Options struct {
	// Limits bound what is read; each zero field means its default.
	Limits Limits
	// Fetch reads a remote file. reference starts with http://, https://, git:: or file://, as
	// written in the config; a file of more than limit bytes is an error. Load calls Fetch once
	// for each distinct reference. If Fetch returns ErrNotFetched, Load skips the checks of the
	// file's content, and App.NotFetched counts it; a nil Fetch does so for all files.
	Fetch func(reference string, limit int64) ([]byte, error)
	// Repository and Branch are where the config itself comes from, written as in a component, or
	// empty if unknown. Code from another branch of the same repository is probably a mistake, so
	// Load warns.
	Repository, Branch string
	// Tree is the root of the work tree or commit that holds the config. Load checks modules,
	// charts and kustomizations of the app's own repository in it. If it is nil, code is not
	// checked.
	Tree fs.FS
	// Root is the repository that holds the config, and Directory the path of the config in it: Load follows
	// symbolic links that leave the config directory within Root. If Root is nil, such links are errors.
	Root      fs.FS
	Directory string
}

// Limits bound how much Load reads for a config directory.
type Limits struct {
	TOMLFile       int64 // bytes of one TOML file; default 1 MiB
	ReferencedFile int64 // bytes of one file that a TOML file refers to; default 4 MiB
	Total          int64 // bytes of all of them; default 64 MiB
	Files          int   // TOML files; default 2000
	Entries        int   // directory entries visited; default 20000
	Depth          int   // directories below a section; default 8
}

func (l Limits) withDefaults() Limits {
	set := func(field *int64, value int64) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&l.TOMLFile, 1<<20)
	set(&l.ReferencedFile, 4<<20)
	set(&l.Total, 64<<20)
	if l.Files <= 0 {
		l.Files = 2000
	}
	if l.Entries <= 0 {
		l.Entries = 20000
	}
	if l.Depth <= 0 {
		l.Depth = 8
	}
	return l
}

// Load reads the config directory at the root of fsys, for example os.DirFS(dir) or a tree of a git
// repository. It reads nothing outside of fsys except the code in Options.Tree and what symbolic links in fsys
// lead to in Options.Root, and leaves the network to Options.Fetch.
//
// Load returns all diagnostics at once, sorted. The App is nil if and only if one of them is an
// error.
func Load(fsys fs.FS, opts Options) (*App, Diagnostics) {
	l := &loader{
		reader: reader{fsys: fsys, root: opts.Root, base: opts.Directory, limits: opts.Limits.withDefaults()},
		config: &config{options: opts, unreadable: unreadableNames{}},
		parsed: map[string]*syntax.Table{}, empty: map[string]bool{}, included: map[string]bool{},
		fetched: map[string]fetchResult{},
	}
	l.load()
	check(l.config, &l.reporter)
	found := l.sorted()
	if found.HasErrors() {
		return nil, found
	}
	return l.config.app(), found
}

// loader is one run of Load.
type loader struct {
	reporter
	reader
	config *config

	prefetcher *prefetcher
	toml       syntax.Parser
	files      int // TOML files parsed so far
	values     int // values in those files
	parsed     map[string]*syntax.Table
	empty      map[string]bool // files of zero bytes
	included   map[string]bool // files included by others
	includes   int             // number of includes so far
	fetched    map[string]fetchResult
}

// document is one TOML file of a section, or the part of a nuon.APP.toml that replaces one.
type document struct {
	file    string
	section string // name of its file or directory without .toml, such as metadata or components
	single  bool   // has one declaration in its own file, as in a directory
	table   *syntax.Table
}

// load finds all files of the format, reads them in a fixed order, and then adds their
// declarations.
func (l *loader) load() {
	documents := l.documents()
	for i := range documents {
		l.include(&documents[i])
	}
	for _, d := range documents {
		if l.included[d.file] || l.full() {
			continue
		}
		if d.section == "" {
			l.unknownFile(d.file)
			continue
		}
		l.declare(d)
	}
}

// documents reads the files of the directory.
func (l *loader) documents() []document {
	entries, err := fs.ReadDir(l.fsys, ".")
	if err != nil {
		l.errorf(ruleUnreadableFile, syntax.Start("."), "is it a directory with a metadata.toml?",
			"the config directory cannot be read: %s", withoutPath(err))
		return nil
	}
	var all []document
	present := map[string]bool{}
	for _, entry := range entries {
		present[entry.Name()] = true
	}
	filesOf := l.startParsingAll(entries)
	defer l.prefetcher.workers.Wait()
	single := l.singleFile(entries, present)
	for _, entry := range entries {
		switch name := entry.Name(); {
		case isSectionEntry(entry):
			all = append(all, l.directory(name, filesOf[name], present)...)
		case entry.IsDir() || !strings.HasSuffix(name, ".toml") || strings.HasPrefix(name, "."):
			// Payload, for references or from git.
		case name == single:
			all = append(all, l.sections(name)...)
		case isRootFile(name):
			all = append(all, l.document(name, strings.TrimSuffix(name, ".toml"), false)...)
		case !isSingleFile(name):
			all = append(all, document{file: name})
		}
	}
	switch {
	case single != "":
	case len(all) == 0 && !slices.ContainsFunc(entries, isOfFormat):
		hint := "name another directory, or write one with `nuon init`"
		if apps := l.appsBelow(entries); len(apps) > 0 {
			hint = "it holds " + listOfApps(apps)
		}
		l.errorf(ruleMissingFile, syntax.Start("."), hint, "this is not a config directory: it has no metadata.toml")
	default:
		l.checkRequiredFiles(present)
	}
	return all
}

// appsBelow returns the config directories in the directory and in those directly below it.
func (l *loader) appsBelow(entries []fs.DirEntry) []string {
	var apps []string
	visited := 0
	var search func(dir string, entries []fs.DirEntry, depth int)
	search = func(dir string, entries []fs.DirEntry, depth int) {
		for _, entry := range entries {
			if visited++; visited > l.limits.Entries || !entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
				continue
			}
			name := path.Join(dir, entry.Name())
			if info, err := fs.Stat(l.fsys, path.Join(name, "metadata.toml")); err == nil && info.Mode().IsRegular() {
				apps = append(apps, name)
			} else if below, err := fs.ReadDir(l.fsys, name); err == nil && depth > 1 {
				search(name, below, depth-1)
			}
		}
	}
	search(".", entries, 2)
	return apps
}

// listOfApps names config directories for a hint.
func listOfApps(apps []string) string {
	const most = 5
	switch {
	case len(apps) == 1:
		return "an app in " + apps[0] + ": name that directory"
	case len(apps) > most:
		return fmt.Sprintf("%d apps, name one of them or several: %s and %d more", len(apps),
			strings.Join(apps[:most], ", "), len(apps)-most)
	}
	return fmt.Sprintf("%d apps, name one of them or several: %s", len(apps), strings.Join(apps, ", "))
}

// startParsingAll starts to read all files of the format. It returns those of each section that is a
// directory.
func (l *loader) startParsingAll(entries []fs.DirEntry) map[string][]string {
	filesOf := map[string][]string{}
	var all []string
	for _, entry := range entries {
		switch name := entry.Name(); {
		case isSectionEntry(entry):
			files, err := l.tomlFiles(name)
			if err != nil {
				l.errorf(ruleUnreadableFile, syntax.Start(name), "", "the directory cannot be read: %s", withoutPath(err))
			}
			filesOf[name] = files
			all = append(all, files...)
		case isRootFile(name) && !entry.IsDir():
			all = append(all, name)
		}
	}
	l.startParsing(all)
	return filesOf
}

// isSectionEntry reports whether an entry of the root is the directory of a section, or a
// symbolic link with that name.
func isSectionEntry(entry fs.DirEntry) bool {
	return isSection(entry.Name()) && (entry.IsDir() || entry.Type()&fs.ModeSymlink != 0)
}

func isOfFormat(entry fs.DirEntry) bool {
	return isRootFile(entry.Name()) || isSection(entry.Name()) && entry.IsDir()
}

// checkRequiredFiles reports missing files that every app must have.
func (l *loader) checkRequiredFiles(present map[string]bool) {
	for _, name := range []string{"metadata.toml", "sandbox.toml"} {
		if !present[name] {
			l.errorf(ruleMissingFile, syntax.Start(name), "every app has one", "%s is missing", name)
		}
	}
}

// directory reads the files of a section that is a directory.
func (l *loader) directory(name string, files []string, present map[string]bool) []document {
	var all []document
	if file := rootForm(name); len(files) > 0 && present[file] && l.hasContent(file) {
		l.errorf(ruleBothForms, syntax.Start(file), "keep one of them", "both %s and %s/ are there", file, name)
	}
	for _, file := range files {
		all = append(all, l.document(file, name, true)...)
	}
	return all
}

// maxValues bounds the values in all files; those of an included file count again for each file
// that includes it. In memory a value takes a hundred times its size in the file.
const maxValues = 100_000

// withinMaxValues counts the values of a table, and reports whether the total is within maxValues.
func (l *loader) withinMaxValues(file string, table *syntax.Table) bool {
	before := l.values
	if l.values += table.Size(); l.values <= maxValues {
		return true
	}
	if before <= maxValues {
		l.errorf(ruleTooMany, syntax.Start(file), "split the app", "there are more than %d values", maxValues)
	}
	return false
}

// hasContent reports whether a TOML file contains more than comments: authors leave empty files
// behind.
func (l *loader) hasContent(file string) bool {
	table := l.parse(file)
	return table == nil || table.Len() > 0
}

// document reads one TOML file. It returns nothing for an unreadable file, or for an empty one
// where that is allowed.
func (l *loader) document(file, section string, single bool) []document {
	table := l.parse(file)
	if table == nil || table.Len() == 0 && mayBeEmpty(section, l.empty[file]) {
		return nil
	}
	return []document{{file: file, section: section, single: single, table: table}}
}

// parse reads and parses a TOML file once. If that fails, it reports the problem and returns nil.
func (l *loader) parse(file string) *syntax.Table {
	if table, known := l.parsed[file]; known || l.full() {
		return table
	}
	l.parsed[file] = nil
	if l.files++; l.files > l.limits.Files {
		if l.files == l.limits.Files+1 {
			l.errorf(ruleTooMany, syntax.Start(file), "split the app",
				"there are more than %d TOML files", l.limits.Files)
		}
		return nil
	}
	data, table, problem, err := l.readAndParse(file)
	if err != nil {
		l.errorf(ruleUnreadableFile, syntax.Start(file), "", "the file cannot be read: %s", withoutPath(err))
		return nil
	}
	l.empty[file] = len(data) == 0
	if problem != nil {
		l.add(*problem)
		l.config.unreadable.addFile(string(data))
		return nil
	}
	if !l.withinMaxValues(file, table) {
		return nil
	}
	l.parsed[file] = table
	return table
}

// isComponent reports whether a file at the root belongs in components/, by its type.
func (l *loader) isComponent(name string) bool {
	data, err := l.readBytes(name, l.limits.TOMLFile)
	if err != nil {
		return false
	}
	table, _ := syntax.Parse(name, data)
	kind, ok := table.Get("type").Text()
	return ok && slices.Contains(componentKinds(), kind)
}

// unknownFile reports a TOML file at the root that is not part of the format. It only warns if
// the file probably belongs to another program whose config is in the same directory.
func (l *loader) unknownFile(name string) {
	hint := diagnostic.DidYouMean(name, slices.Clone(rootFiles))
	switch {
	case hint != "":
	case isSection(strings.TrimSuffix(name, ".toml")):
		hint = "write a file for each below " + strings.TrimSuffix(name, ".toml") + "/"
	case l.isComponent(name):
		hint = "move it into components/"
	default:
		l.warnf(ruleUnknownFile, syntax.Start(name),
			"move it into a directory of its own if it is not part of the config",
			"%s is not a file of the format and is not read", name)
		return
	}
	l.errorf(ruleUnknownFile, syntax.Start(name), hint, "%s is not a file of the format", name)
}
