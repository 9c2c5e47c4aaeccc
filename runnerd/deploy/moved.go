package deploy

import (
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/diff"
)

// moved explains how the report that is computed now differs from the approved one.
func moved(approved []byte, now *diff.Report) string {
	const other = "the plan comes to something else now than what was approved"
	var then diff.Report
	if err := json.Unmarshal(approved, &then); err != nil {
		return other
	}
	found := diff.FirstMismatch(&then, now)
	object := diff.Neutral(found.Address)
	switch {
	case found.Note != "":
		return "this is new since the plan was made: " + diff.Neutral(found.Note)
	case found.Address == "":
		return other
	case found.Was == "":
		return fmt.Sprintf("%s was changed by somebody else since the plan was made, and the plan would %s it now", object, found.Is)
	case found.Is == "":
		return fmt.Sprintf("%s was changed by somebody else since the plan was made: nothing is left to do there", object)
	case found.Was != found.Is:
		return fmt.Sprintf("%s was changed by somebody else since the plan was made: the plan was to %s it, and would %s it now", object, found.Was, found.Is)
	case found.Field != "":
		return fmt.Sprintf("%s was changed by somebody else since the plan was made: %s", object, diff.Neutral(found.Field))
	}
	return object + " was changed by somebody else since the plan was made"
}
