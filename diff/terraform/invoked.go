package terraform

import (
	"fmt"
	"sort"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// invocation is an action of the configuration that an apply runs beside its changes (Terraform 1.14 has them).
type invocation struct {
	address string
	// resource and event say when it runs, for example after_update. Empty: someone asked for it.
	resource, event string
	deferred        bool
	// values and sensitive are what it is given, which may hold secrets.
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

func invocationOf(f fields) invocation {
	trigger := f.child("lifecycle_action_trigger")
	return invocation{
		address: f.text("address"), values: f.get("config_values"), sensitive: f.get("config_sensitive"),
		resource: trigger.text("triggering_resource_address"), event: trigger.text("action_trigger_event"),
	}
}

// maxInvoked is how many actions are named; a report has few notes.
const maxInvoked = 30

// invoked says which actions an apply runs. They are programs of a provider: what they do is not in a plan.
func (b *builder) invoked(list []invocation) {
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

// events are the moments of a lifecycle at which an action runs.
var events = map[string]string{
	"beforecreate": "before the creation of", "aftercreate": "after the creation of",
	"beforeupdate": "before the update of", "afterupdate": "after the update of",
	"beforedestroy": "before the destruction of", "afterdestroy": "after the destruction of",
}

func (b *builder) invocation(i invocation) string {
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
	return note(fmt.Sprintf("Action %s %s. A plan does not say what it does.", b.address(i.address), words))
}

// note cuts a sentence to what a report takes.
func note(s string) string {
	const most = 900
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
