package installs

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// Outcome is what a sync of install files does about one install.
type Outcome string

// The outcomes.
const (
	OutcomeCreate  Outcome = "create"  // there is a file and no install
	OutcomeChange  Outcome = "change"  // the install is not as its file says
	OutcomeNone    Outcome = "none"    // it is
	OutcomeRefused Outcome = "refused" // the file may not change it; the reason says why, and what to do
	OutcomeNoFile  Outcome = "no_file" // it belongs to a file that is not there; nothing is done
)

// Difference is what a sync of install files would do about one install, and why.
type Difference struct {
	Install string  `json:"install"`
	Outcome Outcome `json:"outcome"`
	Changes []Move  `json:"changes"`
	Reason  string  `json:"reason,omitempty"`

	id     string
	create api.NewInstall
	change api.InstallChange
}

// compare says what a sync would do: about each install file of an app, in their order, and about each install that belongs to a
// file that is not there.
func compare(app *appconfig.App, name string, installs []api.Install, takeOwnership bool) []Difference {
	var all []Difference
	for _, f := range app.Installs {
		n := slices.IndexFunc(installs, func(i api.Install) bool { return i.Name == f.Name })
		if n < 0 {
			all = append(all, created(name, f))
			continue
		}
		all = append(all, changed(app, f, installs[n], takeOwnership))
	}
	for _, i := range installs {
		has := slices.ContainsFunc(app.Installs, func(f appconfig.Install) bool { return f.Name == i.Name })
		if !has && i.Owner == api.InstallOwnerFile {
			all = append(all, Difference{Install: i.Name, id: i.ID, Outcome: OutcomeNoFile, Changes: []Move{},
				Reason: "it belongs to a file, and has none: it stays as it is. `nuon installs generate-config " + address(i.App, i.Name) + "` writes the file, `nuon installs owner " + address(i.App, i.Name) +
					" hand` gives it to people, `nuon installs deprovision " + address(i.App, i.Name) + "` removes it"})
		}
	}
	return all
}

// created is the install that a file asks for.
func created(name string, f appconfig.Install) Difference {
	d := Difference{Install: f.Name, Outcome: OutcomeCreate, Changes: []Move{}}
	d.create = api.NewInstall{App: name, Owner: api.NewInstallOwnerFile}
	fill(&d.create, f)
	add := func(field, to string) { d.Changes = append(d.Changes, Move{Field: field, To: to}) }
	add("approval", f.ApprovalOption)
	if f.AllowDestroy {
		add("allow_destroy", "true")
	}
	for _, kind := range slices.Sorted(maps.Keys(f.Account)) {
		add(kind, pairs(f.Account[kind]))
	}
	for _, in := range slices.Sorted(maps.Keys(f.Inputs)) {
		add("input "+in, strconv.Quote(f.Inputs[in]))
		d.create.Inputs = append(d.create.Inputs, api.InputValue{Name: in, Value: f.Inputs[in]})
	}
	for _, l := range slices.Sorted(maps.Keys(f.Labels)) {
		add("label "+l, strconv.Quote(f.Labels[l]))
	}
	for _, c := range slices.Sorted(maps.Keys(f.Toggles)) {
		add("component "+c, onOff(f.Toggles[c]))
	}
	return d
}

// changed is what makes an install what its file says.
func changed(app *appconfig.App, f appconfig.Install, i api.Install, takeOwnership bool) Difference {
	d := Difference{Install: f.Name, id: i.ID, Changes: []Move{}}
	d.change = change(app, f, i)
	if i.Owner != api.InstallOwnerFile && takeOwnership {
		d.change.Owner = api.InstallChangeOwnerFile
	}
	d.Changes = append(d.Changes, moves(i, d.change)...)
	switch {
	case len(f.Account) > 0 && !sameAccount(f.Account, i.Account):
		d.Outcome = OutcomeRefused
		d.Reason = "its account (" + account(i.Account) + ") never changes, and the file says " + account(f.Account) + ": mend the file, or make another install"
	case i.Owner != api.InstallOwnerFile && !takeOwnership:
		d.Outcome = OutcomeRefused
		d.Reason = "it belongs to people: --take-ownership gives it to its file, or take the file away"
	case len(d.Changes) > 0:
		d.Outcome = OutcomeChange
	default:
		d.Outcome = OutcomeNone
	}
	return d
}

// change is what a file sets that is not so. What the file does not name is as the app has it by default: inputs with a default,
// labels (none) and components that may be switched. Inputs that the customer sets are in nobody's file, and stay.
func change(app *appconfig.App, f appconfig.Install, i api.Install) api.InstallChange {
	c := api.InstallChange{By: api.InstallChangeByFile}
	asked := i.Pending.Settings // what waits for an approver already is not asked for again
	waits := i.Pending.Approval != ""
	if f.ApprovalOption != string(i.Approval) || waits && f.ApprovalOption != string(asked.Approval) {
		c.Approval = api.InstallChangeApproval(f.ApprovalOption)
	}
	if f.AllowDestroy != i.AllowDestroy || waits && f.AllowDestroy != asked.AllowDestroy {
		c.AllowDestroy = &f.AllowDestroy
	}
	if waits && f.ApprovalOption == string(asked.Approval) && f.AllowDestroy == asked.AllowDestroy {
		c.Approval, c.AllowDestroy = "", nil
	}
	for _, in := range app.Inputs {
		if want, says := wanted(in, f); says && want != is(in, i) {
			c.Inputs = append(c.Inputs, api.InputValue{Name: in.Name, Value: want})
		}
	}
	c.Labels = map[string]string{}
	for name, value := range f.Labels {
		if i.Labels[name] != value {
			c.Labels[name] = value
		}
	}
	for name := range i.Labels {
		if _, says := f.Labels[name]; !says {
			c.Labels[name] = ""
		}
	}
	c.Toggles = map[string]bool{}
	for n := range app.Components {
		p := &app.Components[n]
		if want := p.On(f.Toggles); want != p.On(i.Toggles) {
			c.Toggles[p.Name] = want
		}
	}
	return c
}

// wanted is the value of an input that a file asks for, if it says anything about it.
func wanted(in appconfig.Input, f appconfig.Install) (value string, says bool) {
	if in.Sensitive {
		return "", false
	}
	if value, says = f.Inputs[in.Name]; says {
		return value, true
	}
	if in.UserConfigurable || in.Default == nil {
		return "", false
	}
	return *in.Default, true
}

// is the value that an input of an install has: its own, or the default.
func is(in appconfig.Input, i api.Install) string {
	n := slices.IndexFunc(i.Inputs, func(v api.InputValue) bool { return v.Name == in.Name })
	switch {
	case n >= 0:
		return i.Inputs[n].Value
	case in.Default != nil:
		return *in.Default
	}
	return ""
}

func sameAccount(a, b map[string]map[string]string) bool {
	return maps.EqualFunc(a, b, maps.Equal[map[string]string, map[string]string])
}

// account is a cloud account as a person reads it.
func account(a map[string]map[string]string) string {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(a)) {
		all = append(all, kind+" "+pairs(a[kind]))
	}
	return cmp.Or(strings.Join(all, "; "), "none")
}
