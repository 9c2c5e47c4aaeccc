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

// Outcome is the effect of a sync of install files on one install.
type Outcome string

// The outcomes of a sync for one install.
const (
	OutcomeCreate  Outcome = "create"  // the file has no install
	OutcomeChange  Outcome = "change"  // the install differs from its file
	OutcomeNone    Outcome = "none"    // the install matches its file
	OutcomeRefused Outcome = "refused" // the file may not change the install; the reason states why and what to do
	OutcomeNoFile  Outcome = "no_file" // the install belongs to a file that does not exist; nothing is done
)

// Difference is what a sync of install files would do to one install, and why.
type Difference struct {
	Install string        `json:"install"`
	Outcome Outcome       `json:"outcome"`
	Changes []FieldChange `json:"changes"`
	Reason  string        `json:"reason,omitempty"`

	id     string
	create api.NewInstall
	change api.InstallChange
}

// compare returns the effects of a sync: one for each install file of the app, in the order
// of the files, then one for each install that belongs to a file that does not exist.
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
		if !has && i.ManagedBy == api.InstallManagedByConfig {
			all = append(all, Difference{Install: i.Name, id: i.ID, Outcome: OutcomeNoFile, Changes: []FieldChange{},
				Reason: "it is managed by a file, which is missing: nothing changes. Write the file with `nuon " +
					"installs generate-config " + address(i.App, i.Name) + "`, change its management with `nuon installs managed-by " +
					address(i.App, i.Name) +
					" manual`, or remove it with `nuon installs deprovision " + address(i.App, i.Name) + "`"})
		}
	}
	return all
}

// created returns the difference that creates the install of a file.
func created(name string, f appconfig.Install) Difference {
	d := Difference{Install: f.Name, Outcome: OutcomeCreate, Changes: []FieldChange{}}
	d.create = api.NewInstall{App: name, ManagedBy: api.NewInstallManagedByConfig}
	fill(&d.create, f)
	add := func(field, to string) { d.Changes = append(d.Changes, FieldChange{Field: field, To: to}) }
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
	for _, name := range slices.Sorted(maps.Keys(d.create.Overrides)) {
		texts := overrideTexts(d.create.Overrides[name])
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			add(key+" of "+name, strconv.Quote(texts[key]))
		}
	}
	return d
}

// changed returns the difference that makes an install match its file.
func changed(app *appconfig.App, f appconfig.Install, i api.Install, takeOwnership bool) Difference {
	d := Difference{Install: f.Name, id: i.ID, Changes: []FieldChange{}}
	d.change = change(app, f, i)
	if i.ManagedBy != api.InstallManagedByConfig && takeOwnership {
		d.change.ManagedBy = api.InstallChangeManagedByConfig
	}
	d.Changes = append(d.Changes, fieldChanges(i, d.change)...)
	switch {
	case !addsToAccount(f.Account, i.Account):
		d.Outcome = OutcomeRefused
		d.Reason = "its account (" + account(i.Account) + ") cannot change, and the file has " + account(f.Account) +
			": fix the file, or create another install"
	case i.ManagedBy != api.InstallManagedByConfig && !takeOwnership:
		d.Outcome = OutcomeRefused
		d.Reason = "it is managed manually: pass --take-ownership to manage it by its file, or remove the file"
	case len(d.Changes) > 0:
		d.Outcome = OutcomeChange
	default:
		d.Outcome = OutcomeNone
	}
	return d
}

// change returns the settings of a file that the install does not have. What the file
// leaves out gets the app's default: inputs with a default, labels and overrides (none) and components
// with a toggle. Inputs that the customer sets are never in a file, and stay unchanged.
func change(app *appconfig.App, f appconfig.Install, i api.Install) api.InstallChange {
	c := api.InstallChange{By: api.InstallChangeByConfig}
	asked := i.Pending.Settings // settings that already wait for an approver are not requested again
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
		if want, says := fileValue(in, f); says && want != currentValue(in, i) {
			c.Inputs = append(c.Inputs, api.InputValue{Name: in.Name, Value: want})
		}
	}
	if addsToAccount(f.Account, i.Account) && len(f.Account) > 0 && account(f.Account) != account(i.Account) {
		c.Account = f.Account
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
		if want := p.Enabled(f.Toggles); want != p.Enabled(i.Toggles) {
			c.Toggles[p.Name] = want
		}
	}
	c.Overrides = changedOverrides(overridesOf(f), i.Overrides)
	return c
}

// fileValue returns the value that a file sets for an input; says is false if the file sets none.
func fileValue(in appconfig.Input, f appconfig.Install) (value string, says bool) {
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

// currentValue returns the value of an input of an install: its own, or the default.
func currentValue(in appconfig.Input, i api.Install) string {
	n := slices.IndexFunc(i.Inputs, func(v api.InputValue) bool { return v.Name == in.Name })
	switch {
	case n >= 0:
		return i.Inputs[n].Value
	case in.Default != nil:
		return *in.Default
	}
	return ""
}

// addsToAccount reports whether the account in a file is that of the install, or adds to it. A file without an
// account changes none.
func addsToAccount(file, install map[string]map[string]string) bool {
	for kind, values := range file {
		if _, same := install[kind]; !same && len(install) > 0 {
			return false
		}
		for key, value := range install[kind] {
			if values[key] != value {
				return false
			}
		}
	}
	return true
}

// account formats a cloud account for people.
func account(a map[string]map[string]string) string {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(a)) {
		all = append(all, kind+" "+pairs(a[kind]))
	}
	return cmp.Or(strings.Join(all, "; "), "none")
}
