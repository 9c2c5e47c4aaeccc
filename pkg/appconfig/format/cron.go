package format

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

const cronForm = `write minute, hour, day of the month, month and day of the week, such as "0 3 * * *"`

// cronNames maps the names that some programs accept as schedules to five fields.
var cronNames = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *",
	"@yearly":  "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// checkCron requires the five standard fields, in UTC: section 12, rule 16.
func checkCron(text string) (problem, hint string) {
	fields := strings.Fields(text)
	switch {
	case len(fields) == 0:
		return "is empty", cronForm
	case strings.HasPrefix(fields[0], "@"):
		if same, ok := cronNames[strings.ToLower(fields[0])]; ok {
			return "is not a schedule of five fields", `write "` + same + `"`
		}
		return "is not a schedule of five fields", cronForm
	case strings.Contains(fields[0], "="):
		return "names a time zone: schedules are in UTC", cronForm
	case len(fields) == 6:
		return "has six fields, and a schedule has five", "remove the seconds: a schedule begins with the minute"
	case len(fields) != 5:
		return "is not a schedule of five fields", cronForm
	}
	schedule, err := cron.ParseStandard(strings.Join(fields, " "))
	if err != nil {
		return "is not a schedule: " + cronProblem(fields), cronForm
	}
	if schedule.Next(cronTestTime).IsZero() {
		return "never comes: there is no such day", ""
	}
	return "", ""
}

// cronTestTime is where the search for the next time of a schedule starts. The search reaches a
// leap year.
var cronTestTime = time.Date(2023, time.January, 1, 0, 0, 0, 0, time.UTC)

// cronProblem returns which field is invalid.
func cronProblem(fields []string) string {
	for i, name := range []string{"the minute", "the hour", "the day of the month", "the month", "the day of the week"} {
		field := []string{"*", "*", "*", "*", "*"}
		field[i] = fields[i]
		if _, err := cron.ParseStandard(strings.Join(field, " ")); err == nil {
			continue
		}
		ranges := [...]string{"0-59", "0-23", "1-31", "1-12 or JAN-DEC", "0-6 or SUN-SAT, from Sunday"}
		return name + " is not right: it is one of " + ranges[i] + ", a list, a range or a step of them"
	}
	return "a field is not right"
}
