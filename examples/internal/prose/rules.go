package main

import "regexp"

// rule is a phrase to avoid in prose.
type rule struct {
	phrase *regexp.Regexp
	use    string // what to write instead
}

// phrases are avoided in comments, docs and command-line texts. Each is a phrase in its context, not a common word.
var phrases = []rule{
	avoid(`anew`, "again, or from scratch"),
	avoid(`whoever`, "name the actor"),
	avoid(`whatever`, "name the thing, or: regardless of"),
	avoid(`what there is`, "name the thing"),
	avoid(`at hand`, "available"),
	avoid(`in words`, "as text, or name the message"),
	avoid(`by (itself|themselves)`, "alone, or automatically"),
	{regexp.MustCompile(`(?i)\bof (its|their) own[.,;:!?)]`), "own, separate, or private"}, // but: of its own pods
	avoid(`gives? up`, "stops, or fails"),
	avoid(`(go|goes|went|going) on`, "continues"),
	avoid(`(come|comes|came) to rest`, "settles"),
	avoid(`let in(to)?`, "allowed, or admitted"),
	avoid(`(is|are|was|were|be|been) told`, "is reported, or receives"),
	avoid(`lies (in|at|on|under|below|beside|there)`, "is stored in"),
	avoid(`mend(s|ed|ing)?`, "fix"),
	avoid(`to be had`, "available"),
	avoid(`to be gone`, "deprovisioning"),
	avoid(`(that|what) is there`, "exists"),
	avoid(`does not get on`, "is not progressing"),
	avoid(`has (it|them|one) in hand`, "is working on"),
	avoid(`the (room|rooms|house)`, "package, services, or layout"),
	avoid(`a person's word`, "an approval, or a decision"),
	avoid(`works? out`, "computes"),
}

// docVerbs open no doc comment: only people say, know or want.
var docVerbs = regexp.MustCompile(`^// \w+ (says|tells|gives|knows|asks|looks at|looks for|wants|lets) `)

// names of declarations that no other project uses, and the word of this field for each.
var names = map[string]string{
	"Rooms":    "services",
	"Wish":     "DeployRequest",
	"Granted":  "the result of a request",
	"Sketch":   "DryRun",
	"Supposed": "Assumptions",
	"Trouble":  "RepoError",
	"Bell":     "Notifier",
	"Roster":   "worker set",
	"Unwell":   "Unhealthy",
	"Forgive":  "ClearRejection",
	"Renew":    "Restart",
}

// receivers are one or two letters of the type.
var receivers = map[string]bool{"in": true, "of": true, "at": true, "on": true, "to": true, "by": true, "is": true}

func avoid(phrase, use string) rule {
	return rule{regexp.MustCompile(`(?i)\b` + phrase + `\b`), use}
}
