package state

import (
	"bytes"
	"encoding/json"
)

// Sensitive calls learn with every text that the version marks as sensitive.
func (v Version) Sensitive(learn func([]byte)) { sensitive(v.Plain.Reveal(), learn) }

// sensitive calls learn with every text that the state marks as sensitive, in outputs and in
// the attributes of resources. It skips what it cannot parse; those values stay unmasked.
func sensitive(plain []byte, learn func([]byte)) {
	var read struct {
		Outputs map[string]struct {
			Value     any  `json:"value"`
			Sensitive bool `json:"sensitive"`
		} `json:"outputs"`
		Resources []struct {
			Instances []struct {
				Attributes any      `json:"attributes"`
				Sensitive  [][]step `json:"sensitive_attributes"`
			} `json:"instances"`
		} `json:"resources"`
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.UseNumber()
	if decoder.Decode(&read) != nil {
		return
	}
	for _, output := range read.Outputs {
		if output.Sensitive {
			eachLeaf(output.Value, learn)
		}
	}
	for _, resource := range read.Resources {
		for _, instance := range resource.Instances {
			for _, path := range instance.Sensitive {
				eachLeaf(valueAt(instance.Attributes, path), learn)
			}
		}
	}
}

// step is one element of a path: {"type":"get_attr","value":"input"}, or an index whose value
// is {"value": 0, "type": "number"}.
type step struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// valueAt returns the value at the path. For a path that does not exist it returns the value
// that it reached last, which contains more than the path means, never less.
func valueAt(at any, path []step) any {
	for _, step := range path {
		var name string
		var index struct {
			Value any `json:"value"`
		}
		if json.Unmarshal(step.Value, &name) != nil {
			if json.Unmarshal(step.Value, &index) != nil {
				return at
			}
		}
		next, found := childOf(at, name, index.Value)
		if !found {
			return at
		}
		at = next
	}
	return at
}

func childOf(at any, name string, index any) (any, bool) {
	switch at := at.(type) {
	case map[string]any:
		if key, ok := index.(string); ok {
			name = key
		}
		next, found := at[name]
		if value, typed := unwrapDynamic(at); typed && !found {
			return childOf(value, name, index)
		}
		return next, found
	case []any:
		number, ok := index.(float64)
		if !ok || number < 0 || int(number) >= len(at) {
			return nil, false
		}
		return at[int(number)], true
	}
	return nil, false
}

// unwrapDynamic returns the value of an attribute of dynamic type: Terraform stores it next to its
// type, and paths skip that level.
func unwrapDynamic(at map[string]any) (value any, is bool) {
	value, hasValue := at["value"]
	_, hasType := at["type"]
	return value, hasValue && hasType && len(at) == 2
}

// eachLeaf calls learn with every string and number. Booleans cannot be masked.
func eachLeaf(value any, learn func([]byte)) {
	switch value := value.(type) {
	case string:
		if value != "true" && value != "false" {
			learn([]byte(value))
		}
	case json.Number:
		learn([]byte(value))
	case []any:
		for _, each := range value {
			eachLeaf(each, learn)
		}
	case map[string]any:
		if of, typed := unwrapDynamic(value); typed {
			// The words of the type are ordinary words and no secrets.
			eachLeaf(of, learn)
			return
		}
		for _, each := range value {
			eachLeaf(each, learn)
		}
	}
}
