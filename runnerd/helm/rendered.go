package helm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"
)

// File is one file of a chart or of a rendering.
type File struct {
	// Path of a rendered template starts with the name of the chart, "api/charts/redis/templates/service.yaml".
	Path    string
	Content []byte
}

// Hook is an object that Helm creates at an event instead of with the others, and waits for when it is a Job or a Pod.
type Hook struct {
	Name, Kind string
	// Path of the template that it came from.
	Path string
	// Events in Helm's words, "pre-install".
	Events []string
	Weight int
	// DeletePolicies in Helm's words; none means before-hook-creation.
	DeletePolicies []string
	// Manifest is the YAML of the one object.
	Manifest string
}

// runsAt says whether the hook runs at one of events.
func (h Hook) runsAt(events ...string) bool {
	return slices.ContainsFunc(h.Events, func(e string) bool { return slices.Contains(events, e) })
}

// deletedAt says whether a delete policy is among those of the hook, the default one counting.
func (h Hook) deletedAt(policy release.HookDeletePolicy) bool {
	if len(h.DeletePolicies) == 0 {
		return policy == release.HookBeforeHookCreation
	}
	return slices.Contains(h.DeletePolicies, string(policy))
}

func newHook(h *release.Hook) Hook {
	made := Hook{Name: h.Name, Kind: h.Kind, Path: h.Path, Weight: h.Weight, Manifest: h.Manifest}
	for _, e := range h.Events {
		made.Events = append(made.Events, string(e))
	}
	for _, p := range h.DeletePolicies {
		made.DeletePolicies = append(made.DeletePolicies, string(p))
	}
	return made
}

// Rendered is what came of one rendering of a chart. It is never changed.
type Rendered struct {
	// Templates are the bytes exactly as rendered, sorted by path: hooks, subcharts and NOTES.txt among them, partials not. All else follows from
	// them, so that whoever keeps them and the chart can make the rest again with Compose.
	Templates []File
	// Manifest has all objects but the hooks, in the order in which Helm creates and records them.
	Manifest string
	// Hooks in Helm's order.
	Hooks []Hook
	// Notes are those of the chart itself, not of its subcharts.
	Notes string
	// CRDs are the objects of the folders crds/, which Helm creates when they are missing and never changes.
	CRDs []CRD

	hooks []*release.Hook
}

// Digest names the rendering: "sha256:…" of all paths and bytes.
func (r *Rendered) Digest() string {
	sum := sha256.New()
	for _, f := range r.Templates {
		fmt.Fprintf(sum, "%d %s %d ", len(f.Path), f.Path, len(f.Content))
		sum.Write(f.Content)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// same compares what a hook is, not what the SDK noted of its runs.
func (h Hook) same(other Hook) bool {
	return h.Name == other.Name && h.Kind == other.Kind && h.Path == other.Path && h.Manifest == other.Manifest && h.Weight == other.Weight &&
		slices.Equal(h.Events, other.Events) && slices.Equal(h.DeletePolicies, other.DeletePolicies)
}
