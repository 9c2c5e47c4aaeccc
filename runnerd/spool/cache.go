package spool

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// CacheState stores, still sealed, the newest state of the attempt's component that this runner
// has delivered. It is the only other copy of the state: a control plane that was restored from
// an older backup gets it from here. It does nothing for an attempt without a component.
func (a Attempt) CacheState(state api.State) error {
	spec, found, err := a.TrustedSpec()
	component := spec.Plan.Deploy.InstallComponent
	if spec.Kind == api.JobSpecKindApply {
		component = spec.Apply.Deploy.InstallComponent
	}
	if err != nil || !found || component == "" {
		return err
	}
	root := Spool{Root: filepath.Dir(filepath.Dir(a.Dir))}
	file, err := root.cacheFile(component)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("remember the newest state: %w", err)
	}
	encoded, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("remember the newest state: %w", err)
	}
	return WriteFile(file, encoded)
}

// CachedState returns the newest state of an install component that this runner has delivered,
// and false when there is none.
func (s Spool) CachedState(component string) (state api.State, found bool, err error) {
	file, err := s.cacheFile(component)
	if err != nil {
		return state, false, err
	}
	return LoadState(file)
}

func (s Spool) cacheFile(component string) (string, error) {
	if !jobName.MatchString(component) {
		return "", fmt.Errorf("%q is not the id of an install component; this is a bug in the control plane; report it",
			component)
	}
	return filepath.Join(s.Root, "states", component+".json"), nil
}
