package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a runner's image may have no zone data
)

// Window is when applies and actions may start.
type Window struct {
	// Days are the days on which the window opens; nil for every day.
	Days []Day `toml:"days"`
	// Hours are the start and the end; empty for the whole day.
	Hours Hours `toml:"hours"`
	// Zone is the time zone of the hours.
	Zone Zone `toml:"zone"`
}

// Day is a day of the week, written as mon, tue and so on.
type Day time.Weekday

var dayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// UnmarshalText accepts the short names of the days.
func (d *Day) UnmarshalText(text []byte) error {
	number := slices.Index(dayNames, string(text))
	if number < 0 {
		return fmt.Errorf("%q is no day; write mon, tue, wed, thu, fri, sat or sun", text)
	}
	*d = Day(number)
	return nil
}

// Hours are two times of the day in minutes after midnight. A window that ends before it starts
// continues past midnight; one that ends when it starts is the whole day.
type Hours struct{ From, Until int }

// UnmarshalText parses "08:00-18:00".
func (h *Hours) UnmarshalText(text []byte) error {
	from, until, found := strings.Cut(string(text), "-")
	var err error
	if found {
		if h.From, err = minutes(from); err == nil {
			h.Until, err = minutes(until)
		}
	}
	if !found || err != nil || h.From == 24*60 {
		return fmt.Errorf("%q are no hours; write them as \"08:00-18:00\"", text)
	}
	h.Until %= 24 * 60
	return nil
}

func minutes(text string) (int, error) {
	if text = strings.TrimSpace(text); text == "24:00" {
		return 24 * 60, nil
	}
	at, err := time.Parse("15:04", text)
	return at.Hour()*60 + at.Minute(), err
}

func (h Hours) length() time.Duration {
	length := (h.Until - h.From + 24*60) % (24 * 60)
	if length == 0 {
		length = 24 * 60
	}
	return time.Duration(length) * time.Minute
}

// Zone is a time zone by its IANA name.
type Zone struct{ location *time.Location }

// UnmarshalText loads the zone. It rejects Local, which depends on the machine.
func (z *Zone) UnmarshalText(text []byte) error {
	location, err := time.LoadLocation(string(text))
	if err != nil || len(text) == 0 || string(text) == "Local" {
		return fmt.Errorf("%q is no time zone; write its IANA name, such as \"Europe/Berlin\" or \"UTC\"", text)
	}
	z.location = location
	return nil
}

// IsOpen reports whether the window is open at a time. Hours are those of the wall clock:
// on a day on which the clock changes, the window is an hour shorter or longer.
func (w Window) IsOpen(at time.Time) bool {
	local := at.In(w.Zone.location)
	minute := local.Hour()*60 + local.Minute()
	from, until := w.Hours.From, w.Hours.Until
	if from < until {
		return minute >= from && minute < until && w.opensOn(local.Weekday())
	}
	// Past midnight, or the whole day: the time before its end belongs to the day before.
	if minute >= from {
		return w.opensOn(local.Weekday())
	}
	return minute < until && w.opensOn((local.Weekday()+6)%7)
}

func (w Window) opensOn(day time.Weekday) bool {
	return len(w.Days) == 0 || slices.Contains(w.Days, Day(day))
}

// NextOpen returns when a closed window opens next.
func (w Window) NextOpen(after time.Time) time.Time {
	local := after.In(w.Zone.location)
	for day := 0; ; day++ {
		opens := time.Date(local.Year(), local.Month(), local.Day()+day, 0, w.Hours.From, 0, 0, w.Zone.location)
		if opens.After(after) && w.opensOn(opens.Weekday()) {
			return opens
		}
	}
}

// String formats the window as "mon, tue 08:00-18:00 Europe/Berlin".
func (w Window) String() string {
	days := "every day"
	if len(w.Days) > 0 {
		var names []string
		for _, day := range w.Days {
			names = append(names, dayNames[day])
		}
		days = strings.Join(names, ", ")
	}
	hours := "the whole day"
	if w.Hours.length() < 24*time.Hour {
		hours = fmt.Sprintf("%02d:%02d-%02d:%02d", w.Hours.From/60, w.Hours.From%60, w.Hours.Until/60, w.Hours.Until%60)
	}
	return days + " " + hours + " " + w.Zone.location.String()
}
