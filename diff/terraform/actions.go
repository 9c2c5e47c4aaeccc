package terraform

import (
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// kind is the meaning of a list of actions in a plan.
type kind struct {
	action diff.Action
	order  diff.ReplaceOrder
	// keepsOld reports that the replaced object is forgotten and not destroyed.
	keepsOld bool
}

var kinds = map[string]kind{
	"no-op":         {action: diff.Noop},
	"create":        {action: diff.Create},
	"read":          {action: diff.Read},
	"open":          {action: diff.Read}, // an ephemeral resource of OpenTofu, which leaves nothing behind
	"update":        {action: diff.Update},
	"delete":        {action: diff.Destroy},
	"forget":        {action: diff.Forget},
	"delete create": {action: diff.Replace, order: diff.DestroyFirst},
	"create delete": {action: diff.Replace, order: diff.CreateFirst},
	"forget create": {action: diff.Replace, order: diff.DestroyFirst, keepsOld: true},
	"create forget": {action: diff.Replace, order: diff.CreateFirst, keepsOld: true},
}

// kindOf parses the actions. An unknown action is an error, because it could destroy something.
func kindOf(actions []string) (kind, error) {
	k, ok := kinds[strings.Join(actions, " ")]
	if !ok {
		return kind{}, fmt.Errorf("%w: actions %.80q are not known; update nuon", ErrNotPlan, actions)
	}
	return k, nil
}

// reasons translates Terraform's action reasons into text that follows "because". An unknown reason
// yields no text: Terraform defines reasons as display only.
var reasons = map[string]string{
	"replace_because_cannot_update":     "it cannot change in place",
	"replace_because_tainted":           "it is tainted: an earlier apply of it failed",
	"replace_by_request":                "a replacement was requested",
	"replace_by_triggers":               "something in its replace_triggered_by changes",
	"delete_because_no_resource_config": "it is no longer in the configuration",
	"delete_because_wrong_repetition":   "its count or for_each no longer fits its key",
	"delete_because_count_index":        "its index is beyond the count",
	"delete_because_each_key":           "its key is no longer in for_each",
	"delete_because_no_module":          "its module is no longer in the configuration",
	"delete_because_no_move_target":     "it was moved to an address that is not in the configuration",
	"read_because_config_unknown":       "its configuration is known only after apply",
	"read_because_dependency_pending":   "something that it depends on changes",
	"read_because_check_nested":         "a check needs it",
}

var deferredReasons = map[string]string{
	"instance_count_unknown":  "its count or for_each is known only after apply",
	"resource_config_unknown": "its configuration is known only after apply",
	"provider_config_unknown": "the configuration of its provider is known only after apply",
	"absent_prereq":           "something that it needs does not exist yet",
	"deferred_prereq":         "something that it needs is deferred itself",
	"excluded":                "it was left out of this plan by request",
	"not_included":            "this plan was made for other resources only",
}

func deferredReason(reason string) string {
	if words, ok := deferredReasons[reason]; ok {
		return words
	}
	return "Terraform does not know enough about it yet"
}

// maxForced bounds how many attributes a reason names.
const maxForced = 3

// replaceReason completes "because …" from the attributes that force a replacement, otherwise from Terraform's
// own reason.
func replaceReason(r resource, k kind, forced []string) string {
	words := reasons[r.actionReason]
	if k.action == diff.Replace && len(forced) > 0 {
		words = forcedWords(forced)
		if r.actionReason == "replace_by_triggers" {
			words = reasons[r.actionReason]
		}
	}
	if k.keepsOld {
		old := "the old object is not destroyed, only forgotten"
		if words == "" {
			return "of its lifecycle: " + old
		}
		return words + "; " + old
	}
	return words
}

func forcedWords(forced []string) string {
	rest := ""
	if n := len(forced) - maxForced; n > 0 {
		forced, rest = forced[:maxForced], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(forced, ", ") + rest + " changed"
}
