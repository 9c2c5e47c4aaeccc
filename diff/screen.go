package diff

import "fmt"

// Limits of what a screen shows of a field that is not expanded.
const (
	screenBytes = 2 << 10
	// screenLines is the number of lines of a line diff that are shown, and
	// rewrittenScreenLines that for a rewritten text.
	screenLines          = 200
	rewrittenScreenLines = 40
)

// ScreenLines returns the number of lines of the line diff that a screen
// shows until the field is expanded.
func (f *FieldChange) ScreenLines() int {
	if len(f.Lines) > rewrittenScreenLines && f.IsRewritten() {
		return rewrittenScreenLines
	}
	return min(len(f.Lines), screenLines)
}

// Collapsed returns the field as a screen shows it until it is expanded: with its outline instead
// of a value that has one, and with the part of a long value around the first difference.
func (f *FieldChange) Collapsed() *FieldChange {
	if f.Outline == "" && len(f.Before.Text) <= screenBytes && len(f.After.Text) <= screenBytes {
		return f
	}
	out := *f
	if f.Outline != "" {
		out.Before, out.After = f.Before.outlined(f.Outline), f.After.outlined(f.Outline)
		return &out
	}
	at := 0
	if f.Before.Text != "" && f.After.Text != "" {
		at = commonPrefix(f.Before.Text, f.After.Text)
	}
	out.Before, out.After = f.Before.window(at), f.After.window(at)
	return &out
}

// IsTruncated reports whether Collapsed or ScreenLines omit a part of the field.
func (f *FieldChange) IsTruncated() bool {
	return len(f.Lines) > f.ScreenLines() || len(f.Lines) == 0 && f.Collapsed() != f
}

func (s ShownValue) outlined(outline string) ShownValue {
	if s.Absent || s.Masked || s.Unknown {
		return s
	}
	return ShownValue{Text: outline, Type: s.Type, Sum: partialSum, Size: max(s.Size, len(s.Text))}
}

// window returns the part of a long value that includes byte at of its text.
func (s ShownValue) window(at int) ShownValue {
	if len(s.Text) <= screenBytes {
		return s
	}
	start, end := window(s.Text, screenBytes, at)
	if s.Sum == "" {
		s.Sum, s.Size = partialSum, len(s.Text)
	}
	s.Text, s.Start = runeSlice(s.Text, start, end), s.Start+start
	return s
}

// partialSum is the Sum of a value of which a screen shows only a part.
const partialSum = "on a screen"

// RuleNotShown is the rule of the finding that AddCutFindings adds.
const RuleNotShown = "not-shown"

// AddCutFindings adds a finding to each change with changed lines that the report
// does not hold: a person must knowingly approve what cannot be shown. What a
// screen merely folds is in the report and gets no finding.
func (r *Report) AddCutFindings() {
	for _, l := range r.lists() {
		for i := range *l.changes {
			c := &(*l.changes)[i]
			if n, path := c.hiddenLines(); n > 0 {
				c.AddFindings(Finding{
					Rule: RuleNotShown, Source: "diff.md#what-a-report-cannot-hold", Security: true, IndividualApproval: true,
					Path:    path,
					Message: "not shown: " + Plural(n, "changed line", "changed lines") + ", too long for a report",
				})
			}
		}
	}
}

// LongCommandFinding returns the finding about a one-line command that is too long
// for a screen to show completely.
func LongCommandFinding(f *FieldChange) (Finding, bool) {
	if len(f.Lines) > 0 || len(f.After.Text) <= screenBytes {
		return Finding{}, false
	}
	return Finding{
		Rule: RuleNotShown, Source: "diff.md#what-a-report-cannot-hold", Security: true, IndividualApproval: true,
		Path: f.Path,
		Message: fmt.Sprintf("a command of %d bytes on one line, of which a screen shows %d: read all of it",
			len(f.After.Text),
			screenBytes),
	}, true
}

// hiddenLines counts the changed lines that the report does not hold, and returns the first field
// with such lines. An address or a key that is cut (see Masker.Text) counts as one line.
func (c *Change) hiddenLines() (n int, path string) {
	if len(c.Address) >= DefaultLimit {
		n++
	}
	for i := range c.Fields {
		if len(c.Fields[i].Path) >= DefaultLimit {
			n++
			continue
		}
		more := c.Fields[i].hiddenLines()
		if more > 0 && n == 0 {
			path = c.Fields[i].Path
		}
		n += more
	}
	return n, path
}

// hiddenLines counts the changed lines of a text that are left out or cut. Each
// cut side of a value counts as one.
func (f *FieldChange) hiddenLines() int {
	n := 0
	for _, l := range f.Lines {
		switch {
		case l.Op == LineMore:
			n += l.Count
		case l.Size > 0 && l.Op != LineSame:
			n++
		}
	}
	for _, s := range []*ShownValue{&f.Before, &f.After} {
		if len(f.Lines) == 0 && s.Sum != "" {
			n++
		}
	}
	return n
}
