// Package appvariables stores the variables of apps: values of the vendor that are not in git. It checks names, sizes
// and sealing, keeps sensitive values only as ciphertext to the control plane's key, and never returns one. It does not
// seal values to the keys of installs, which package rollout does when it makes a job. The control API calls it.
package appvariables

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Limits of the variables of one app.
const (
	maxVariables  = 200
	maxValueBytes = 64 << 10  // of one value
	maxTotalBytes = 256 << 10 // of all names and plain values
)

var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,127}$`)

// Change sets and deletes variables of an app.
type Change struct {
	Set    []api.InputValue // plain, or sealed to the control plane's key for this app and name
	Delete []string
	Actor  string
}

// Checked is a change that passed the checks.
type Checked struct {
	// Changed are the names of the variables that differ afterwards; a sensitive value always counts as another one.
	Changed []string
	// After are the variables of the app as they would be, by name.
	After map[string]store.AppVariable

	puts    []store.PutAppVariableParams
	deletes []string
}

// Check checks a change and writes nothing. An error is a *refusal.Error that has everything that is wrong with it.
func Check(ctx context.Context, tx *store.Tx, ours seal.Identity, app store.App, c Change) (Checked, error) {
	rows, err := tx.ViewAppVariables(ctx, tx.Org, app.ID)
	if err != nil {
		return Checked{}, err
	}
	current := map[string]store.AppVariable{}
	for _, row := range rows {
		current[row.Name] = row
	}
	k := checker{app: app, org: tx.Org, ours: ours, current: current,
		Problems: refusal.Problems{File: "variables"}}
	puts := k.check(c)
	if err := k.Err("bad_variables", "these variables of app "+app.Name+" cannot be changed like this"); err != nil {
		return Checked{}, err
	}
	checked := Checked{Changed: append([]string{}, c.Delete...), After: current, deletes: append([]string{}, c.Delete...)}
	for _, put := range puts {
		if was, had := current[put.Name]; had && was.Hash == put.Hash {
			continue
		}
		put.UpdatedBy = c.Actor
		checked.puts, checked.Changed = append(checked.puts, put), append(checked.Changed, put.Name)
		current[put.Name] = store.AppVariable{OrgID: put.OrgID, AppID: put.AppID, Name: put.Name, Value: put.Value,
			Sealed: put.Sealed, Hash: put.Hash, UpdatedBy: put.UpdatedBy}
	}
	for _, name := range c.Delete {
		delete(current, name)
	}
	slices.Sort(checked.Changed)
	return checked, nil
}

// Store stores a change. The caller has locked the app since before Check.
func (c Checked) Store(ctx context.Context, tx *store.Tx, app store.App) error {
	for _, put := range c.puts {
		if err := tx.PutAppVariable(ctx, put); err != nil {
			return fmt.Errorf("store variable %s: %w", put.Name, err)
		}
	}
	if err := tx.DropAppVariables(ctx, tx.Org, app.ID, c.deletes); err != nil {
		return fmt.Errorf("delete variables: %w", err)
	}
	return nil
}

// checker collects what is wrong with a change. No message contains a value.
type checker struct {
	app     store.App
	org     string
	ours    seal.Identity
	current map[string]store.AppVariable
	refusal.Problems
}

// check returns the rows to store.
func (k *checker) check(c Change) []store.PutAppVariableParams {
	puts, named := make([]store.PutAppVariableParams, 0, len(c.Set)), map[string]bool{}
	for _, v := range c.Set {
		if named[v.Name] {
			k.Addf("variable %.60q is set twice", v.Name)
			continue
		}
		named[v.Name] = true
		if put, ok := k.checkValue(v); ok {
			puts = append(puts, put)
		}
	}
	for _, n := range c.Delete {
		switch _, has := k.current[n]; {
		case named[n]:
			k.Addf("variable %.60q is set or deleted twice", n)
		case !has:
			k.Addf("app %s has no variable %.60q", k.app.Name, n)
		}
		named[n] = true
	}
	if len(named) == 0 {
		k.Addf("no variable is named")
	}
	k.checkSize(puts, c.Delete)
	return puts
}

func (k *checker) checkValue(v api.InputValue) (put store.PutAppVariableParams, ok bool) {
	put = store.PutAppVariableParams{OrgID: k.org, AppID: k.app.ID, Name: v.Name}
	if !name.MatchString(v.Name) {
		k.Addf("a variable cannot be named %.60q: use letters, digits, _ and -, at most 128, the first a letter or _",
			v.Name)
		return put, false
	}
	if !v.Sealed.IsZero() {
		return k.checkSealed(put, v)
	}
	switch {
	case v.Sensitive:
		k.Addf("variable %s is sensitive, and its value is not sealed; set it with --sensitive %s", v.Name, v.Name)
	case len(v.Value) > maxValueBytes:
		k.Addf("variable %s has %d bytes, and at most %d are stored", v.Name, len(v.Value), maxValueBytes)
	case strings.ContainsRune(v.Value, 0):
		k.Addf("variable %s contains a NUL character", v.Name)
	case diff.LooksSecret(v.Name, v.Value):
		k.Addf("variable %s looks like a secret; set it with --sensitive %s, so that it is sealed", v.Name, v.Name)
	case k.current[v.Name].Sealed != nil:
		k.Addf("variable %s is sensitive; set it with --sensitive %s, or delete it first", v.Name, v.Name)
	default:
		put.Value, put.Hash = &v.Value, store.PlainHash(v.Value)
		return put, true
	}
	return put, false
}

// checkSealed checks that the control plane can open a sensitive value, so that no job finds out later.
func (k *checker) checkSealed(put store.PutAppVariableParams, v api.InputValue) (store.PutAppVariableParams, bool) {
	secret, err := k.ours.Open(v.Sealed, seal.AppVariableContext(k.org, k.app.ID, v.Name))
	if err != nil {
		k.Addf("variable %s is not sealed to this control plane's key, for this app and name", v.Name)
		return put, false
	}
	if n := len(secret.Reveal()); n > maxValueBytes {
		k.Addf("variable %s has %d bytes, and at most %d are stored", v.Name, n, maxValueBytes)
		return put, false
	}
	raw, err := json.Marshal(v.Sealed)
	if err != nil {
		k.Addf("variable %s cannot be stored: %v", v.Name, err)
		return put, false
	}
	put.Sealed, put.Hash = raw, store.SealedHash(v.Sealed.Ciphertext)
	return put, true
}

// checkSize bounds the variables after the change.
func (k *checker) checkSize(puts []store.PutAppVariableParams, deleted []string) {
	sizes := map[string]int{}
	for n, row := range k.current {
		if sizes[n] = len(n); row.Value != nil {
			sizes[n] += len(*row.Value)
		}
	}
	for _, put := range puts {
		if sizes[put.Name] = len(put.Name); put.Value != nil {
			sizes[put.Name] += len(*put.Value)
		}
	}
	for _, n := range deleted {
		delete(sizes, n)
	}
	total := 0
	for _, size := range sizes {
		total += size
	}
	if len(sizes) > maxVariables {
		k.Addf("the app would have %d variables, and at most %d are stored", len(sizes), maxVariables)
	}
	if total > maxTotalBytes {
		k.Addf("the variables of the app would have %d bytes, and at most %d are stored", total, maxTotalBytes)
	}
}
