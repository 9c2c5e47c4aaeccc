package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
)

// DiffVersions describes the resources that Terraform's state would gain and lose if to replaced
// now. It lists only addresses, because the attributes may be secret. Replacing the state
// touches no existing object. The zero Version for now means no state.
func DiffVersions(now, to Version) (*diff.Report, error) {
	before, err := now.readInventory()
	if err != nil {
		return nil, err
	}
	after, err := to.readInventory()
	if err != nil {
		return nil, err
	}
	made := &diff.Report{Kind: diff.KindState}
	var same int
	made.Changes, same = changes(before.instances, after.instances, changeWords{
		gain: diff.Import, lose: diff.Forget,
		gained: "this version knows it, and the newest does not",
		lost:   "this version does not know it: Terraform forgets it, though it may exist",
		other:  "this version knows other attributes of it",
	})
	made.AddFold(diff.FoldUnchanged, diff.FoldResources, same)
	made.Outputs, same = changes(before.outputs, after.outputs, changeWords{
		gain: diff.Create, lose: diff.Destroy,
		gained: "this version has it", lost: "this version does not have it", other: "this version has another value",
	})
	made.AddFold(diff.FoldUnchanged, diff.FoldOutputs, same)
	made.Applyable = before.rest != after.rest || len(made.Changes)+len(made.Outputs) > 0
	if made.Applyable && len(made.Changes)+len(made.Outputs) == 0 {
		made.Notes = append(made.Notes, "The versions differ only in what Terraform notes for itself.")
	}
	if made.Applyable {
		made.Notes = append(made.Notes,
			"Only the state changes, nothing that exists. What follows from it is planned afterwards.")
	}
	made.Sort()
	made.Totals = made.Count()
	return made, nil
}

// changeWords holds the actions and the reasons for a list of changes.
type changeWords struct {
	gain, lose          diff.Action
	gained, lost, other string
}

// changes compares two sets by address, and counts the unchanged entries.
func changes(before, after map[string]entry, say changeWords) (made []diff.Change, same int) {
	for _, key := range slices.Sorted(maps.Keys(after)) {
		to := after[key]
		was, there := before[key]
		switch {
		case !there:
			made = append(made, to.change(say.gain, say.gained))
		case was.content != to.content:
			made = append(made, to.change(diff.Update, say.other))
		default:
			same++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, there := after[key]; !there {
			made = append(made, before[key].change(say.lose, say.lost))
		}
	}
	return made, same
}

// outputKind is the kind of an output in a report.
const outputKind = "output"

// entry is one resource instance or output of a state. content is never shown,
// because it may hold secrets.
type entry struct {
	address, module, kind, name, deposed string
	content                              string
}

func (e entry) change(action diff.Action, why string) diff.Change {
	risk := action.Risk()
	if e.kind == outputKind { // a value that others read: no object is touched when it is removed
		risk = min(risk, diff.RiskInPlace)
	}
	return diff.Change{
		Address: e.address, Module: e.module, ResourceKind: e.kind, Name: e.name, Deposed: e.deposed,
		Imported: action == diff.Import, Action: action, Risk: risk, Why: why,
	}
}

// inventory is the content of a state: managed instances and outputs by address, and the whole
// state without its head as one text.
type inventory struct {
	instances, outputs map[string]entry
	rest               string
}

func (v Version) readInventory() (inventory, error) {
	made := inventory{instances: map[string]entry{}, outputs: map[string]entry{}}
	if v.Plain.IsZero() {
		return made, nil
	}
	var read struct {
		Outputs   map[string]json.RawMessage `json:"outputs"`
		Resources []struct {
			Module    string `json:"module"`
			Mode      string `json:"mode"`
			Type      string `json:"type"`
			Name      string `json:"name"`
			Instances []struct {
				Key        any             `json:"index_key"`
				Deposed    string          `json:"deposed"`
				Status     string          `json:"status"`
				Attributes json.RawMessage `json:"attributes"`
				Flat       json.RawMessage `json:"attributes_flat"`
			} `json:"instances"`
		} `json:"resources"`
	}
	decoder := json.NewDecoder(bytes.NewReader(v.Plain.Reveal()))
	decoder.UseNumber()
	if err := decoder.Decode(&read); err != nil {
		// The decoder's error could quote the state.
		return inventory{}, fmt.Errorf("the resources of the state (serial %d) cannot be read", v.Serial)
	}
	for _, resource := range read.Resources {
		if resource.Mode != "managed" {
			continue // data sources are read again at each plan
		}
		for _, instance := range resource.Instances {
			address := resource.Type + "." + resource.Name
			if resource.Module != "" {
				address = resource.Module + "." + address
			}
			switch key := instance.Key.(type) {
			case json.Number:
				address += "[" + key.String() + "]"
			case string:
				address += fmt.Sprintf("[%q]", key)
			}
			made.instances[address+" "+instance.Deposed] = entry{
				address: address, module: resource.Module, kind: resource.Type, name: resource.Name, deposed: instance.Deposed,
				content: instance.Status + canonical(instance.Attributes) + canonical(instance.Flat),
			}
		}
	}
	for name, output := range read.Outputs {
		made.outputs[name] = entry{address: "output." + name, kind: outputKind, name: name, content: canonical(output)}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(v.Plain.Reveal(), &fields); err != nil {
		return inventory{}, fmt.Errorf("the state (serial %d) is not JSON", v.Serial)
	}
	removeFields(fields, "serial", "lineage", "terraform_version")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		made.rest += name + canonical(fields[name])
	}
	return made, nil
}

// canonical returns the same text for all spellings of a JSON value. It returns
// invalid JSON unchanged.
func canonical(raw json.RawMessage) string {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return string(raw)
	}
	made, err := json.Marshal(value)
	if err != nil {
		return string(raw)
	}
	return string(made)
}
