package sbom

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"

	"github.com/package-url/packageurl-go"
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
	made := Document{Unread: i.unread()}
	comment := recognizes
	if len(made.Unread) > 0 {
		comment += " Not read: " + strings.Join(made.Unread, "; ") + "."
	}
	document := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: name,
		DocumentNamespace: namespace + strings.Replace(digest, ":", "-", 1),
		CreationInfo: &spdx.CreationInfo{Created: created, CreatorComment: comment,
			Creators: []common.Creator{{CreatorType: "Tool", Creator: tool}}},
		Packages: []*spdx.Package{describe(imageID, name, digest, packageurl.NewPackageURL(packageurl.TypeOCI, "", name,
			digest, nil, ""))},
		Relationships: []*spdx.Relationship{relate("DOCUMENT", "DESCRIBES", imageID)},
	}
	document.Packages[0].PrimaryPackagePurpose = "CONTAINER"
	places := i.places()
	for n, f := range slices.SortedFunc(maps.Keys(places), compare) {
		id := fmt.Sprintf("package-%d", n+1)
		described := describe(common.ElementID(id), f.Name, f.Version, i.url(f))
		described.PackageSourceInfo = "found in " + strings.Join(places[f], ", ")
		document.Packages = append(document.Packages, described)
		document.Relationships = append(document.Relationships, relate(imageID, "CONTAINS", common.ElementID(id)))
	}
	made.Packages = len(places)
	var text bytes.Buffer
	if err := spdxjson.Write(document, &text); err != nil {
		return Document{}, err
	}
	made.JSON = json.RawMessage(bytes.TrimSpace(text.Bytes()))
	return made, nil
}

// maxPlaces bounds how many places of one package the list names.
const maxPlaces = 5

// places returns the first places of each package.
func (i *Inventory) places() map[found][]string {
	made := map[found][]string{}
	for _, name := range slices.Sorted(maps.Keys(i.files)) {
		for _, f := range i.files[name].packages {
			if place := "/" + name; len(made[f]) < maxPlaces && !slices.Contains(made[f], place) {
				made[f] = append(made[f], place)
			}
		}
	}
	return made
}

func compare(a, b found) int {
	return slices.Compare([]string{string(a.ecosystem), a.Name, a.Version, a.Architecture},
		[]string{string(b.ecosystem), b.Name, b.Version, b.Architecture})
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

// url returns the package URL of a package. Source: package-url/purl-spec.
func (i *Inventory) url(f found) *packageurl.PackageURL {
	qualifiers := map[string]string{}
	space, name := "", f.Name
	switch f.ecosystem {
	case debian, alpine:
		space = i.distribution["ID"]
		if space == "" {
			space = usual[f.ecosystem]
		}
		if f.Architecture != "" {
			qualifiers["arch"] = f.Architecture
		}
		if release := i.distribution["VERSION_ID"]; release != "" {
			qualifiers["distro"] = space + "-" + release
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

// readDistribution reads an os-release. Source: os-release(5).
func (i *Inventory) readDistribution(content io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(content, maxMetadata))
	if err != nil {
		return err
	}
	i.distribution = map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"'`)
		if !isInvalid(found{Name: key, Version: value}) {
			i.distribution[key] = value
		}
	}
	return nil
}
