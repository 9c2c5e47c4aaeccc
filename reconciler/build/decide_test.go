package build

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/pkg/sourcedir"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

func TestDecide(t *testing.T) {
	mine, other := "inp_mine", "inp_other"
	input := &store.ComponentInput{ID: mine}
	for name, c := range map[string]struct {
		current *string
		known   knownInput
		want    verdict
	}{
		"never seen":            {nil, knownInput{}, verdictBuild},
		"seen, never built":     {&mine, knownInput{input: input}, verdictBuild},
		"current and built":     {&mine, knownInput{input, &store.Build{Status: statusSucceeded}}, verdictKeep},
		"current and under way": {&mine, knownInput{input, &store.Build{Status: statusRunning}}, verdictKeep},
		"current and failed":    {&mine, knownInput{input, &store.Build{Status: statusFailed}}, verdictKeep},
		"back to a built one":   {&other, knownInput{input, &store.Build{Status: statusSucceeded}}, verdictAdopt},
		"back to a failed one":  {&other, knownInput{input, &store.Build{Status: statusFailed}}, verdictAdopt},
		"none, but built once":  {nil, knownInput{input, &store.Build{Status: statusSucceeded}}, verdictAdopt},
	} {
		if got := decide(c.current, c.known); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// The digest covers what a build is made from and nothing else. Its form is fixed, because a change
// would rebuild everything.
func TestRecipeDigestIsFixed(t *testing.T) {
	recipe := Recipe{
		Format: recipeFormat, Kind: "terraform_module", TerraformVersion: "1.11.4", Directory: "m",
		Sources: []sourcedir.Source{{Directory: "m", Tree: strings.Repeat("a", 40)}},
	}
	const fixed = "sha256:a5afcbeb5254b0742d189126c334cbd78d87d9a13d52ffa15dab6673ecf03bc3"
	if got := recipe.Digest(); got != fixed {
		t.Errorf("got %s, want %s", got, fixed)
	}
	for name, change := range map[string]func(*Recipe){
		"kind":      func(r *Recipe) { r.Kind = "sandbox" },
		"terraform": func(r *Recipe) { r.TerraformVersion = "1.11.3" },
		"directory": func(r *Recipe) { r.Directory = "n" },
		"tree": func(r *Recipe) {
			r.Sources = []sourcedir.Source{{Directory: "m", Tree: strings.Repeat("b", 40)}}
		},
		"chart":     func(r *Recipe) { r.Chart = &Chart{Repository: "https://x", Name: "y"} },
		"kustomize": func(r *Recipe) { r.Kustomize = &Kustomize{LoadRestrictor: "none"} },
		"manifest":  func(r *Recipe) { r.Manifest = sha256digest.Of([]byte("a: b")) },
		"more":      func(r *Recipe) { r.Sources = append(r.Sources, sourcedir.Source{Directory: "n", Tree: "c"}) },
	} {
		changed := recipe
		change(&changed)
		if changed.Digest() == recipe.Digest() {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

func TestMovedDirectories(t *testing.T) {
	before := Recipe{
		Sources: []sourcedir.Source{
			{Directory: "a", Tree: "1"}, {Directory: "b", Tree: "1"}, {Directory: "c", Tree: "1"},
		},
	}
	now := Recipe{
		Sources: []sourcedir.Source{
			{Directory: "a", Tree: "1"}, {Directory: "b", Tree: "2"}, {Directory: "d", Tree: "1"},
		},
	}
	if diff := cmp.Diff([]string{"b", "d", "c"}, changedDirectories(before, now)); diff != "" {
		t.Error(diff)
	}
}

func TestFailureIsBounded(t *testing.T) {
	words := failureReason(api.JobResult{Status: api.JobResultStatusFailed, Error: strings.Repeat("é", maxError)})
	if len(words) > maxError+10 || !strings.HasSuffix(words, "…") {
		t.Errorf("kept %d bytes", len(words))
	}
	for _, status := range []api.JobResultStatus{
		api.JobResultStatusCancelled, api.JobResultStatusLost, api.JobResultStatusFailed,
	} {
		if failureReason(api.JobResult{Status: status}) == "" {
			t.Errorf("%s without words has none", status)
		}
	}
}
