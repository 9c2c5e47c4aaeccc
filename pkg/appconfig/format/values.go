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

// The formats of values, as the tag config names them.
const (
	FormatDuration = "duration"
	FormatCron     = "cron"
	FormatRegexp   = "regexp"
	FormatURL      = "url"
	FormatJSON     = "json"
)

// maxValue bounds what is looked at as a duration, a schedule, an expression or an address. JSON may be longer.
const maxValue = 2048

// CheckValue says what is wrong with a text that must be of a format, in words that follow the name of its key, such as "is not a
// duration", and a hint; both are empty if nothing is. The words repeat nothing of the text, which may hold what nobody should read.
// An address or JSON with template expressions in it is known when it is rendered and no sooner, so it is right.
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

// MaxDuration is the longest time limit that anything may have.
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

// spelledDuration is a number with what people write behind it.
var spelledDuration = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,6})\s*([a-z]*)$`) })

// durationHint guesses what was meant.
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
	_, err := syntax.Parse(text, syntax.Perl) // all that regexp.Compile can refuse, in a thousandth of the time for what is made to be large
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
		return fmt.Sprintf("is not JSON: see line %d, column %d of it", line, len(before)-strings.LastIndexByte(before, '\n')), ""
	}
	return "is not JSON", ""
}
