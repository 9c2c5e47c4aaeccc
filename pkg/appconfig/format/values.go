package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"time"
)

// The formats of values, as in the config tag.
const (
	FormatDuration = "duration"
	FormatCron     = "cron"
	FormatRegexp   = "regexp"
	FormatURL      = "url"
	FormatJSON     = "json"
)

// maxValue bounds the length of durations, schedules, regular expressions and URLs. JSON may be
// longer.
const maxValue = 2048

// CheckValue returns what is wrong with a text of a format, as a phrase that follows the name of
// its key, such as "is not a duration", and a hint. Both are empty if the text is valid. They
// repeat nothing of the text, which may contain a secret. A URL or JSON with template expressions
// is accepted, because its value is unknown before it is rendered.
func CheckValue(format, text string) (problem, hint string) {
	if format != FormatJSON && len(text) > maxValue {
		return fmt.Sprintf("is longer than %d bytes", maxValue), ""
	}
	switch format {
	case FormatDuration:
		return checkDuration(text)
	case FormatCron:
		return checkCron(text)
	case FormatRegexp:
		return checkRegexp(text)
	case FormatURL:
		return checkURL(text)
	case FormatJSON:
		return checkJSON(text)
	}
	return "", ""
}

// MaxDuration is the maximum of every time limit in a config.
const MaxDuration = time.Hour

const durationForms = `write it like "90s", "5m" or "1h"`

func checkDuration(text string) (problem, hint string) {
	span, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return "is not a duration", durationHint(text)
	case span <= 0:
		return "must be longer than nothing", durationForms
	case span > MaxDuration:
		return "is longer than an hour, which is the most", `write "1h" or less`
	}
	return "", ""
}

// spelledDuration matches a number with a unit as people spell it.
var spelledDuration = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,6})\s*([a-z]*)$`) })

// durationHint returns the hint with the duration that was probably meant.
func durationHint(text string) string {
	found := spelledDuration().FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if found == nil {
		return durationForms
	}
	unit := ""
	switch found[2] {
	case "", "sec", "secs", "second", "seconds", "s":
		unit = "s"
	case "min", "mins", "minute", "minutes", "m":
		unit = "m"
	case "hr", "hrs", "hour", "hours", "h":
		unit = "h"
	}
	if span, err := time.ParseDuration(found[1] + unit); unit == "" || err != nil || span <= 0 || span > MaxDuration {
		return durationForms
	}
	return fmt.Sprintf("write %q", found[1]+unit)
}

func checkRegexp(text string) (problem, hint string) {
	// It finds every error of regexp.Compile, much faster for expressions that expand.
	_, err := syntax.Parse(text, syntax.Perl)
	if err == nil {
		return "", ""
	}
	problem = "is not a regular expression of RE2"
	var syntaxErr *syntax.Error
	if errors.As(err, &syntaxErr) {
		problem += ": " + syntaxErr.Code.String()
	}
	for _, prefix := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.Contains(text, prefix) {
			return problem, "write it without looking ahead or behind, which RE2 does not do"
		}
	}
	return problem, ""
}

func checkURL(text string) (problem, hint string) {
	if strings.Contains(text, "{{") {
		return "", ""
	}
	const form = `write it like "https://example.com/path"`
	address, err := url.Parse(text)
	switch {
	case err != nil, strings.ContainsAny(text, " \t\r\n"):
		return "is not an address", form
	case address.Scheme != "http" && address.Scheme != "https":
		return "is not an http or https address", form
	case address.Hostname() == "":
		return "is an address without a host", form
	case address.User != nil:
		return "contains a user or a password", "remove them"
	}
	return "", ""
}

func checkJSON(text string) (problem, hint string) {
	if strings.Contains(text, "{{") {
		return "", ""
	}
	var value json.RawMessage
	err := json.Unmarshal([]byte(text), &value)
	var syntaxErr *json.SyntaxError
	switch {
	case err == nil:
		return "", ""
	case errors.As(err, &syntaxErr):
		before := text[:min(max(int(syntaxErr.Offset)-1, 0), len(text))]
		line := 1 + strings.Count(before, "\n")
		column := len(before) - strings.LastIndexByte(before, '\n')
		return fmt.Sprintf("is not JSON: see line %d, column %d of it", line, column), ""
	}
	return "is not JSON", ""
}
