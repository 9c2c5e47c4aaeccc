package modules

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// Resolution records which content each module call outside of the repository leads to. Its JSON
// form is stable: fields in a fixed order, modules sorted by key, no time and no machine.
type Resolution struct {
	// Tool is the program that the modules were resolved for.
	Tool Tool `json:"tool"`
	// Modules are the calls, sorted by key. Calls of local modules are not listed.
	Modules []Module `json:"modules"`
}

// Module is one resolved call.
type Module struct {
	// Key is the path of the call from the root module, such as "vpc" or "eks.kms".
	Key string `json:"key"`
	// Source is the source as written.
	Source string `json:"source"`
	// Constraint is the version constraint as written.
	Constraint string `json:"constraint,omitempty"`
	// Version is the chosen version of a registry module.
	Version string `json:"version,omitempty"`
	// Repository and Commit are the git repository's URL and the commit, for content from git.
	Repository string `json:"repository,omitempty"`
	Commit     string `json:"commit,omitempty"`
	// Archive is the digest of the archive, for content from an archive. A server may pack the same
	// files into other bytes later, so only Tree is compared.
	Archive string `json:"archive,omitempty"`
	// Tree is the content digest of the package (see TreeDigest).
	Tree string `json:"tree"`
	// Directory is the directory of the module in its package; "." for the root.
	Directory string `json:"directory"`
}

// String returns a line for people, such as "vpc: acme/vpc/aws 1.2.0 (git https://… at 0123456789ab)".
func (m Module) String() string {
	text := m.Key + ": " + oneLine(m.Source)
	if m.Version != "" {
		text += " " + m.Version
	}
	switch {
	case m.Commit != "":
		return fmt.Sprintf("%s (git %s at %.12s)", text, m.Repository, m.Commit)
	case m.Archive != "":
		return fmt.Sprintf("%s (archive %.19s)", text, m.Archive)
	}
	return text
}

// Digest returns the digest of the resolution, "sha256:…", for the digest of a component's input.
func (r Resolution) Digest() (string, error) {
	r.sort()
	encoded, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode a module resolution: %w", err)
	}
	return sha256digest.Of(encoded), nil
}

func (r *Resolution) sort() {
	r.Modules = slices.Clone(r.Modules)
	slices.SortFunc(r.Modules, func(a, b Module) int { return cmp.Compare(a.Key, b.Key) })
}

// find returns the recorded module for a source and a constraint. A call that was renamed or added
// gets the content of another call with the same text.
func (r *Resolution) find(key, source, constraint string) (Module, bool) {
	if r == nil {
		return Module{}, false
	}
	var found Module
	is := false
	for _, module := range r.Modules {
		if module.Source != source || module.Constraint != constraint {
			continue
		}
		if module.Key == key {
			return module, true
		}
		if !is {
			found, is = module, true
		}
	}
	return found, is
}

// TreeDigest returns the content digest of files, "sha256:…". It is the hash of one line for each
// file, sorted by path: the git mode (100644, 100755, or 120000 for a link), the hash of the content
// or of the link's target, and the path, separated by spaces.
func TreeDigest(files []artifact.File) string {
	ordered := slices.Clone(files)
	slices.SortFunc(ordered, func(a, b artifact.File) int { return cmp.Compare(a.Path, b.Path) })
	all := sha256.New()
	for _, file := range ordered {
		mode, content := "100644", file.Content
		switch {
		case file.Link != "":
			mode, content = "120000", []byte(file.Link)
		case file.Executable:
			mode = "100755"
		}
		sum := sha256.Sum256(content)
		fmt.Fprintf(all, "%s %s %s\n", mode, hex.EncodeToString(sum[:]), file.Path)
	}
	return "sha256:" + hex.EncodeToString(all.Sum(nil))
}
