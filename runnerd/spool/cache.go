package spool

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// cachedState is the content of a file of the cache.
type cachedState struct {
	api.State
	// Serials are the highest serial of each lineage that this runner has delivered.
	Serials map[string]int64 `json:"serials"`
}

// CacheState stores, still sealed, the newest state of the attempt's component that this runner
// has delivered. It is the only other copy of the state: a control plane that was restored from
// an older backup gets it from here. A state that is older than one of the same lineage replaces
// nothing. It does nothing for an attempt without a component.
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
	cached, found, err := loadCached(file)
	if err != nil {
		return err
	}
	if found && state.Serial < cached.Serials[state.Lineage] {
		return nil
	}
	if cached.Serials == nil {
		cached.Serials = map[string]int64{}
	}
	cached.State, cached.Serials[state.Lineage] = state, state.Serial
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("remember the newest state: %w", err)
	}
	encoded, err := json.Marshal(cached)
	if err != nil {
		return fmt.Errorf("remember the newest state: %w", err)
	}
	return WriteFile(file, encoded)
}

// CachedState returns the newest state of an install component that this runner has delivered, and the highest serial
// of each lineage. It returns false when there is none.
func (s Spool) CachedState(component string) (state api.State, serials map[string]int64, found bool, err error) {
	file, err := s.cacheFile(component)
	if err != nil {
		return state, nil, false, err
	}
	cached, found, err := loadCached(file)
	return cached.State, cached.Serials, found, err
}

func loadCached(file string) (cached cachedState, found bool, err error) {
	found, err = loadJSON(file, maxState, &cached)
	if found && err == nil && cached.Serials == nil {
		cached.Serials = map[string]int64{cached.Lineage: cached.Serial} // an earlier version of runnerd wrote it
	}
	return cached, found, err
}

func (s Spool) cacheFile(component string) (string, error) {
	if !jobName.MatchString(component) {
		return "", fmt.Errorf("%q is not the id of an install component; this is a bug in the control plane; report it",
			component)
	}
	return filepath.Join(s.Root, "states", component+".json"), nil
}
