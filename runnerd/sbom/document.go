package sbom

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"

	"github.com/package-url/packageurl-go"

	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// PredicateType is that of a document in a statement of in-toto. Source: in-toto/attestation, spec/predicates/spdx.md.
const PredicateType = "https://spdx.dev/Document"

// The parts of a document that are the same for each image. The time is fixed, so that the same image has the same
// list.
const (
	tool       = "github.com/nuon-toolkit/nuon/runnerd"
	namespace  = "https://github.com/nuon-toolkit/nuon/sbom/"
	created    = "1970-01-01T00:00:00Z"
	imageID    = "image"
	unknown    = "NOASSERTION"
	recognizes = "Lists the packages of Debian and Alpine, the modules of Go programs, Python distributions and Node " +
		"modules. Other software in the image is not listed."
)

// Document is a list as JSON, with what people want to know of it.
type Document struct {
	JSON     []byte
	Packages int
	Unread   []string // files whose packages could not be read, with the reasons
}

// Document returns the list of the image that people call name and that has a digest.
func (i *Inventory) Document(name, digest string) (Document, error) {
	made := Document{Unread: i.Unread()}
	comment := recognizes
	if len(made.Unread) > 0 {
		comment += " Not read: " + strings.Join(made.Unread, "; ") + "."
	}
	image := packageurl.NewPackageURL(packageurl.TypeOCI, "", name, digest, nil, "")
	_ = image.Normalize() // lower case; any name is valid
	document := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: name,
		CreationInfo: &spdx.CreationInfo{Created: created, CreatorComment: comment,
			Creators: []common.Creator{{CreatorType: "Tool", Creator: tool}}},
		Packages:      []*spdx.Package{describe(imageID, name, digest, image)},
		Relationships: []*spdx.Relationship{relate("DOCUMENT", "DESCRIBES", imageID)},
	}
	document.Packages[0].PrimaryPackagePurpose = "CONTAINER"
	places, release := i.places(), i.release()
	for n, f := range slices.SortedFunc(maps.Keys(places), compare) {
		id := common.ElementID(fmt.Sprintf("package-%d", n+1))
		described := describe(id, f.Name, f.Version, url(f, release))
		described.PackageSourceInfo = "found in " + strings.Join(places[f], ", ")
		document.Packages = append(document.Packages, described)
		document.Relationships = append(document.Relationships, relate(imageID, "CONTAINS", id))
	}
	made.Packages = len(places)
	// Each document has its own address, which depends on all that it says.
	without, err := json.Marshal(document)
	if err != nil {
		return Document{}, err
	}
	document.DocumentNamespace = namespace + strings.Replace(sha256digest.Of(without), ":", "-", 1)
	var text bytes.Buffer
	if err := spdxjson.Write(document, &text); err != nil {
		return Document{}, err
	}
	made.JSON = bytes.TrimSpace(text.Bytes())
	return made, nil
}

// maxPlaces bounds how many places of one package the list names.
const maxPlaces = 5

// places returns the first places of each package.
func (i *Inventory) places() map[found][]string {
	made := map[found][]string{}
	for name, f := range i.files.all() {
		for _, p := range f.packages {
			if at := place(name); len(made[p]) < maxPlaces && !slices.Contains(made[p], at) {
				made[p] = append(made[p], at)
			}
		}
	}
	return made
}

// place returns a path as it is shown.
func place(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r != ' ' && isUnprintable(r) }) {
		return strconv.Quote("/" + name)
	}
	return "/" + name
}

// release returns the os-release of the image: that in /etc, if it has one.
func (i *Inventory) release() map[string]string {
	for _, name := range []string{etcRelease, usrRelease} {
		if f := i.files.find(name); f != nil && len(f.release) > 0 {
			return f.release
		}
	}
	return nil
}

func compare(a, b found) int {
	return slices.Compare([]string{string(a.ecosystem), a.Name, a.Version, a.Architecture, a.Source},
		[]string{string(b.ecosystem), b.Name, b.Version, b.Architecture, b.Source})
}

// describe returns a package of which only the name, the version and the address are known.
func describe(id common.ElementID, name, version string, url *packageurl.PackageURL) *spdx.Package {
	return &spdx.Package{
		PackageName: name, PackageSPDXIdentifier: id, PackageVersion: version, PackageDownloadLocation: unknown,
		PackageLicenseConcluded: unknown, PackageLicenseDeclared: unknown, PackageCopyrightText: unknown,
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: url.ToString()}},
	}
}

func relate(a common.ElementID, how string, b common.ElementID) *spdx.Relationship {
	return &spdx.Relationship{RefA: common.MakeDocElementID("", string(a)), RefB: common.MakeDocElementID("", string(b)),
		Relationship: how}
}

// usual are the distributions of packages in an image that does not name its own.
var usual = map[ecosystem]string{debian: "debian", alpine: "alpine"}

// url returns the package URL of a package. Source: package-url/purl-spec; "upstream" is what scanners call the package
// that one of a distribution was built from, by which vulnerabilities are reported.
func url(f found, release map[string]string) *packageurl.PackageURL {
	qualifiers := map[string]string{}
	space, name := "", f.Name
	switch f.ecosystem {
	case debian, alpine:
		space = release["ID"]
		if space == "" {
			space = usual[f.ecosystem]
		}
		for key, value := range map[string]string{"arch": f.Architecture, "upstream": f.Source} {
			if value != "" {
				qualifiers[key] = value
			}
		}
		if number := release["VERSION_ID"]; number != "" {
			qualifiers["distro"] = space + "-" + number
		}
	case golang, node:
		if cut := strings.LastIndexByte(name, '/'); cut >= 0 {
			space, name = name[:cut], name[cut+1:]
		}
	}
	made := packageurl.NewPackageURL(string(f.ecosystem), space, name, f.Version,
		packageurl.QualifiersFromMap(qualifiers), "")
	_ = made.Normalize() // a name that its ecosystem does not allow remains as it is
	return made
}
