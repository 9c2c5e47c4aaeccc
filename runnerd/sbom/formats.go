package sbom

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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
	{"RPM database", isRPM, 0, nil},
}

// executable are the bits of the mode of a program.
const executable = 0o111

// formatOf returns the format of a file by its path; nil if it states no packages.
func formatOf(name string) *format {
	for i := range formats {
		if formats[i].matches(name) {
			return &formats[i]
		}
	}
	return nil
}

// read returns what a file states.
func (i *Inventory) read(name string, header *tar.Header, content io.Reader) file {
	if name == etcRelease || name == usrRelease {
		return readRelease(content)
	}
	f := formatOf(name)
	if f == nil {
		if header.Mode&executable != 0 {
			return i.program(header.Size, content)
		}
		return file{}
	}
	switch {
	case f.read == nil:
		return file{unread: f.what + ", which is not read"}
	case header.Size > f.limit:
		return file{unread: fmt.Sprintf("%s of more than %d MiB", f.what, f.limit>>20)}
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return file{unread: f.what + ", which is cut off"}
	}
	packages, err := f.read(text)
	if err != nil {
		return file{unread: f.what + ", which is damaged"}
	}
	return checked(packages)
}

// checked returns the packages that a list can show.
func checked(packages []found) file {
	made := file{packages: slices.DeleteFunc(packages, isInvalid)}
	if bad := len(packages) - len(made.packages); bad > 0 {
		made.unread = fmt.Sprintf("%d packages whose name or version is none", bad)
	}
	return made
}

// isInvalid reports whether a package has no name, or a text that no name of a package has.
func isInvalid(f found) bool {
	for _, text := range []string{f.Name, f.Version, f.Architecture, f.Source} {
		if len(text) > maxField || strings.ContainsFunc(text, isUnprintable) {
			return true
		}
	}
	for part := range strings.SplitSeq(f.Name, "/") {
		if part == "" || part == "." || part == ".." {
			return true
		}
	}
	return false
}

func isUnprintable(r rune) bool { return r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r) }

// text returns a copy of a field, which does not keep the file that has it in memory.
func text(field string) string { return strings.Clone(strings.TrimSpace(field)) }

func isOneOf(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

// isDpkg also recognizes the directory of images without a package manager, which has a file for each package.
func isDpkg(name string) bool {
	dir, base := path.Split(name)
	return name == "var/lib/dpkg/status" || dir == "var/lib/dpkg/status.d/" && !strings.HasSuffix(base, ".md5sums")
}

// absent are the states of dpkg in which a package has no files but perhaps settings. Source: dpkg(1).
var absent = []string{"not-installed", "config-files"}

// readDpkg reads the paragraphs of dpkg: deb-control(5).
func readDpkg(content []byte) ([]found, error) {
	var made []found
	for fields, err := range paragraphs(content) {
		if err != nil {
			return nil, err
		}
		status := strings.Fields(fields.Get("Status"))
		if len(status) > 0 && slices.Contains(absent, status[len(status)-1]) {
			continue
		}
		p := found{ecosystem: debian, Name: text(fields.Get("Package")), Version: text(fields.Get("Version")),
			Architecture: text(fields.Get("Architecture"))}
		// "openssl", or with another version than that of the package: "openssl (3.0.11-1)".
		if source, version, other := strings.Cut(text(fields.Get("Source")), " ("); other {
			p.Source = source + "@" + strings.TrimSuffix(version, ")")
		} else {
			p.Source = source
		}
		made = append(made, p)
	}
	return made, nil
}

// paragraphs returns the groups of fields that empty lines separate. An error comes with the fields before it.
func paragraphs(content []byte) func(yield func(textproto.MIMEHeader, error) bool) {
	return func(yield func(textproto.MIMEHeader, error) bool) {
		reader := textproto.NewReader(bufio.NewReader(bytes.NewReader(content)))
		for {
			fields, err := reader.ReadMIMEHeader()
			last := errors.Is(err, io.EOF)
			if last {
				err = nil
			}
			if (len(fields) > 0 || err != nil) && !yield(fields, err) || last || err != nil {
				return
			}
		}
	}
}

// readApk reads the records of apk: lines of a letter, a colon and a value. Source: the format APKINDEX of Alpine.
func readApk(content []byte) ([]found, error) {
	var made []found
	record := found{ecosystem: alpine}
	for line := range bytes.Lines(append(content, "\n\n"...)) {
		letter, value, _ := strings.Cut(text(string(line)), ":")
		switch letter {
		case "P":
			record.Name = value
		case "V":
			record.Version = value
		case "A":
			record.Architecture = value
		case "o":
			record.Source = value
		case "":
			if record.Name != "" {
				if record.Source == record.Name {
					record.Source = ""
				}
				made = append(made, record)
			}
			record = found{ecosystem: alpine}
		}
	}
	return made, nil
}

// isPython recognizes the metadata of wheels, eggs and what distutils installed.
func isPython(name string) bool {
	dir, base := path.Split(name)
	return base == "METADATA" && strings.HasSuffix(dir, ".dist-info/") ||
		base == "PKG-INFO" && (strings.HasSuffix(dir, ".egg-info/") || strings.HasSuffix(dir, ".egg/EGG-INFO/")) ||
		strings.HasSuffix(base, ".egg-info")
}

// readPython reads the fields of a distribution. Source: the core metadata specifications of PyPA.
func readPython(content []byte) ([]found, error) {
	for fields, err := range paragraphs(content) {
		p := found{ecosystem: python, Name: text(fields.Get("Name")), Version: text(fields.Get("Version"))}
		if p.Name != "" && p.Version != "" {
			err = nil // descriptions are often written badly
		}
		return []found{p}, err
	}
	return nil, errors.New("it is empty")
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

// readNode reads a package.json. Its keys are exact, so it is not read into a struct.
func readNode(content []byte) ([]found, error) {
	var (
		module        map[string]json.RawMessage
		name, version string
	)
	err := json.Unmarshal(bytes.TrimPrefix(content, []byte("\ufeff")), &module)
	if err == nil && module["name"] == nil {
		return nil, nil // a folder inside of a module, which says how its files are loaded
	}
	if err == nil {
		err = json.Unmarshal(module["name"], &name)
	}
	if err == nil && module["version"] != nil {
		err = json.Unmarshal(module["version"], &version)
	}
	return []found{{ecosystem: node, Name: text(name), Version: text(version)}}, err
}

// isRPM recognizes the database, wherever a distribution has it.
func isRPM(name string) bool {
	dir, base := path.Split(name)
	return slices.Contains([]string{"var/lib/rpm/", "usr/lib/sysimage/rpm/", "usr/share/rpm/"}, dir) &&
		slices.Contains([]string{"rpmdb.sqlite", "Packages", "Packages.db"}, base) ||
		name == "var/lib/rpmmanifest/container-manifest-2"
}

// The places of an os-release, the first before the second. Source: os-release(5).
const (
	etcRelease = "etc/os-release"
	usrRelease = "usr/lib/os-release"
)

// releaseKeys are the fields of an os-release that are used.
var releaseKeys = []string{"ID", "VERSION_ID"}

func readRelease(content io.Reader) file {
	read, err := io.ReadAll(io.LimitReader(content, maxMetadata))
	if err != nil {
		return file{}
	}
	made := map[string]string{}
	for line := range strings.Lines(string(read)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"'`)
		if slices.Contains(releaseKeys, key) && !isInvalid(found{Name: value}) {
			made[key] = strings.Clone(value)
		}
	}
	return file{release: made}
}
