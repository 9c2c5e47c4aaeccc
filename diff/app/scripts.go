package app

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// The limits for scripts, far above what the config format allows: no part of a script is omitted.
const (
	scriptBytes = 8 << 20
	scriptLines = 1 << 18
)

// Scripts compares what actions run with what the actions of the same names ran before. It masks and
// omits nothing, so that the person who approves a script sees all of it. Configs must not contain
// secrets, and text that looks like a secret must not hide a command.
func Scripts(before, after []appconfig.Action) (*diff.Report, error) {
	was, err := partsOf(&appconfig.App{Actions: before})
	if err != nil {
		return nil, err
	}
	is, err := partsOf(&appconfig.App{Actions: after})
	if err != nil {
		return nil, err
	}
	r := &diff.Report{Kind: diff.KindApp, Applyable: true}
	masker := diff.NewMasker(diff.MaskOptions{Limit: scriptBytes, Lines: scriptLines})
	for _, p := range pairs(was, is) {
		if p.after == nil || p.after.kind != kindAction || p.before != nil && p.before.value.Equal(p.after.value) {
			continue
		}
		n := node{after: p.after.value, hasAfter: true}
		if p.before != nil {
			n.before, n.hasBefore = p.before.value, true
		}
		c := comparer{masker: masker, plain: true}
		c.walk(nil, n)
		action := actionOf(pair{before: p.before, after: p.after})
		r.Changes = append(r.Changes, diff.Change{
			Address: masker.Text(p.after.address), ResourceKind: "script", Name: masker.Text(p.after.name), Config: true,
			Action: action, Risk: action.Risk(), Fields: c.fields, Unchanged: unchanged(p),
		})
	}
	r.AddCutFindings()
	r.Sort()
	r.Totals = r.Count()
	return r, nil
}
