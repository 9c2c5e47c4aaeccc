package kubernetes

// Fold is a rule by which differences are folded away: shown only on request, and counted always.
type Fold struct {
	// Name is how a report calls the rule, in FieldChange.Fold and Report.Folded.
	Name string
	// Words say what it folds and why that is no news, and Source is the address of the text that says so; empty where it is a decision of ours.
	Words, Source string
}

// Folds are all rules, for the documentation. A name may stand for several.
func Folds() []Fold {
	var out []Fold
	for _, r := range rules {
		out = append(out, Fold{Name: r.fold, Words: r.words, Source: r.source})
	}
	return append(out,
		Fold{foldServer, "the cluster assigns them where they are left out, such as a Service's address; only against a cluster, and only counted", ""},
		Fold{foldDefault, "one side writes what the API server takes where nothing is written; against a cluster they are only counted", ""},
		Fold{foldOthers, "only the cluster has them, and what was applied last had not: an apply leaves them as they are",
			"https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#merge-patch-calculation"},
		Fold{foldOrder, "elements change places in a list whose order means nothing to the API",
			"https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy"},
		Fold{foldRegenerated, "a second rendering gives other values, so they change at every deploy and are no reason for one", ""},
		Fold{foldRepeated, "in the schema of a custom resource: the same change of fields of the same name, after the first three", ""},
		Fold{foldGone, "objects that were to be removed and are not there any more", ""},
	)
}
