package module

import (
	"bytes"
	"encoding/json"
)

// sensitiveIn calls learn with every text that a plan, as Terraform shows it in JSON, marks as sensitive, before and after. It is
// how what a module makes of a secret is known before the apply in which a provisioner may print it. What cannot be read is left
// out; it only costs that it is not known.
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
		marked(c.Before, c.BeforeSensitive, learn)
		marked(c.After, c.AfterSensitive, learn)
	}
	for _, r := range append(read.Changes, read.Drift...) {
		both(r.Change)
	}
	for _, c := range read.Outputs {
		both(c)
	}
}

// marked goes through a value beside its marks: true marks all that is below it, an object or a list says it of each part.
func marked(value, marks any, learn func([]byte)) {
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
				marked(part, true, learn)
			case i < len(parts):
				marked(part, parts[i], learn)
			}
		}
	case map[string]any:
		parts, _ := marks.(map[string]any)
		for name, part := range value {
			if all {
				marked(part, true, learn)
			} else {
				marked(part, parts[name], learn)
			}
		}
	}
}
