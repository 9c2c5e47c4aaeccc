package sbom

import (
	"bufio"
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"net/textproto"
	"path"
	"slices"
	"strings"
)

// ecosystem is a kind of packages: a type of package URLs. Source: package-url/purl-spec, the list of its types.
type ecosystem string

const (
	debian ecosystem = "deb"
	alpine ecosystem = "apk"
	golang ecosystem = "golang"
	python ecosystem = "pypi"
	node   ecosystem = "npm"
)

// format is a kind of file that states packages.
type format struct {
	what    string // as people call it
	matches func(name string) bool
	limit   int64
	read    func(text []byte) ([]found, error) // nil if it cannot be read
}

// formats are the files that state packages, each at the place where the tools of its ecosystem store it.
var formats = []format{
	{"list of Debian packages", isDpkg, maxDatabase, readDpkg},
	{"list of Alpine packages", isOneOf("lib/apk/db/installed", "usr/lib/apk/db/installed"), maxDatabase, readApk},
	{"Python distribution", isPython, maxMetadata, readPython},
	{"Node module", isNode, maxMetadata, readNode},
	{"RPM database, which is not read", isRPM, 0, nil},
}

func isOneOf(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

// isDpkg also recognizes the directory of images without a package manager, which has a file for each package.
func isDpkg(name string) bool {
	dir, base := path.Split(name)
	return name == "var/lib/dpkg/status" || dir == "var/lib/dpkg/status.d/" && !strings.HasSuffix(base, ".md5sums")
}

// readDpkg reads the paragraphs of dpkg: deb-control(5). Packages that were removed have a status without "installed".
func readDpkg(text []byte) ([]found, error) {
	var made []found
	for fields, err := range paragraphs(text) {
		if err != nil {
			return nil, err
		}
		status := strings.Fields(fields.Get("Status"))
		if len(status) > 0 && status[len(status)-1] != "installed" {
			continue
		}
		made = append(made, found{debian, fields.Get("Package"), fields.Get("Version"), fields.Get("Architecture")})
	}
	return made, nil
}

// paragraphs returns the groups of fields that empty lines separate.
func paragraphs(text []byte) func(yield func(textproto.MIMEHeader, error) bool) {
	return func(yield func(textproto.MIMEHeader, error) bool) {
		reader := textproto.NewReader(bufio.NewReader(bytes.NewReader(text)))
		for {
			fields, err := reader.ReadMIMEHeader()
			if len(fields) > 0 || err != nil && !errors.Is(err, io.EOF) {
				last := errors.Is(err, io.EOF)
				if last {
					err = nil
				}
				if !yield(fields, err) || last {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
}

// readApk reads the records of apk: lines of a letter, a colon and a value. Source: the format APKINDEX of Alpine.
func readApk(text []byte) ([]found, error) {
	var (
		made   []found
		record = found{ecosystem: alpine}
	)
	for line := range strings.Lines(string(text) + "\n") {
		line = strings.TrimRight(line, "\r\n")
		switch letter, value, _ := strings.Cut(line, ":"); letter {
		case "P":
			record.Name = value
		case "V":
			record.Version = value
		case "A":
			record.Architecture = value
		case "":
			if record.Name != "" {
				made = append(made, record)
			}
			record = found{ecosystem: alpine}
		}
	}
	if record.Name != "" {
		made = append(made, record)
	}
	return made, nil
}

func isPython(name string) bool {
	dir, base := path.Split(name)
	return base == "METADATA" && strings.HasSuffix(dir, ".dist-info/") ||
		base == "PKG-INFO" && strings.HasSuffix(dir, ".egg-info/")
}

// readPython reads the fields of a distribution. Source: the core metadata specifications of PyPA.
func readPython(text []byte) ([]found, error) {
	for fields, err := range paragraphs(text) {
		return []found{{python, fields.Get("Name"), fields.Get("Version"), ""}}, err
	}
	return nil, nil
}

// isNode recognizes the package.json of a module: node_modules/NAME or node_modules/@SCOPE/NAME.
func isNode(name string) bool {
	if path.Base(name) != "package.json" {
		return false
	}
	module := path.Dir(name)
	parent := path.Dir(module)
	if strings.HasPrefix(path.Base(parent), "@") {
		parent = path.Dir(parent)
	}
	return path.Base(parent) == "node_modules" && !strings.HasPrefix(path.Base(module), "@")
}

func readNode(text []byte) ([]found, error) {
	var module struct{ Name, Version string }
	if err := json.Unmarshal(text, &module); err != nil {
		return nil, err
	}
	return []found{{node, module.Name, module.Version, ""}}, nil
}

var isRPM = isOneOf("var/lib/rpm/rpmdb.sqlite", "var/lib/rpm/Packages", "var/lib/rpm/Packages.db",
	"usr/lib/sysimage/rpm/rpmdb.sqlite", "usr/lib/sysimage/rpm/Packages.db")

// program returns the modules of a program that was written in Go, and nothing for another.
func (i *Inventory) program(size int64, content io.Reader) ([]found, error) {
	start := make([]byte, len(elf.ELFMAG))
	if n, err := io.ReadFull(content, start); err != nil || string(start[:n]) != elf.ELFMAG {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil // it is shorter
		}
		return nil, err
	}
	if size > maxExecutable {
		return nil, unreadable("a program of more than %d MiB", maxExecutable>>20)
	}
	stored, err := i.spool(start, content)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stored.Close() }()
	info, err := buildinfo.Read(stored)
	if err != nil {
		return nil, nil //nolint:nilerr // it was not written in Go
	}
	made := []found{{golang, "stdlib", release(info.GoVersion), ""}}
	if info.Main.Path != "" {
		made = append(made, found{golang, info.Main.Path, version(info.Main.Version), ""})
	}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		made = append(made, found{golang, module.Path, version(module.Version), ""})
	}
	return made, nil
}

// version returns the version of a Go module, and "" for one that was built from a directory.
func version(of string) string {
	if of == "(devel)" {
		return ""
	}
	return of
}

// release returns the version of Go without the experiments that may follow it.
func release(of string) string {
	number, _, _ := strings.Cut(strings.TrimPrefix(of, "go"), " ")
	return number
}
