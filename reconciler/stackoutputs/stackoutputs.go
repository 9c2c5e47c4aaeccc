// Package stackoutputs stores what the stack of an install reported, or a person set by hand, as versions of all
// outputs. A version never changes; the oldest ones that the stack reported are deleted. It checks types, sizes and
// names, refuses secrets, and merges a change into the newest version: a report of the stack never overwrites what a
// person set. It does not decide what follows from a change, which package rollout does. The control API calls it.
package stackoutputs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Source is who set an output, or a version of them.
type Source string

// The values of Source, as in the database and the API.
const (
	Manual    Source = "manual"     // a person
	PhoneHome Source = "phone_home" // the stack itself
)

// Output is one output as it is stored.
type Output struct {
	Value  json.RawMessage `json:"value"`
	Source Source          `json:"source"`
	// Reported is the value that the stack reported, if a person set another one. It supports effect when the person's
	// value is unset.
	Reported json.RawMessage `json:"reported,omitempty"`
}

// Outputs are the outputs of one version, by name.
type Outputs map[string]Output

// Values returns the values of the outputs, by name.
func (o Outputs) Values() map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(o))
	for name, output := range o {
		all[name] = output.Value
	}
	return all
}

// Change is a change of the outputs. With the source Manual it sets and unsets some of them; with PhoneHome, Set is
// everything that the stack has.
type Change struct {
	Source       Source
	StackVersion string // version of the stack, as its source states it
	Set          map[string]json.RawMessage
	Unset        []string
}

// Move is the change of one output. An absent value is nil.
type Move struct {
	Name     string
	From, To json.RawMessage
}

// Merged is the result of a change.
type Merged struct {
	Outputs Outputs
	Moves   []Move // outputs whose value differs, by name
	// Changed are the names that differ in any way from the version before, also in who set them, by name.
	Changed []string
	// Stored reports whether Record made a version of them.
	Stored bool
	// Kept are the outputs that keep a person's value although the stack reported another one, by name.
	Kept []string
}

// Merge returns the outputs after a change. It is pure. The only error is that they would be too many or too large.
func Merge(current Outputs, c Change) (Merged, error) {
	next := Outputs{}
	maps.Copy(next, current)
	if c.Source == PhoneHome {
		next.report(c.Set)
	} else {
		next.set(c.Set)
		next.unset(c.Unset)
	}

	m := Merged{Outputs: next}
	names := maps.Clone(current)
	if names == nil {
		names = Outputs{}
	}
	maps.Copy(names, next)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := current[name]
		is, has := next[name]
		if had != has || !sameOutput(was, is) {
			m.Changed = append(m.Changed, name)
		}
		if !equal(was.Value, is.Value) {
			m.Moves = append(m.Moves, Move{Name: name, From: was.Value, To: is.Value})
		}
		if is.Reported != nil {
			m.Kept = append(m.Kept, name)
		}
	}
	return m, checkSize(next)
}

// set stores a person's values. It remembers what the stack reported instead.
func (o Outputs) set(values map[string]json.RawMessage) {
	for name, value := range values {
		was := o[name]
		reported := was.Reported
		if was.Source == PhoneHome {
			reported = was.Value
		}
		if equal(reported, value) {
			reported = nil
		}
		o[name] = Output{Value: value, Source: Manual, Reported: reported}
	}
}

// unset removes outputs. What a person had set over a value of the stack gets that value again.
func (o Outputs) unset(names []string) {
	for _, name := range names {
		if was := o[name]; was.Reported != nil {
			o[name] = Output{Value: was.Reported, Source: PhoneHome}
			continue
		}
		delete(o, name)
	}
}

// report stores what the stack reported: all of its outputs. Those that a person set stay.
func (o Outputs) report(values map[string]json.RawMessage) {
	for name, was := range o {
		if _, reports := values[name]; !reports && was.Source == PhoneHome {
			delete(o, name)
		} else if !reports {
			o[name] = Output{Value: was.Value, Source: Manual}
		}
	}
	for name, value := range values {
		was, has := o[name]
		switch {
		case !has || was.Source == PhoneHome:
			o[name] = Output{Value: value, Source: PhoneHome}
		case equal(was.Value, value):
			o[name] = Output{Value: was.Value, Source: Manual}
		default:
			o[name] = Output{Value: was.Value, Source: Manual, Reported: value}
		}
	}
}

func sameOutput(a, b Output) bool {
	return a.Source == b.Source && equal(a.Value, b.Value) && equal(a.Reported, b.Reported)
}

// equal reports whether two JSON values are the same.
func equal(a, b json.RawMessage) bool {
	return (a == nil) == (b == nil) && bytes.Equal(canonical(a), canonical(b))
}

// canonical returns JSON with sorted keys and without spaces.
func canonical(raw json.RawMessage) []byte {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}

// Decode reads the outputs of a stored version.
func Decode(row store.StackOutput) (Outputs, error) {
	o := Outputs{}
	if err := json.Unmarshal(row.Outputs, &o); err != nil {
		return nil, fmt.Errorf("decode stack outputs %d of install %s: %w", row.Version, row.InstallID, err)
	}
	return o, nil
}

// Current returns the newest version of an install's outputs; version 0 without outputs if there is none.
func Current(ctx context.Context, tx *store.Tx, install string) (store.StackOutput, Outputs, error) {
	row, err := tx.CurrentStackOutputs(ctx, tx.Org, install)
	if errors.Is(err, store.ErrNotFound) {
		return store.StackOutput{InstallID: install}, Outputs{}, nil
	}
	if err != nil {
		return row, nil, err
	}
	o, err := Decode(row)
	return row, o, err
}

// Record merges a change that Check accepted into the outputs of an install and stores the result as the next version.
// It stores nothing and returns the current version if nothing changes. Of the versions that a stack reported, only the
// newest stay. The caller has locked the install.
func Record(ctx context.Context, tx *store.Tx, install, actor string, c Change) (store.StackOutput, Merged, error) {
	row, current, err := Current(ctx, tx, install)
	if err != nil {
		return row, Merged{}, err
	}
	m, err := Merge(current, c)
	if err != nil {
		return row, m, err
	}
	if len(m.Changed) == 0 && (c.StackVersion == "" || c.StackVersion == row.StackVersion) {
		return row, m, nil
	}
	raw, err := json.Marshal(m.Outputs)
	if err != nil {
		return row, m, fmt.Errorf("encode stack outputs: %w", err)
	}
	next := store.AddStackOutputsParams{
		OrgID: tx.Org, InstallID: install, Version: row.Version + 1, Source: string(c.Source),
		StackVersion: row.StackVersion, Outputs: raw, Changed: append([]string{}, m.Changed...), Actor: actor,
	}
	if c.StackVersion != "" {
		next.StackVersion = c.StackVersion
	}
	if row, err = tx.AddStackOutputs(ctx, next); err != nil {
		return row, m, err
	}
	m.Stored = true
	if c.Source == PhoneHome {
		err = tx.PruneStackOutputs(ctx, tx.Org, install)
	}
	return row, m, err
}
