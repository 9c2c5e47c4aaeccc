package secretsync

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// maxInstallName bounds the stored name of an install, in bytes.
const maxInstallName = 100

// Requested is a secret that an install of the runner asks its customer for.
type Requested struct {
	Install     string `json:"install"`
	InstallName string `json:"install_name"`
	Name        string `json:"name"`
	// Address is empty, or the address of a secret that exists already.
	Address string `json:"address,omitempty"`
}

// requestedFile returns the file with the requested secrets of one install.
func requestedFile(root, install string) string {
	return filepath.Join(root, "secrets", install+".json")
}

// saveRequested stores which secrets the install asks for, so that `runnerd secrets` knows them. Names that no store
// accepts are left out.
func (r *run) saveRequested() error {
	var all []Requested
	for _, s := range r.all {
		if s.name.Check() == nil {
			all = append(all, Requested{Install: r.spec.InstallID, Name: s.Name, Address: s.name.Address,
				InstallName: diff.EscapeText(r.spec.Install[:min(len(r.spec.Install), maxInstallName)])})
		}
	}
	if len(all) == 0 {
		return nil
	}
	file := requestedFile(r.env.Root, r.spec.InstallID) // Check has accepted the id
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	encoded, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return spool.WriteFile(file, encoded)
}

// LoadRequested returns the secrets that the installs of a runner ask for, by install and name. root is the
// runner's own directory.
func LoadRequested(root string) ([]Requested, error) {
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; name the directory that runnerd run was given with --dir", err)
	}
	files, err := filepath.Glob(requestedFile(root, "*"))
	if err != nil {
		return nil, err
	}
	var all []Requested
	for _, file := range files {
		var some []Requested
		if _, err := spool.LoadJSON(file, &some); err != nil {
			return nil, fmt.Errorf("read which secrets are asked for: %w", err)
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b Requested) int {
		return cmp.Or(strings.Compare(a.InstallName, b.InstallName), strings.Compare(a.Install, b.Install),
			strings.Compare(a.Name, b.Name))
	})
	return all, nil
}
