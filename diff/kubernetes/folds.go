package kubernetes

// Fold is a rule that folds differences: they are shown only on request, and always counted.
type Fold struct {
	// Name is the name of the rule in a report, in FieldChange.Fold and Report.Folded.
	Name string
	// Words describe what it folds and why that is not relevant. Source is the address
	// of the text that it is based on; it is empty for a decision of this project.
	Words, Source string
}

// Folds returns all rules, for the documentation. Several rules can share a name.
func Folds() []Fold {
	var out []Fold
	for _, r := range rules {
		out = append(out, Fold{Name: r.fold, Words: r.words, Source: r.source})
	}
	return append(out,
		Fold{foldServer,
			"the cluster sets them when they are omitted, such as a Service's address; only against a cluster, and only counted",
			""},
		Fold{foldDefault,
			"one side sets a field to its default, which the other omits; against a cluster they are only counted", ""},
		Fold{foldOthers, "only the cluster has them, and the last apply did not set them: an apply leaves them as they are",
			"https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#merge-patch-calculation"},
		Fold{foldOrder, "elements change places in a list whose order has no meaning to the API",
			"https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy"},
		Fold{foldRegenerated,
			"a second rendering has other values, so they change at every deploy and are no reason for one", ""},
		Fold{foldRepeated,
			"in the schema of a custom resource: repeats of the same change in fields of the same name, after the first three",
			""},
		Fold{foldGone, "objects to remove that no longer exist", ""},
	)
}
