package helmsdk

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"
)

// File is one file of a chart or of a rendering.
type File struct {
	// Path of a rendered template starts with the name of the chart:
	// "api/charts/redis/templates/service.yaml".
	Path    string
	Content []byte
}

// Hook is an object that Helm creates at an event instead of with the others. Helm
// waits for it if it is a Job or a Pod.
type Hook struct {
	Name, Kind string
	// Path of its template.
	Path string
	// Events as in Helm's annotations, "pre-install".
	Events []string
	Weight int
	// DeletePolicies as in Helm's annotations; none means before-hook-creation.
	DeletePolicies []string
	// Manifest is the YAML of the one object.
	Manifest string
	// Ran reports that the record of the release has a run of the hook.
	Ran bool
}

// RunsAt reports whether the hook runs with an action.
func (h Hook) RunsAt(action Action) bool {
	return slices.ContainsFunc(h.Events, func(e string) bool { return slices.Contains(HookEvents(action), e) })
}

// deletedAt reports whether the hook has a delete policy, including the default one.
func (h Hook) deletedAt(policy release.HookDeletePolicy) bool {
	if len(h.DeletePolicies) == 0 {
		return policy == release.HookBeforeHookCreation
	}
	return slices.Contains(h.DeletePolicies, string(policy))
}

func newHook(h *release.Hook) Hook {
	made := Hook{Name: h.Name, Kind: h.Kind, Path: h.Path, Weight: h.Weight, Manifest: h.Manifest,
		Ran: !h.LastRun.StartedAt.IsZero()}
	for _, e := range h.Events {
		made.Events = append(made.Events, string(e))
	}
	for _, p := range h.DeletePolicies {
		made.DeletePolicies = append(made.DeletePolicies, string(p))
	}
	return made
}

// Rendered is the result of rendering a chart. It is immutable.
type Rendered struct {
	// Templates are the exact bytes as rendered, sorted by path: including hooks,
	// subcharts and NOTES.txt, without partials. Everything else follows from them,
	// so with them and the chart, Compose rebuilds the rest.
	Templates []File
	// Manifest has all objects except the hooks, in the order in which Helm creates
	// and records them.
	Manifest string
	// Hooks in Helm's order.
	Hooks []Hook
	// Notes are those of the chart, not of its subcharts.
	Notes string
	// CRDs are the objects of the crds/ directories, which Helm creates if they are
	// missing and never changes.
	CRDs []CRD

	hooks []*release.Hook
}

// Digest identifies the rendering: "sha256:…" of all paths and bytes.
func (r *Rendered) Digest() string {
	sum := sha256.New()
	for _, f := range r.Templates {
		fmt.Fprintf(sum, "%d %s %d ", len(f.Path), f.Path, len(f.Content))
		sum.Write(f.Content)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// same compares the definitions of hooks, without the SDK's records of their runs.
func (h Hook) same(other Hook) bool {
	return h.Name == other.Name && h.Kind == other.Kind && h.Path == other.Path && h.Manifest == other.Manifest &&
		h.Weight == other.Weight &&
		slices.Equal(h.Events, other.Events) && slices.Equal(h.DeletePolicies, other.DeletePolicies)
}
