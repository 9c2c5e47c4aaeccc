package format

import (
	"strings"
	"testing"
)

func TestCheckValue(t *testing.T) {
	for _, c := range []struct{ format, text, problem, hint string }{
		{FormatDuration, "90s", "", ""},
		{FormatDuration, "1h0m0s", "", ""},
		{FormatDuration, "30", "is not a duration", `write "30s"`},
		{FormatDuration, "5 minutes", "is not a duration", `write "5m"`},
		{FormatDuration, "1 Hour", "is not a duration", `write "1h"`},
		{FormatDuration, "1d", "is not a duration", durationForms},
		{FormatDuration, "7200", "is not a duration", durationForms},
		{FormatDuration, "", "is not a duration", durationForms},
		{FormatDuration, "1h1s", "is longer than an hour, which is the most", `write "1h" or less`},
		{FormatDuration, "0s", "must be longer than nothing", durationForms},
		{FormatDuration, "-5m", "must be longer than nothing", durationForms},

		{FormatCron, "0 3 * * *", "", ""},
		{FormatCron, "*/15  0-6,22 1,15 JAN-MAR MON", "", ""},
		{FormatCron, "0 0 29 2 *", "", ""},
		{FormatCron, " ", "is empty", cronForm},
		{FormatCron, "@daily", "is not a schedule of five fields", `write "0 0 * * *"`},
		{FormatCron, "@Weekly", "is not a schedule of five fields", `write "0 0 * * 0"`},
		{FormatCron, "@every 5m", "is not a schedule of five fields", cronForm},
		{FormatCron, "0 0 3 * * *", "has six fields, and a schedule has five",
			"remove the seconds: a schedule begins with the minute"},
		{FormatCron, "0 3 * *", "is not a schedule of five fields", cronForm},
		{FormatCron, "TZ=UTC", "names a time zone: schedules are in UTC", cronForm},
		{FormatCron, "CRON_TZ=Europe/Vienna 0 3 * * *", "names a time zone: schedules are in UTC", cronForm},
		{FormatCron, "60 3 * * *", "is not a schedule: the minute is not right: it is one of 0-59, a list, a range or a " +
			"step of them", cronForm},
		{FormatCron, "0 3 * * 7", "is not a schedule: the day of the week is not right: it is one of 0-6 or SUN-SAT, from " +
			"Sunday, a list, a range or a step of them", cronForm},
		{FormatCron, "0 3 * * */0", "is not a schedule: the day of the week is not right: it is one of 0-6 or SUN-SAT, " +
			"from Sunday, a list, a range or a step of them", cronForm},
		{FormatCron, "0 0 31 2 *", "never comes: there is no such day", ""},
		{FormatCron, strings.Repeat("1,", 2000) + "1 * * * *", "is longer than 2048 bytes", ""},

		{FormatRegexp, "^docs/.*$", "", ""},
		{FormatRegexp, "a(", "is not a regular expression of RE2: missing closing )", ""},
		{FormatRegexp, "^(?!src)", "is not a regular expression of RE2: invalid or unsupported Perl syntax",
			"write it without looking ahead or behind, which RE2 does not do"},
		{FormatRegexp, "a{1001}", "is not a regular expression of RE2: invalid repeat count", ""},

		{FormatURL, "https://example.com/init.sh?x=1", "", ""},
		{FormatURL, "https://{{.nuon.install.id}}.example.com", "", ""},
		{FormatURL, "example.com/x", "is not an http or https address", `write it like "https://example.com/path"`},
		{FormatURL, "s3://bucket/key", "is not an http or https address", `write it like "https://example.com/path"`},
		{FormatURL, "https:///path", "is an address without a host", `write it like "https://example.com/path"`},
		{FormatURL, "https://a b", "is not an address", `write it like "https://example.com/path"`},
		{FormatURL, "https://u:hunter2@example.com", "contains a user or a password", "remove them"},

		{FormatJSON, `{"a": [1, null]}`, "", ""},
		{FormatJSON, `{"a": {{.nuon.install.id}}}`, "", ""},
		{FormatJSON, "{\n \"a\": hunter2\n}", "is not JSON: see line 2, column 7 of it", ""},
		{FormatJSON, "", "is not JSON: see line 1, column 1 of it", ""},

		{"", "anything", "", ""},
	} {
		problem, hint := CheckValue(c.format, c.text)
		if problem != c.problem || hint != c.hint {
			t.Errorf("CheckValue(%s, %.60q):\n got %q, %q\nwant %q, %q", c.format, c.text, problem, hint, c.problem, c.hint)
		}
	}
}

func FuzzCheckValue(f *testing.F) {
	for _, text := range []string{"0 3 * * *", "TZ=UTC 1", "CRON_TZ= ", "@every 1h", "1h", "a(?=b)", "https://x", "{",
		"1-2/3 */5 ? L W"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range []string{FormatDuration, FormatCron, FormatRegexp, FormatURL, FormatJSON} {
			if problem, hint := CheckValue(format, text); problem == "" && hint != "" {
				t.Errorf("a hint without a problem: %s", hint)
			}
		}
	})
}
