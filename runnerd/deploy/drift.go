package deploy

import (
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/diff"
)

// explainDrift explains how the newly computed report differs from the approved one.
func explainDrift(approved []byte, now *diff.Report) string {
	const (
		other   = "the plan now differs from the approved one"
		changed = " changed since the plan was made"
	)
	var then diff.Report
	if err := json.Unmarshal(approved, &then); err != nil {
		return other
	}
	found := diff.FirstMismatch(&then, now)
	object := diff.EscapeText(found.Address)
	switch {
	case found.Note != "":
		return "this is new since the plan was made: " + diff.EscapeText(found.Note)
	case found.Address == "":
		return other
	case found.Before == "":
		return fmt.Sprintf("%s%s, and the plan would %s it now", object, changed, found.After)
	case found.After == "":
		return object + changed + ": nothing is left to do there"
	case found.Before != found.After:
		return fmt.Sprintf("%s%s: the plan was to %s it, and would %s it now", object, changed, found.Before, found.After)
	case found.Field != "":
		return object + changed + ": " + diff.EscapeText(found.Field)
	}
	return object + changed
}
