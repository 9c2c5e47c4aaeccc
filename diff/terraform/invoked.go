package terraform

import (
	"fmt"
	"sort"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
)

// actionInvocation is an action of the configuration that an apply runs beside its changes (Terraform 1.14
// and later).
type actionInvocation struct {
	address string
	// resource and event define the trigger, for example after_update. They are empty for an action
	// that a user invoked.
	resource, event string
	deferred        bool
	// values and sensitive are the arguments and their marks; arguments may hold secrets.
	values, sensitive diff.Raw
}

func readInvocations(p *plan, v diff.Raw) (err error) {
	for i := range items(v, &err) {
		p.invoked = append(p.invoked, invocationOf(fieldsOf(i, &err)))
	}
	return err
}

func readDeferredInvocations(p *plan, v diff.Raw) (err error) {
	for i := range items(v, &err) {
		one := invocationOf(fieldsOf(i, &err).child("action_invocation"))
		one.deferred = true
		p.invoked = append(p.invoked, one)
	}
	return err
}

func invocationOf(f fields) actionInvocation {
	trigger := f.child("lifecycle_action_trigger")
	return actionInvocation{
		address: f.text("address"), values: f.get("config_values"), sensitive: f.get("config_sensitive"),
		resource: trigger.text("triggering_resource_address"), event: trigger.text("action_trigger_event"),
	}
}

// maxInvoked bounds how many actions are named, because a report has few notes.
const maxInvoked = 30

// addInvocations adds notes on the actions that an apply runs. They are programs of a provider; a plan does
// not show their effects.
func (b *builder) addInvocations(list []actionInvocation) {
	var notes []string
	for _, i := range list {
		notes = append(notes, b.invocation(i))
	}
	sort.Strings(notes)
	if n := len(notes) - maxInvoked; n > 0 {
		notes = append(notes[:maxInvoked], fmt.Sprintf("%s more.", diff.Plural(n, "action runs", "actions run")))
	}
	b.report.Notes = append(b.report.Notes, notes...)
}

// events maps the lifecycle events that trigger an action to text.
var events = map[string]string{
	"beforecreate": "before the creation of", "aftercreate": "after the creation of",
	"beforeupdate": "before the update of", "afterupdate": "after the update of",
	"beforedestroy": "before the destruction of", "afterdestroy": "after the destruction of",
}

func (b *builder) invocation(i actionInvocation) string {
	words := "runs"
	if i.deferred {
		words = "is left for a later plan"
	}
	if i.resource != "" {
		when, ok := events[strings.ReplaceAll(strings.ToLower(i.event), "_", "")]
		if !ok {
			when = "with a change of"
		}
		words += ", " + when + " " + b.address(i.resource)
	}
	return note(fmt.Sprintf("Action %s %s. A plan does not show what it does.", b.address(i.address), words))
}

// note cuts a sentence to the maximum length of a note.
func note(s string) string {
	return truncate.Text(s, 900)
}
