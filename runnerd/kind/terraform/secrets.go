package terraform

import (
	"bytes"
	"encoding/json"
)

// sensitiveIn calls learn with every text that a plan in JSON marks as sensitive, before and
// after. So values that a module derives from a secret are masked before the apply, in which a
// provisioner may print them. It skips what it cannot parse; those values stay unmasked.
func sensitiveIn(shown []byte, learn func([]byte)) {
	type change struct {
		Before          any `json:"before"`
		After           any `json:"after"`
		BeforeSensitive any `json:"before_sensitive"`
		AfterSensitive  any `json:"after_sensitive"`
	}
	type resource struct {
		Change change `json:"change"`
	}
	var read struct {
		Changes []resource        `json:"resource_changes"`
		Drift   []resource        `json:"resource_drift"`
		Outputs map[string]change `json:"output_changes"`
	}
	decoder := json.NewDecoder(bytes.NewReader(shown))
	decoder.UseNumber()
	if decoder.Decode(&read) != nil {
		return
	}
	both := func(c change) {
		eachMarked(c.Before, c.BeforeSensitive, learn)
		eachMarked(c.After, c.AfterSensitive, learn)
	}
	for _, r := range append(read.Changes, read.Drift...) {
		both(r.Change)
	}
	for _, c := range read.Outputs {
		both(c)
	}
}

// eachMarked walks a value together with its marks: true marks everything below it; an object
// or a list has a mark for each part.
func eachMarked(value, marks any, learn func([]byte)) {
	all, _ := marks.(bool)
	switch value := value.(type) {
	case string:
		if all && value != "true" && value != "false" {
			learn([]byte(value))
		}
	case json.Number:
		if all {
			learn([]byte(value))
		}
	case []any:
		parts, _ := marks.([]any)
		for i, part := range value {
			switch {
			case all:
				eachMarked(part, true, learn)
			case i < len(parts):
				eachMarked(part, parts[i], learn)
			}
		}
	case map[string]any:
		parts, _ := marks.(map[string]any)
		for name, part := range value {
			if all {
				eachMarked(part, true, learn)
			} else {
				eachMarked(part, parts[name], learn)
			}
		}
	}
}
