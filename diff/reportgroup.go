package diff

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// Member is the report of one install, as an input of Group.
type Member struct {
	Install string
	// Names are the install's own names and ids, for example its name, its id and its namespace. An
	// entry corresponds to the entry at the same index of the other members. A name that also has a
	// general meaning ("admin", "10.0.0.0", "latest") is not replaced, see ownNames.
	Names []string
	// Report is the install's report; nil counts as an empty one.
	Report *Report
}

// ReportGroup is a set of reports that are the same apart from the installs' own names.
type ReportGroup struct {
	// Members are the names of the installs, sorted.
	Members []string
	// Digest is the GroupDigest of each report.
	Digest string
	// Report is the report of the first member with its own names replaced by
	// placeholders. It is for display only: no approval binds to it.
	Report *Report
}

// groupDomain separates group digests from those of single reports.
const groupDomain = "nuon diff group 2\n"

// Group groups the reports that are alike, the largest group first. The order
// of the members does not matter.
//
// Two reports are alike when replacing the install's own names in one with those of the other
// makes them equal byte for byte, with the same risks, findings and folds. A value that decides
// what runs or what is allowed (images, charts, verbs, …, see decisive) never counts as a name.
// Masked values count by their mark, as in Report.Digest. A value that is cut for display counts
// by its Sum, unreplaced: if it holds an install's name, its report is alike to no other.
func Group(members []Member) []ReportGroup {
	digests := groupDigests(members)
	byDigest := map[string][]int{}
	for i, d := range digests {
		byDigest[d] = append(byDigest[d], i)
	}
	out := make([]ReportGroup, 0, len(byDigest))
	for d, group := range byDigest {
		slices.SortFunc(group, func(i, j int) int { return compareMembers(members[i], members[j]) })
		a := ReportGroup{Digest: d, Members: make([]string, len(group))}
		for k, i := range group {
			a.Members[k] = members[i].Install
		}
		first := members[group[0]]
		a.Report = orEmpty(first.Report).renamed(newOwnNames(first.Names))
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b ReportGroup) int {
		return cmp.Or(cmp.Compare(len(b.Members), len(a.Members)), slices.Compare(a.Members, b.Members),
			strings.Compare(a.Digest, b.Digest))
	})
	return out
}

// groupDigests computes the digests on all processors: a fleet may have a thousand reports.
func groupDigests(members []Member) []string {
	digests := make([]string, len(members))
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(len(members), runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(members)); i = next.Add(1) - 1 {
				digests[i] = orEmpty(members[i].Report).GroupDigest(members[i].Names...)
			}
		})
	}
	wait.Wait()
	return digests
}

func compareMembers(a, b Member) int {
	return cmp.Or(strings.Compare(a.Install, b.Install), slices.Compare(a.Names, b.Names))
}

func orEmpty(r *Report) *Report {
	if r == nil {
		return &Report{}
	}
	return r
}

// GroupDigest is equal for reports that are alike, see Group: "sha256:" and
// 64 hex digits. It is never equal to a Digest.
//
// The replacement is reversible: what is hashed and the names determine the report,
// except for the order of items that are sorted by texts that hold the names. So
// two reports with the same group digest differ only in their installs' names.
func (r *Report) GroupDigest(names ...string) string {
	plain := r.renamed(newOwnNames(names))
	plain.reorder()
	h := sha256.New()
	h.Write([]byte(groupDomain))
	enc := json.NewEncoder(h)
	enc.SetEscapeHTML(false)
	// As in Digest: a risk out of range must not look like a valid report.
	if err := enc.Encode(plain); err != nil {
		h.Write([]byte("\x00invalid: " + err.Error()))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// renamed returns a copy without tags in which placeholders replace own names. The copy is sorted
// again, because an install's name must not decide the order.
func (r *Report) renamed(names *ownNames) *Report {
	out := *r
	for _, l := range out.lists() {
		changes := make([]Change, len(*l.changes))
		for i := range changes {
			changes[i] = names.change((*l.changes)[i])
		}
		*l.changes = changes
	}
	out.Checks = slices.Clone(r.Checks)
	for i := range out.Checks {
		c := &out.Checks[i]
		c.Address, c.Problems = names.text(c.Address), names.texts(c.Problems)
	}
	out.Policies = slices.Clone(r.Policies)
	for i := range out.Policies {
		messages := slices.Clone(out.Policies[i].Messages)
		for j := range messages {
			messages[j].Object, messages[j].Text = names.text(messages[j].Object), names.text(messages[j].Text)
		}
		slices.SortFunc(messages, comparePolicyMessages)
		out.Policies[i].Messages = messages
	}
	out.Notes = names.texts(r.Notes)
	out.Sort()
	return &out
}

// reorder sorts, for the digest, what Sort leaves as it is: fields and
// findings are sorted by paths, which can hold names.
func (r *Report) reorder() {
	for _, l := range r.lists() {
		for i := range *l.changes {
			c := &(*l.changes)[i]
			slices.SortStableFunc(c.Fields, func(a, b FieldChange) int {
				return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Path, b.Path))
			})
			sort.Stable(byRisk(c.Findings))
		}
	}
}

// change returns a copy of a change with placeholders.
func (o *ownNames) change(c Change) Change {
	c.Address, c.From = o.text(c.Address), o.text(c.From)
	c.Module, c.Namespace, c.Name = o.text(c.Module), o.text(c.Namespace), o.text(c.Name)
	c.ImportID, c.Why = o.text(c.ImportID), o.text(c.Why)
	c.Findings = slices.Clone(c.Findings)
	for i := range c.Findings {
		f := &c.Findings[i]
		f.Message, f.Path = o.text(f.Message), o.text(f.Path)
	}
	c.Fields = slices.Clone(c.Fields)
	for i := range c.Fields {
		o.field(&c.Fields[i])
	}
	return c
}

func (o *ownNames) field(f *FieldChange) {
	f.Path, f.Pointer, f.Owner = o.text(f.Path), o.text(f.Pointer), o.text(f.Owner)
	f.BeforePointer, f.Outline = o.text(f.BeforePointer), o.text(f.Outline)
	if e := f.Element; e != nil {
		f.Element = &Element{Change: e.Change, Path: o.text(e.Path), Pointer: o.text(e.Pointer)}
	}
	f.Moved = slices.Clone(f.Moved)
	for i := range f.Moved {
		f.Moved[i].Name = o.text(f.Moved[i].Name)
	}
	f.Before.Tag, f.After.Tag = "", ""
	if f.Before.Sum != "" || f.After.Sum != "" || hasDecisiveValue(f) {
		// Of a value that is cut, only the sum is complete; the lines belong to it.
		return
	}
	o.shown(&f.Before)
	o.shown(&f.After)
	if len(f.Lines) == 0 {
		return
	}
	f.Lines = slices.Clone(f.Lines)
	for i := range f.Lines {
		f.Lines[i].Text = o.text(f.Lines[i].Text)
	}
}

// shown replaces names in the types that can hold one: a number cannot, even if it looks like one.
func (o *ownNames) shown(s *ShownValue) {
	switch s.Type {
	case TypeNumber, TypeBool, TypeNull:
	default:
		s.Text = o.text(s.Text)
	}
}

func (o *ownNames) texts(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = o.text(s)
	}
	return out
}
