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
			"the cluster assigns them where they are left out, such as a Service's address; only against a cluster, and only counted", ""},
		Fold{foldDefault,
			"one side writes what the API server takes where nothing is written; against a cluster they are only counted", ""},
		Fold{foldOthers, "only the cluster has them, and what was applied last had not: an apply leaves them as they are",
			"https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#merge-patch-calculation"},
		Fold{foldOrder, "elements change places in a list whose order means nothing to the API",
			"https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy"},
		Fold{foldRegenerated,
			"a second rendering gives other values, so they change at every deploy and are no reason for one", ""},
		Fold{foldRepeated,
			"in the schema of a custom resource: the same change of fields of the same name, after the first three", ""},
		Fold{foldGone, "objects that were to be removed and are not there any more", ""},
	)
}
