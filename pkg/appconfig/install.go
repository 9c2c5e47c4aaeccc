package appconfig

import (
	"encoding/json"
	"strconv"
)

// Approval options of an install.
const (
	ApprovalPrompt = "prompt"
	ApproveAll     = "approve-all"
)

// Check returns what is wrong with a value for the input, such as "is not a number", or "". It
// never repeats the value. The empty string is valid for every type: it leaves an optional input
// unset.
func (i *Input) Check(value string) string {
	if value == "" {
		return ""
	}
	switch i.Type {
	case "number":
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return "is not a number"
		}
	case "bool":
		if value != "true" && value != "false" {
			return "is neither true nor false"
		}
	case "json":
		if !json.Valid([]byte(value)) {
			return "is not JSON"
		}
	}
	return ""
}
