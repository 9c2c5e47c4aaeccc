// Package kubernetes makes a diff.Report from Kubernetes manifests: of what was applied last, of what runs, and of what is wanted.
//
// It owns what a difference between two objects means: which objects belong together, which elements of their lists, what is equal though it
// is written differently, what is noise, what may not be shown, and what an apply leaves to others. It never reads files, never talks to a
// cluster, and holds every value as diff.Raw, so nothing leaves it unmasked. The command line calls it with files.
//
// What is equal by meaning is equal: 1000m and 1, 60s and 1m, null and nothing at all where the server drops it. The order of a list is shown
// where it has a meaning: in what pods are made of, where every difference makes them anew (env refers to what stands before it, init
// containers run one after the other), in custom resources, and in lists that an apply writes as a whole. Elsewhere (the rules of a Role, the
// subjects of a binding) another order is folded.
//
// Against a cluster, what the API server writes or fills in by itself is counted and not listed, because it changes by itself; a report is
// then the same as long as what matters is.
//
// A comparison has two halves. The first finds the differences as they are (walk.go): applied to the one side they give the other. The second
// says how a person should see them (show.go): folded, looked into, masked and judged.
package kubernetes

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// Options say what else is known of the two sides. The zero value compares two sides and masks what Secrets hold, and every copy of it.
type Options struct {
	// Live is what the cluster has. It is used only if ThreeWay is set: then before is what was applied last, and a Live without objects says
	// that nothing is there.
	Live     []manifest.Source
	ThreeWay bool
	// Again is the wanted side rendered a second time: what differs from after is made anew at each rendering.
	Again []manifest.Source
	// BeforeAgain is the old side rendered a second time, where that can be done. With it a value counts as made anew only if it varies there,
	// too.
	BeforeAgain []manifest.Source
	// Answers are what the API server said to dry runs of the very requests that an apply will make, one per object, as it gave them: with
	// what it fills in and what admission changes. An object of after that has one is compared by it; one that has none, as it is rendered.
	// What the server owns, fills in or chooses is then left out without being counted, on all sides, so that the report is the same
	// whenever it is made, as long as what matters is. Used only if ThreeWay is set; not nil says that answers were asked for.
	Answers []manifest.Source
	// AnswersAgain are second answers to the same requests, to all or to some of them: where two differ the server makes values up.
	AnswersAgain []manifest.Source
	// Manager is the field manager of the one who applies; empty takes the one that owns most of what is wanted.
	Manager string
	// Plain says that the sides are no release of Helm: its annotations (hooks, resource policy) mean nothing.
	Plain bool
	// Findings are what the caller knows of objects, beside the rules: Unchecked, TakesOver and others make them. They stand at the change of
	// their object and count in the digest; those of an object that does not change become notes.
	Findings map[manifest.ID][]diff.Finding
	// Recreated are objects of after that the server does not change in place, and that are to be deleted and made anew: why, to complete
	// "replace, because …". They have no answers.
	Recreated map[manifest.ID]string
	// Notes are sentences about the whole. They count in the digest.
	Notes []string
	// Namespace is that of the release: objects without one live there.
	Namespace string
	// Secrets says that a text holds a secret that is known from elsewhere, for example diff.NewSecrets(…).Contains. Several goroutines call it.
	Secrets func(text string) bool
	// TagKey is the key of the short display hashes of masked values. Empty means none.
	TagKey []byte
	// Limit is how many bytes of one value are shown, Lines how many lines of one line diff, Context how many lines around a change; see
	// diff.MaskOptions.
	Limit, Lines, Context int
	// MaxBytes bounds each side; 0 means what package manifest says.
	MaxBytes int64
}

// Report compares two sides. An error is about what cannot be read; it says where, and never quotes a value.
func Report(before, after []manifest.Source, o Options) (*diff.Report, error) {
	c, err := read(before, after, o)
	if err != nil {
		return nil, err
	}
	return c.report()
}
