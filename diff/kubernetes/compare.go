package kubernetes

import (
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
	"github.com/nuon-toolkit/nuon/diff/risk"
)

// section is the list of the report that a change belongs to.
type section uint8

const (
	inChanges section = iota
	inHooks
	inTests
	inKept
	// nowhere: nothing happens to the object; it is only counted.
	nowhere
)

// outcome is the diff of one object, before masking: the fields of its changes have
// paths and marks, and their values are in the differences, in the same order.
type outcome struct {
	// id is the object's id, and from that of the object that it replaces.
	id, from    manifest.ID
	section     section
	change      diff.Change
	differences []difference
	// regenerated: every visible difference is a value that is generated on each rendering.
	// unjudged is the change before the risk rules added their findings.
	regenerated bool
	unjudged    diff.Change
	// idle: the change is no reason for an apply, and happens only if there is another one.
	idle    bool
	drift   *diff.Change
	drifted []difference
	// gone: the object was to be deleted and no longer exists.
	gone bool
	// counted are the numbers of fields that are folded and not listed, by rule.
	counted map[string]int
	// secrets are further texts that must not be shown anywhere.
	secrets []string
	notes   []string
}

// values holds an object on all sides; null where it does not exist.
type values struct {
	before, after, live, again raw.Value
	// beforeAgain is a second rendering of before.
	beforeAgain raw.Value
	// namesake is the live object with the name of a hook, if live is that of another object.
	namesake raw.Value
	// answer is the server's answer for after, answerAgain a second one, and
	// rendered the original after where the answer replaces it.
	answer, answerAgain, rendered raw.Value
	// written are the elements of lists of rendered, and last those of before.
	written, last selections
	// generated are the paths at which the two answers differ. scaler is the
	// manager that scales the object if the desired object also sets replicas.
	generated tree.PathSet
	scaler    string
	// partial: equal blocks are left out of before and after.
	partial bool
}

// comparer compares objects one by one, for one goroutine.
type comparer struct {
	*comparison
	names names
	// spare and judged are the memory of the differences of an object that was compared, for those of
	// the next.
	spare  []difference
	judged []risk.Difference
}

// compare returns the diff of one object, or two where its role for Helm changes.
func (c *comparer) compare(j *job) ([]outcome, error) {
	v, err := c.read(j, false)
	if err != nil {
		return nil, err
	}
	out := c.compareHalves(j, &v)
	if v.partial && slices.ContainsFunc(out, func(o outcome) bool { return slices.ContainsFunc(o.differences, elided) }) {
		if v, err = c.read(j, true); err != nil {
			return nil, err
		}
		out = c.compareHalves(j, &v)
	}
	return out, nil
}

func (c *comparer) compareHalves(j *job, v *values) []outcome {
	var out []outcome
	for _, h := range c.splitByRole(j, v) {
		out = append(out, c.compareHook(&h.job, &h.values))
	}
	if !c.options.Plain && unknownEvent(v.after) {
		out[0].notes = append(out[0].notes, unknownEventNote(address(j.id, c.masker.Name)))
	}
	return out
}

func elided(d difference) bool { return manifest.Elided(d.before) || manifest.Elided(d.after) }

// read parses all sides of an object. With whole it parses them completely; otherwise it may leave
// out equal blocks of kinds that no rule needs in full. The risk rules need all of a workload.
func (c *comparer) read(j *job, whole bool) (v values, err error) {
	read := func(o *manifest.Object, into *raw.Value) {
		if o == nil || err != nil {
			return
		}
		*into, err = o.Value()
	}
	switch {
	case j.before == nil || j.after == nil:
		read(j.before, &v.before)
		read(j.after, &v.after)
	case !whole && j.live == nil && j.namesake == nil && j.again == nil && j.answer == nil && mayElide(j.id):
		v.before, v.after, v.partial, err = manifest.Pair(j.before, j.after)
	default:
		v.before, v.after, err = manifest.Whole(j.before, j.after)
	}
	read(j.live, &v.live)
	read(j.namesake, &v.namesake)
	read(j.again, &v.again)
	read(j.beforeAgain, &v.beforeAgain)
	read(j.answer, &v.answer)
	read(j.answerAgain, &v.answerAgain)
	if secretKind(j.id) {
		for _, side := range []*raw.Value{&v.before, &v.after, &v.live, &v.again, &v.beforeAgain, &v.answer, &v.answerAgain,
			&v.namesake} {
			*side = stored(*side)
		}
	}
	return v, err
}

// mayElide reports whether an object can be compared without its equal blocks: ConfigMaps and
// definitions are large, and their unchanged parts do not affect the meaning of a change.
func mayElide(id manifest.ID) bool { return id.Kind == "ConfigMap" && id.Group == "" || definition(id) }

func (c *comparer) compareValues(j *job, v *values) outcome {
	typ := c.schemas.Find(j.id.Group, j.version(), j.id.Kind)
	out := outcome{id: j.id, from: j.from, change: diff.Change{
		Address: address(j.id, c.masker.Name), Namespace: c.masker.Name(j.id.Namespace),
		ResourceKind: c.masker.Name(j.id.ResourceKind()), Name: c.masker.Name(j.id.Name),
	}}
	c.settle(j, v, typ)
	found := c.decide(j, v, typ, &out)
	if a := out.change.Action; a == diff.Create || a == diff.Destroy || a == diff.Forget {
		found = c.proven(j, found)
	}
	if a := out.change.Action; j.reason != "" && (a == diff.Create || a == diff.Destroy || a == diff.Forget) {
		out.change.Why = j.reason
	}
	if out.section == nowhere {
		return out
	}
	c.place(&out, v)
	c.learnNames(j, typ, v, &out)
	c.regenerated(j, v, typ, found, out.change.Action)
	c.show(j, found, &out)
	c.reuse(found)
	if len(out.differences) == 0 && out.change.Action == diff.Update {
		if !c.adopts(j) {
			out.section = nowhere
			return out
		}
		out.change.Action, out.change.Imported = diff.Import, true
	}
	out.notes = append(out.notes, wrongTypes(out.change.Address, out.differences, c.masker.Step)...)
	c.judge(j, v, &out)
	if definition(j.id) && !c.used(v.object()) {
		foldRepeats(&out)
	}
	return out
}

// decide sets the action on the object and returns its differences.
func (c *comparer) decide(j *job, v *values, typ *schema.Type, out *outcome) []difference {
	switch {
	case j.after != nil && j.after.GenerateName || j.after == nil && j.before.GenerateName:
		return c.generated(j, v, typ, out)
	// What a hook creates is not part of the release: often it no longer
	// exists after the hook has run.
	case c.options.ThreeWay && c.hookOf(v.manifest()) == "":
		return c.decideThreeWay(j, v, typ, out)
	case j.after == nil:
		return c.goes(v, typ, out)
	case j.before == nil:
		return c.comes(v.after, typ, out, c.whyNew(j))
	case j.renamed():
		return c.renames(j, v, typ, out)
	}
	out.change.Action = diff.Update
	return c.walk(j, typ, v.before, v.after)
}

// object returns the desired object, or the previous one if there is none.
func (v *values) object() raw.Value {
	if !v.after.IsNull() {
		return v.after
	}
	return v.before
}

// generated handles an object whose name the cluster generates: the objects
// created from it earlier cannot be found.
func (c *comparer) generated(j *job, v *values, typ *schema.Type, out *outcome) []difference {
	switch {
	case j.after == nil:
		out.change.Action, out.change.Why = diff.Forget, "the manifest does not name the objects that were created from it"
		return []difference{{typ: typ, before: v.before, hasBefore: true}}
	case j.before != nil && len(c.walk(j, typ, v.before, v.after)) == 0:
		out.section = nowhere
		return nil
	}
	return c.comes(v.after, typ, out, "the cluster generates its name, so every apply creates one more")
}

// walk returns the differences of two whole objects.
func (c *comparer) walk(j *job, typ *schema.Type, before, after raw.Value) []difference {
	return c.walkWith(j, typ, before, after, !c.options.ThreeWay)
}

// walkStored returns the differences of two objects that the server returned: null is a value in them.
func (c *comparer) walkStored(j *job, typ *schema.Type, before, after raw.Value) []difference {
	return c.walkWith(j, typ, before, after, true)
}

func (c *comparer) walkWith(j *job, typ *schema.Type, before, after raw.Value, nulls bool) []difference {
	w := &walker{names: &c.names, lists: orders[j.id.Kind], nulls: nulls, out: c.spare}
	c.spare = nil
	n := both(typ, before, after)
	n.builtin = c.isBuiltin(j.id)
	n.was = c.earlier(j, typ)
	w.walk(n)
	return c.proven(j, w.out, before, after)
}

// reuse makes the memory of differences available for those of the next object.
func (c *comparer) reuse(found []difference) {
	if cap(found) > cap(c.spare) {
		clear(found)
		c.spare = found[:0]
	}
}

// proven sets, in each difference, what the fold rules need to know about the objects around it.
func (c *comparer) proven(j *job, found []difference, sides ...raw.Value) []difference {
	owned, read := c.statusOwned(j), slices.ContainsFunc(sides, exposes)
	for i := range found {
		d := &found[i]
		d.authored = !owned && (len(d.path) == 0 || d.path[0].Key == "status")
		d.read, d.used = read, c.readers
	}
	return found
}

// isBuiltin reports whether a kind is part of the Kubernetes API itself.
func (c *comparison) isBuiltin(id manifest.ID) bool {
	_, known := schema.Builtin().Namespaced(id.Group, id.Kind)
	return known
}

func (c *comparer) comes(after raw.Value, typ *schema.Type, out *outcome, why string) []difference {
	out.change.Action, out.change.Why = diff.Create, why
	return []difference{{typ: typ, after: after, hasAfter: true}}
}

// whyNew returns a reason if the name of the object differs on each rendering.
func (c *comparer) whyNew(j *job) string {
	if c.again != nil && j.again == nil {
		return "its name is generated again at each rendering"
	}
	return ""
}

func (c *comparer) goes(v *values, typ *schema.Type, out *outcome) []difference {
	out.change.Action = diff.Destroy
	if !c.options.Plain && (v.hasKeepPolicy() || hookOf(v.before) != "") {
		out.change.Action = diff.Forget
	}
	return []difference{{typ: typ, before: v.before, hasBefore: true}}
}

func (c *comparer) renames(j *job, v *values, typ *schema.Type, out *outcome) []difference {
	out.change.Action, out.change.Order, out.change.Renamed = diff.Replace, diff.CreateFirst, true
	out.change.From, out.change.Why = address(j.from, c.masker.Name), c.whyNew(j)
	found := c.walk(j, typ, v.before, v.after)
	return slices.DeleteFunc(found, func(d difference) bool {
		keys, plain := keysOf(d.path)
		return plain && len(keys) == 2 && keys[0] == "metadata" && (keys[1] == "name" || keys[1] == "namespace")
	})
}

func (c *comparer) decideThreeWay(j *job, v *values, typ *schema.Type, out *outcome) []difference {
	missing := j.before != nil && j.live == nil
	if missing && j.after == nil {
		out.section, out.gone = nowhere, true
		return nil
	}
	if j.before != nil && !j.renamed() && (j.after != nil || j.live != nil) {
		c.drift(j, v, typ, out)
	}
	switch {
	case j.after == nil:
		return c.goes(v, typ, out)
	case j.renamed():
		return c.renames(j, v, typ, out)
	case missing:
		return c.comes(v.after, typ, out, "it was deleted by others")
	case j.live == nil:
		return c.comes(v.after, typ, out, "")
	}
	out.change.Action = diff.Update
	if c.adopts(j) {
		out.change.Why = c.whyAdopted()
	}
	if !v.rendered.IsNull() {
		return c.answered(j, v, typ)
	}
	t := &threeWay{typ: typ, last: v.before, wanted: v.after, names: &c.names, counted: map[string]int{}}
	found := t.changes(sameVersion(c.walk(j, typ, v.live, v.after), v))
	out.counted = t.counted
	if c.asked() {
		out.counted = map[string]int{}
	}
	if why, ok := c.recreated(j); ok {
		out.change.Action, out.change.Order, out.change.Why = diff.Replace, diff.DestroyFirst, why
		return found
	}
	o := c.owners(v.live, v.after)
	real := 0
	for i := range found {
		d := &found[i]
		if d.fold == "" {
			real++
			d.owner = o.of(d.path)
		}
	}
	if real > 0 {
		return found
	}
	for _, d := range found {
		if !c.asked() {
			out.counted[d.fold]++
		}
	}
	return nil
}

// adopts reports whether the object already runs and becomes part of the release.
func (c *comparer) adopts(j *job) bool {
	return c.options.ThreeWay && j.before == nil && j.after != nil && j.live != nil
}

// sameVersion removes a difference in apiVersion that exists only because the cluster serves
// another version than the manifest uses. It stays if the manifest itself changes the version.
func sameVersion(found []difference, v *values) []difference {
	return slices.DeleteFunc(found, func(d difference) bool {
		return len(d.path) == 1 && d.path[0].Key == "apiVersion" &&
			(v.before.IsNull() || raw.TextAt(v.before, "apiVersion") == raw.TextAt(v.after, "apiVersion"))
	})
}

// drift lists what others changed in the object since it was applied.
func (c *comparer) drift(j *job, v *values, typ *schema.Type, out *outcome) {
	change := out.change
	if j.live == nil {
		change.Action = diff.Destroy
		out.drift = &change
		return
	}
	shower := &shower{names: &c.names, secret: secretKind(j.id), knows: c.masker.ContainsSecret}
	o := c.owners(v.live, v.before)
	for _, d := range drifted(c.walk(j, typ, v.before, v.live)) {
		if len(d.path) == 1 && d.path[0].Key == "apiVersion" {
			continue
		}
		if c.options.Manager != "" && o.byOurs(d.path) {
			continue // an earlier attempt of the applier, which was interrupted, wrote it
		}
		d.owner = o.of(d.path)
		shower.show(d)
	}
	if len(shower.out) == 0 {
		return
	}
	change.Action = diff.Update
	out.drift, out.drifted = &change, shower.out
	change.Fields = c.fields(shower.out)
}

// place sets the section of the report for the change.
func (c *comparer) place(out *outcome, v *values) {
	events := c.hookOf(v.manifest())
	out.change.Hook = events
	switch {
	case events == "" && out.change.Action == diff.Forget:
		out.section = inKept
	case events == "":
	case isTest(events):
		out.section = inTests
	default:
		out.section = inHooks
	}
}

// regenerated marks values that are generated on each rendering of the
// desired side. In an update it marks only those that cannot hide another
// change, because an object without other changes may be folded.
func (c *comparer) regenerated(j *job, v *values, typ *schema.Type, found []difference, action diff.Action) {
	if j.again == nil || j.after == nil {
		return
	}
	rendered := v.after
	if !v.rendered.IsNull() {
		rendered = v.rendered
	}
	r := renderings{typ: typ, again: v.again, beforeAgain: v.beforeAgain, hasBefore: c.beforeAgain != nil}
	for _, d := range c.walk(j, typ, v.again, rendered) {
		r.after.Add(d.path)
	}
	if j.beforeAgain != nil && j.before != nil {
		for _, d := range c.walk(j, typ, v.beforeAgain, v.before) {
			r.before.Add(d.path)
		}
	}
	for i := range found {
		switch d := &found[i]; {
		case len(d.path) == 0:
		case action == diff.Update:
			d.regenerated = r.regenerated(d)
		default:
			d.regenerated = d.hasAfter && r.after.Overlaps(d.path)
		}
	}
}

// show converts the differences to fields.
func (c *comparer) show(j *job, found []difference, out *outcome) {
	s := &shower{names: &c.names, secret: secretKind(j.id), knows: c.masker.ContainsSecret}
	if a := out.change.Action; a == diff.Create || a == diff.Destroy || a == diff.Forget {
		s.only = foldServer
	}
	s.out = make([]difference, 0, len(found))
	builtin := c.isBuiltin(j.id)
	for _, d := range found {
		d.builtin = d.builtin || builtin && len(d.path) == 0
		s.show(d)
	}
	out.differences = s.out
	out.change.Fields = c.fields(s.out)
}

// fields returns the fields of a change, without their values.
func (c *comparison) fields(found []difference) []diff.FieldChange {
	out := make([]diff.FieldChange, len(found))
	for i, d := range found {
		out[i] = diff.FieldChange{
			Path: pathText(d.path, c.masker.Step), Fold: d.fold, Owner: c.masker.Text(d.owner), Regenerated: d.regenerated,
			Reordered: d.order != nil,
		}
	}
	return out
}

// learnNames collects the secrets outside of Secret objects, which are recognized by their names.
func (c *comparer) learnNames(j *job, typ *schema.Type, v *values, out *outcome) {
	// A definition names fields that hold secrets, and holds none.
	if secretKind(j.id) || definition(j.id) {
		return
	}
	builtin := c.isBuiltin(j.id)
	for _, side := range []raw.Value{v.before, v.after, v.live} {
		c.names.sensitive(typ, builtin, false, none, side, func(part string, _ bool) bool {
			out.secrets = append(out.secrets, part)
			return true
		})
	}
}

// judge applies the risk rules. What Helm recreates on each run cannot be
// rejected as a change: of a hook, only what it can access counts.
func (c *comparer) judge(j *job, v *values, out *outcome) {
	change := &out.change
	change.Risk = change.Action.Risk()
	c.mark(j, v, change)
	out.regenerated = onlyRegenerated(change)
	out.unjudged = *change
	out.unjudged.Findings = slices.Clone(change.Findings)
	for i, d := range out.differences {
		if d.fold == foldRestart {
			change.Fields[i].Fold = foldChecksum
		}
	}
	before := v.before
	if !v.live.IsNull() {
		before = v.live
	}
	risk.Judge(change, risk.Subject{
		Engine: diff.KindKubernetes, Group: j.id.Group, Kind: j.id.Kind, Before: before, After: v.after,
		Differences: c.touched(out.differences), Regenerated: out.regenerated,
	})
	markRuns(out.differences, v.object())
	for i, d := range out.differences {
		change.Fields[i].Fold = d.fold
	}
	for i, d := range out.differences {
		if f, ok := diff.LookAlikeFinding(change.Fields[i].Path, d.before, d.after); ok && d.fold != foldDescription {
			change.AddFindings(f)
		}
	}
	if j.renamed() {
		c.judgeSides(j, v, change)
	}
	// The fold covers only pod restarts caused by regenerated values; any
	// other finding must be shown.
	out.regenerated = out.regenerated && !slices.ContainsFunc(change.Findings, func(f diff.Finding) bool {
		return f.Security || f.Risk > diff.RiskRestart || f.IndividualApproval
	})
	if out.section == inHooks || out.section == inTests {
		c.hookRisk(out)
	}
}

// judgeSides applies the rules to the two objects of a rename separately: nobody has reviewed
// the permissions of the new one under its name, and references to the old one break.
func (c *comparer) judgeSides(j *job, v *values, change *diff.Change) {
	for _, side := range []struct {
		action diff.Action
		values values
	}{{diff.Create, values{after: v.after}}, {diff.Destroy, values{before: v.before}}} {
		c.judgeSide(j, &side.values, diff.Change{Action: side.action, Renamed: true}, change)
	}
}

// judgeSide applies the rules to the creation or the removal of an object, and adds the findings to a change.
func (c *comparer) judgeSide(j *job, v *values, side diff.Change, change *diff.Change) {
	part := outcome{change: side}
	typ := c.schemas.Find(j.id.Group, j.version(), j.id.Kind)
	c.show(j, []difference{{
		typ: typ, before: v.before, after: v.after, hasBefore: side.Action == diff.Destroy,
		hasAfter: side.Action == diff.Create,
	}}, &part)
	risk.Judge(&part.change, risk.Subject{
		Engine: diff.KindKubernetes, Group: j.id.Group, Kind: j.id.Kind, Before: v.before, After: v.after,
		Differences: c.touched(part.differences),
	})
	for _, f := range part.change.Findings {
		if !slices.ContainsFunc(change.Findings, func(g diff.Finding) bool { return g.Rule == f.Rule }) {
			change.AddFindings(f)
		}
	}
}

// touched converts differences to the form that the risk rules use. The result is valid until the
// next call.
func (c *comparer) touched(found []difference) []risk.Difference {
	out := slices.Grow(c.judged[:0], len(found))
	for i := range found {
		d := &found[i]
		out = append(out, risk.Difference{
			Path: d.path, Before: d.before, After: d.after, HasBefore: d.hasBefore, HasAfter: d.hasAfter, Folded: d.fold != "",
		})
	}
	c.judged = out
	return out
}

// onlyRegenerated reports whether every visible difference of an update is a regenerated value.
func onlyRegenerated(c *diff.Change) bool {
	some := false
	for i := range c.Fields {
		f := &c.Fields[i]
		if f.Fold == "" && !f.Regenerated {
			return false
		}
		some = some || f.Fold == ""
	}
	return some && c.Action == diff.Update
}
