package app

import (
	"cmp"
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/pkg/appcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// Options configures masking and limits. The zero value masks values that are secret by name or
// format.
type Options struct {
	// Secrets reports whether a text contains a secret that is known from elsewhere, for example
	// diff.NewSecrets(…).Contains.
	Secrets func(text string) bool
	// TagKey is the key of the short hashes of masked values. Empty means no hashes.
	TagKey []byte
	// Limit is the number of bytes shown of one value, Lines the maximum number of lines in a line
	// diff, and Context the number of lines around a change; see diff.MaskOptions.
	Limit, Lines, Context int
	// Code holds the changes of code by the names of what is built of the app; nil if code is not compared.
	Code map[string]appcode.Change
	// Subject starts the sentence that summarizes the changes. Empty means "A sync".
	Subject string
}

// Report compares two configs, which must both be valid, and includes the code changes in o.Code.
// The report is empty exactly when the code is equal and both configs are the same version of the
// app and declare the same installs. The order of inputs counts, because users are asked in this
// order. The first note summarizes what the changes cause.
func Report(before, after *appconfig.App, o Options) (*diff.Report, error) {
	was, err := partsOf(before)
	if err != nil {
		return nil, err
	}
	is, err := partsOf(after)
	if err != nil {
		return nil, err
	}
	b := &builder{
		before: readers{app: before}, after: readers{app: after}, code: o.Code, subject: cmp.Or(o.Subject, "A sync"),
		report: &diff.Report{Kind: diff.KindApp},
		masker: diff.NewMasker(diff.MaskOptions{Secrets: o.Secrets, TagKey: o.TagKey, Limit: o.Limit, Lines: o.Lines,
			Context: o.Context}),
	}
	for _, p := range slices.Concat(was, is) {
		learn(b.masker, p.value)
	}
	for _, p := range pairs(was, is) {
		b.pair(p)
	}
	for _, kind := range orderedKinds {
		b.order(kind, namesOf(was, kind), namesOf(is, kind))
	}
	b.finish()
	return b.report, nil
}

// builder builds a report from pairs of parts.
type builder struct {
	before, after readers
	code          map[string]appcode.Change
	subject       string
	masker        *diff.Masker
	report        *diff.Report
}

// pair holds one part on both sides; nil means that a side lacks it.
type pair struct{ before, after *part }

// pairs matches the parts of two configs by address, and then components that were only renamed.
func pairs(was, is []part) []pair {
	old, taken := map[string]*part{}, map[string]bool{}
	for i := range was {
		old[was[i].address] = &was[i]
	}
	var all []pair
	for i := range is {
		before := old[is[i].address]
		taken[is[i].address] = before != nil
		all = append(all, pair{before, &is[i]})
	}
	for i := range was {
		if !taken[was[i].address] {
			all = append(all, pair{before: &was[i]})
		}
	}
	return renamed(all)
}

// pair adds the changes of one part, or counts an unchanged part.
func (b *builder) pair(p pair) {
	code := b.codeOf(p)
	if code == nil && p.before != nil && p.after != nil && p.before.address == p.after.address &&
		p.before.value.Equal(p.after.value) {
		b.report.AddFold(diff.FoldUnchanged, diff.FoldParts, 1)
		return
	}
	one := cmp.Or(p.after, p.before)
	c := diff.Change{
		Address: nameOf(b.masker, one.address), ResourceKind: one.kind, Name: nameOf(b.masker, one.name),
		Module: one.section, Config: true, Action: actionOf(p),
	}
	if c.Action == diff.Replace {
		c.Order = diff.DestroyFirst
	}
	if c.Renamed = p.before != nil && p.after != nil && p.before.address != p.after.address; c.Renamed {
		c.From = nameOf(b.masker, p.before.address)
	}
	c.Risk = c.Action.Risk()
	var hidden []diff.Finding
	c.Fields, hidden = b.fields(p)
	if code != nil {
		c.Fields = append(c.Fields, b.codeFields(code)...)
	}
	c.Unchanged = unchanged(p)
	b.judge(&c, p, code)
	c.AddFindings(hidden...)
	b.report.Changes = append(b.report.Changes, c)
}

// actionOf returns the action for a part. Only components and secrets can be destroyed or replaced,
// because they stand for something outside of the config.
func actionOf(p pair) diff.Action {
	switch {
	case p.before == nil:
		return diff.Create
	case p.after == nil && p.before.exists():
		return diff.Destroy
	case p.after == nil:
		return diff.Forget
	case p.before.address != p.after.address || p.before.component != nil &&
		engine(p.before.component) != engine(p.after.component):
		return diff.Replace
	}
	return diff.Update
}

// fields returns the differences of a part, and findings about fields whose masking hides a change.
func (b *builder) fields(p pair) ([]diff.FieldChange, []diff.Finding) {
	c := &comparer{masker: b.masker}
	n := node{}
	if p.before != nil {
		n.before, n.hasBefore = p.before.value, true
	}
	if p.after != nil {
		n.after, n.hasAfter = p.after.value, true
	}
	c.walk(nil, n)
	for i := range c.fields {
		if p.before == nil || p.after == nil { // list elements are added or removed together with the part
			c.fields[i].Element = nil
		}
		c.fields[i].ForcesReplace = actionOf(p) == diff.Replace && c.fields[i].Path == "type" && p.before.component != nil
	}
	return c.fields, c.hidden
}

// unchanged counts the keys with equal values.
func unchanged(p pair) int {
	if p.before == nil || p.after == nil {
		return 0
	}
	n := 0
	for _, key := range p.before.value.Keys() {
		was, _ := p.before.value.Get(key)
		if is, there := p.after.value.Get(key); there && was.Equal(is) {
			n++
		}
	}
	return n
}

// order adds a change if the parts of a kind with a meaningful order have another order.
func (b *builder) order(kind string, was, is []string) {
	before, after := was, is
	was, is = common(was, is), common(is, was)
	if slices.Equal(was, is) {
		return
	}
	f := b.masker.Field(nil, diff.UnmaskedSide{Value: textsOf(was)}, diff.UnmaskedSide{Value: textsOf(is)})
	f.Path, f.Pointer = "order", "/order"
	f.MarkReordered(places(before, after))
	c := diff.Change{
		Address: kind + "s", ResourceKind: "order", Name: kind, Config: true, Action: diff.Update, Risk: diff.Update.Risk(),
		Fields: []diff.FieldChange{f},
	}
	c.AddFindings(ruleNamed(nothingDeployed).finding(nil))
	b.report.Changes = append(b.report.Changes, c)
}

// common returns the names that are in both lists, in the order of the first.
func common(names, others []string) []string {
	there := map[string]bool{}
	for _, name := range others {
		there[name] = true
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !there[name] })
}

func textsOf(names []string) raw.Value {
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = name
	}
	return raw.Of(list)
}

// finish sorts the report, counts its changes and adds the notes.
func (b *builder) finish() {
	r := b.report
	r.AddCutFindings()
	r.Sort()
	r.Totals = r.Count()
	r.Applyable = len(r.Changes) > 0
	r.Notes = b.notes()
}
