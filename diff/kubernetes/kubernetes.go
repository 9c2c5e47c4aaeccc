// Package kubernetes builds a diff.Report from Kubernetes manifests: those
// applied last, the live objects, and the desired ones.
//
// It owns the meaning of a difference between two objects: which objects and which list
// elements correspond, which spellings are equal, what is noise, what may not be shown, and
// what an apply leaves to others. It never reads files and never connects to a cluster. It
// holds every value as diff.Raw, so nothing leaves it unmasked. The CLI and the runner call it.
//
// Values are equal if their meaning is: 1000m and 1, 60s and 1m, null and an omitted field where
// the server drops null. The order of a list is shown where it has a meaning: in pod templates,
// where every difference recreates the pods (env refers to earlier entries, init containers run
// one after the other), in custom resources, and in lists that an apply replaces as a whole.
// Elsewhere (the rules of a Role, the subjects of a binding) a different order is folded.
//
// Against a cluster, fields that the API server writes or defaults are
// counted and not listed, because they change without a deploy. So the report
// stays the same as long as nothing relevant changes.
//
// A comparison has two steps. The first finds the differences as they are
// (walk.go): applying them to one side yields the other. The second decides
// how they are shown (show.go): folded, decoded, masked and judged.
package kubernetes

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// Options holds further input of a comparison. The zero value compares two
// sides and masks the content of Secrets, and every copy of it.
type Options struct {
	// Live are the objects in the cluster. It is used only if ThreeWay is set: before
	// is then what was applied last, and an empty Live means that no object exists.
	Live     []manifest.Source
	ThreeWay bool
	// Again is a second rendering of the desired side: a value that differs
	// from after is generated on each rendering.
	Again []manifest.Source
	// BeforeAgain is a second rendering of the old side, if that is possible.
	// With it, a value counts as generated only if it also varies there.
	BeforeAgain []manifest.Source
	// Answers are the API server's unmodified answers to dry runs of the requests that an
	// apply will make, one per object, with its defaults and the changes of admission. An
	// object of after is compared by its answer if it has one, otherwise as it is rendered.
	// Fields that the server owns, defaults or chooses are then left out on all sides without
	// being counted, so that the report is the same at any time, as long as nothing relevant
	// changes. It is used only if ThreeWay is set; not nil means that the server was queried.
	Answers []manifest.Source
	// AnswersAgain are second answers to some or all of the same requests:
	// where two answers differ, the server generates the value.
	AnswersAgain []manifest.Source
	// Manager is the field manager of the applier; if it is empty, the
	// manager that owns most of the desired fields counts as the applier.
	Manager string
	// Plain means that the sides are no Helm release: Helm's annotations
	// (hooks, resource policy) have no effect.
	Plain bool
	// Findings are the caller's findings about objects, in addition to the rules:
	// Unchecked, TakesOver and others create them. They are added to the change of their
	// object and count in the digest. Those of an object that does not change become notes.
	Findings map[manifest.ID][]diff.Finding
	// Recreated are objects of after that the server cannot change in place
	// and that an apply deletes and recreates, with the reason, which
	// completes "replace, because …". They have no answers.
	Recreated map[manifest.ID]string
	// HookEvents are the events at which an apply runs hooks; nil means all those of an installation and an upgrade.
	HookEvents []string
	// Leftovers are hooks whose live objects an earlier run of the same hook created. Every other live object with
	// the name of a hook counts as one that somebody else created, and that the hook replaces. It is used only if
	// ThreeWay is set; nil means that an object is a leftover if before has the hook and the object its annotation.
	Leftovers map[manifest.ID]bool
	// Notes are sentences about the whole comparison. They count in the digest.
	Notes []string
	// Namespace is that of the release, for objects that name none.
	Namespace string
	// Secrets reports whether a text holds a secret that is known from elsewhere,
	// for example diff.NewSecrets(…).Contains. Several goroutines call it.
	Secrets func(text string) bool
	// TagKey is the key of the short display hashes of masked values. Empty means none.
	TagKey []byte
	// Limit is the number of bytes of one value that are shown, Lines the number of lines of
	// one line diff, and Context the number of lines around a change; see diff.MaskOptions.
	Limit, Lines, Context int
	// MaxBytes bounds each side; 0 means the default of package manifest.
	MaxBytes int64
}

// Report compares two sides. It returns an error if a side cannot be read;
// the error names the place and never quotes a value.
func Report(before, after []manifest.Source, o Options) (*diff.Report, error) {
	c, err := read(before, after, o)
	if err != nil {
		return nil, err
	}
	return c.report()
}
