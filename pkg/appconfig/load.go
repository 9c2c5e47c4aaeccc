package appconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Options says how to load. The zero value is right for everyone.
type Options struct {
	// Limits bound what is read; each zero field stands for its default.
	Limits Limits
}

// Limits bound what a config directory may make Load read.
type Limits struct {
	TOMLFile       int64 // bytes of one TOML file; default 1 MiB
	ReferencedFile int64 // bytes of one file that a TOML file refers to; default 4 MiB
	Total          int64 // bytes of all of them; default 64 MiB
	Files          int   // TOML files; default 2000
	Entries        int   // directory entries that are looked at; default 20000
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

// Load reads the config directory that fsys is rooted at, for example os.DirFS(dir) or a tree of a git repository. It reads
// nothing outside of it, follows no symbolic link and fetches nothing from the network.
//
// All diagnostics come at once, sorted. The App is nil if and only if one of them is an error.
func Load(fsys fs.FS, opts Options) (*App, Diagnostics) {
	l := &loader{fsys: fsys, limits: opts.Limits.withDefaults(), app: &App{}}
	l.readDirectory()
	l.checkApp()
	found := l.sorted()
	if found.HasErrors() {
		return nil, found
	}
	return l.app, found
}

// loader is one run of Load.
type loader struct {
	collector
	fsys    fs.FS
	limits  Limits
	read    int64 // bytes so far
	files   int
	entries int

	app        *App
	components []*componentFile
	actions    []*actionFile
	installs   []*installFile
	inputs     []named
	groups     []named
	groupUses  []named
	secrets    []named
	fragments  []fragment
	known      known
}

// named is a thing that the config declares, with the place of its name.
type named struct {
	name, file string
	at         position
}

var startOfFile = position{1, 1}

// readDirectory finds all files of the format and reads them in a fixed order.
func (l *loader) readDirectory() {
	entries, err := fs.ReadDir(l.fsys, ".")
	if err != nil {
		l.errorf(".", startOfFile, "is it a directory with a metadata.toml?", "the config directory cannot be read: %s", reason(err))
		return
	}
	present := map[string]bool{}
	for _, entry := range entries {
		name := entry.Name()
		if _, ok := rootFiles[name]; ok {
			present[name] = true
		}
	}
	for _, entry := range entries {
		l.readRootEntry(entry, present)
	}
	for _, name := range []string{"metadata.toml", "sandbox.toml"} {
		if !present[name] {
			l.errorf(name, startOfFile, "every app has one", "%s is missing", name)
		}
	}
}

func (l *loader) readRootEntry(entry fs.DirEntry, present map[string]bool) {
	name := entry.Name()
	if section, ok := sections[name]; ok && (entry.IsDir() || entry.Type()&fs.ModeSymlink != 0) {
		files := l.tomlFiles(name)
		if len(files) > 0 && present[name+".toml"] {
			l.errorf(name+".toml", startOfFile, "keep one of them", "both %s.toml and %s/ are there", name, name)
		}
		for _, file := range files {
			l.readFile(file, section)
		}
		return
	}
	if entry.IsDir() || !strings.HasSuffix(name, ".toml") || strings.HasPrefix(name, ".") {
		return // payload, read through file references or from git
	}
	kind, ok := rootFiles[name]
	switch {
	case ok:
		l.readFile(name, kind)
	case strings.HasPrefix(name, "nuon."):
		l.warnf(name, startOfFile, "split it into metadata.toml, sandbox.toml, components/ and so on", "the single-file form has no effect yet")
	default:
		known := make([]string, 0, len(rootFiles))
		for file := range rootFiles {
			known = append(known, file)
		}
		hint := didYouMean(name, known)
		if hint == "" {
			hint = "move it into a directory of its own if it is not part of the config"
		}
		l.errorf(name, startOfFile, hint, "%s is not a file of the format", name)
	}
}

// tomlFiles lists the TOML files below a section directory, sorted. Their names mean nothing.
func (l *loader) tomlFiles(dir string) []string {
	if l.linked(dir) {
		l.errorf(dir, startOfFile, "put the directory itself there", "%s is a symbolic link, and links are not followed", dir)
		return nil
	}
	var files []string
	err := fs.WalkDir(l.fsys, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if l.entries++; l.entries > l.limits.Entries {
			return fmt.Errorf("there are more than %d files", l.limits.Entries)
		}
		if entry.IsDir() {
			if strings.Count(name, "/") > l.limits.Depth {
				return fmt.Errorf("directories are nested more than %d levels deep", l.limits.Depth)
			}
			return nil
		}
		if strings.HasSuffix(name, ".toml") {
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		l.errorf(dir, startOfFile, "", "the directory cannot be read: %s", reason(err))
	}
	slices.Sort(files)
	return files
}

// readFile reads one TOML file and hands it to its kind.
func (l *loader) readFile(name string, kind fileKind) {
	if l.full() {
		return
	}
	if l.files++; l.files > l.limits.Files {
		if l.files == l.limits.Files+1 {
			l.errorf(name, startOfFile, "split the app", "there are more than %d TOML files", l.limits.Files)
		}
		return
	}
	data, err := l.readBytes(name, l.limits.TOMLFile)
	if err != nil {
		l.errorf(name, startOfFile, "", "the file cannot be read: %s", reason(err))
		return
	}
	root, problem := parseDocument(data)
	if problem != nil {
		problem.File = name
		l.add(*problem)
	}
	if root == nil {
		return
	}
	if len(root.keys) == 0 && kind.mayBeEmpty {
		return
	}
	kind.read(l, name, root)
}

// readBytes reads a file of at most limit bytes. No part of its path may be a symbolic link.
func (l *loader) readBytes(name string, limit int64) ([]byte, error) {
	if l.linked(name) {
		return nil, errors.New("it is a symbolic link, or below one, and links are not followed")
	}
	file, err := l.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read from
	if info, err := file.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	if l.read += int64(len(data)); l.read > l.limits.Total {
		return nil, fmt.Errorf("the files of the app are larger than %d bytes together", l.limits.Total)
	}
	return data, nil
}

// linked says whether a path, or a directory above it, is a symbolic link. Links are refused rather than followed within bounds,
// so that a checkout, a git tree and an upload of the same app read alike.
func (l *loader) linked(name string) bool {
	for at := name; at != "."; at = path.Dir(at) {
		if info, err := fs.Lstat(l.fsys, at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// readText is readBytes for what becomes part of the App.
func (l *loader) readText(name string) (string, error) {
	data, err := l.readBytes(name, l.limits.ReferencedFile)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(data) || slices.Contains(data, 0) {
		return "", errors.New("it is not UTF-8 text")
	}
	return string(data), nil
}

// reason gives an error without the path that diagnostics name anyway.
func reason(err error) string {
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it does not exist"
	case errors.As(err, &at):
		return at.Err.Error()
	}
	return err.Error()
}
