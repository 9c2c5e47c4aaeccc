package source

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// lockName returns the name of the chart's lock file.
func (m *metadata) lockName() string {
	if m.legacy {
		return requirementsLock
	}
	return lockFile
}

// lock reads the lock of a chart, and checks it against the chart's dependencies; nil
// if there is none.
func (l *loaded) lock() (*chart.Lock, error) {
	name := l.meta.lockName()
	content, found := l.file(name)
	if !found {
		return nil, nil //nolint:nilnil // no lock is no error
	}
	file := path.Join(l.at, name)
	var lock chart.Lock
	if err := decode(file, content, &lock); err != nil {
		return nil, err
	}
	if why := l.disagreement(&lock); why != "" {
		return nil, fmt.Errorf("%s does not agree with %s: %s; run `helm dependency update %s` and commit %s", file,
			l.meta.file, why, l.at, name)
	}
	return &lock, nil
}

// disagreement returns how a lock differs from the chart's dependencies, or "".
func (l *loaded) disagreement(lock *chart.Lock) string {
	asked := l.meta.Dependencies
	if len(lock.Dependencies) != len(asked) {
		return fmt.Sprintf("it locks %d dependencies of %d", len(lock.Dependencies), len(asked))
	}
	resolved := make([]*chart.Dependency, len(asked))
	for i, dependency := range asked {
		locked := lock.Dependencies[i]
		if locked == nil || locked.Validate() != nil || locked.Name != dependency.Name {
			return fmt.Sprintf("dependency %d of it is not %s", i+1, quote(dependency.Name))
		}
		if !satisfies(dependency.Version, locked.Version) {
			return fmt.Sprintf("it locks %s at %s, asked for is %s", dependency.Name, quote(locked.Version),
				quote(dependency.Version))
		}
		copied := *dependency
		if isAlias(copied.Repository) {
			copied.Repository = locked.Repository // Helm replaces the name by the address before it computes the digest
		}
		if strings.TrimSuffix(copied.Repository, "/") != strings.TrimSuffix(locked.Repository, "/") {
			return fmt.Sprintf("it locks %s from %s, asked for is %s", dependency.Name, quote(locked.Repository),
				quote(copied.Repository))
		}
		resolved[i] = &copied
	}
	if digestOf([2][]*chart.Dependency{resolved, lock.Dependencies}) == lock.Digest {
		return ""
	}
	if l.meta.APIVersion == chart.APIVersionV1 &&
		digestOf(map[string][]*chart.Dependency{"dependencies": asked}) == lock.Digest {
		return "" // as Helm 2 computed it
	}
	return "its digest is of other dependencies"
}

// digestOf returns the digest that Helm (internal/resolver) computes from a chart's
// dependencies together with the locked ones.
func digestOf(what any) string {
	text, err := json.Marshal(what)
	if err != nil {
		return ""
	}
	return sha256digest.Of(text)
}

// isAlias reports whether a repository is a name from a person's own Helm configuration.
func isAlias(repository string) bool {
	return strings.HasPrefix(repository, "@") || strings.HasPrefix(repository, "alias:")
}

// writeLock adds the lock of the chosen dependencies. It has no time, so the same
// choice gives the same bytes.
func (l *loaded) writeLock(chosen []*chart.Dependency) error {
	text, err := yaml.Marshal(struct {
		Dependencies []*chart.Dependency `json:"dependencies"`
		Digest       string              `json:"digest"`
	}{chosen, digestOf([2][]*chart.Dependency{l.meta.Dependencies, chosen})})
	if err != nil {
		return fmt.Errorf("write %s: %w", l.meta.lockName(), err)
	}
	l.files = append(l.files, artifact.File{Path: l.meta.lockName(), Content: text})
	return nil
}
