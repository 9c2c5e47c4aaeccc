package kubernetes

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
	"github.com/nuon-toolkit/nuon/pkg/deepstack"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
)

// comparison is one comparison of all objects.
type comparison struct {
	options                    Options
	before, after, live, again *manifest.Set
	answers, answersAgain      *manifest.Set
	beforeAgain                *manifest.Set
	schemas                    *schema.Set
	masker                     *diff.Masker
	// matcher identifies the names of one object, and marks are the caller's findings by its keys.
	matcher *matcher
	marks   map[manifest.ID]*mark
	// leftovers are those of the options, by the keys of the objects.
	leftovers map[manifest.ID]bool
	// readers are the labels that rules fold and that something on any side reads.
	readers *labelReaders
	// redefined are the groups of custom resources whose definitions change,
	// and was has their previous types.
	redefined map[string]bool
	was       *schema.Set
	// names are the names of all objects, one per line: a part of a name is
	// no secret, or no longer one.
	names string
}

// read finds the objects of all sides.
func read(before, after []manifest.Source, o Options) (*comparison, error) {
	c := &comparison{options: o, matcher: &matcher{namespace: o.Namespace, known: schema.Builtin()}}
	sides := []struct {
		wanted  bool
		sources []manifest.Source
		into    **manifest.Set
	}{
		{true, before, &c.before}, {true, after, &c.after}, {o.ThreeWay, o.Live, &c.live},
		{len(o.Again) > 0, o.Again, &c.again},
		{o.ThreeWay && len(o.Answers) > 0, o.Answers, &c.answers}, {o.ThreeWay && len(o.AnswersAgain) > 0, o.AnswersAgain,
			&c.answersAgain},
		{len(o.BeforeAgain) > 0, o.BeforeAgain, &c.beforeAgain},
	}
	err := each(len(sides), func() struct{} { return struct{}{} }, func(_ struct{}, i int) (err error) {
		if s := sides[i]; s.wanted {
			*s.into, err = manifest.Read(s.sources, manifest.Options{MaxBytes: o.MaxBytes, Repeated: true})
		}
		return err
	})
	c.masker = diff.NewMasker(diff.MaskOptions{
		Secrets: o.Secrets, TagKey: o.TagKey, Limit: o.Limit, Lines: o.Lines, Context: o.Context,
	})
	return c, err
}

func (c *comparison) report() (*diff.Report, error) {
	r := &diff.Report{Kind: diff.KindKubernetes}
	all, onlyLive, twice, err := c.matcher.match(c)
	if err != nil {
		return nil, err
	}
	c.readMarks()
	jobs := make([]job, 0, len(all))
	for i := range all {
		if !all[i].unchanged(c.options.ThreeWay) {
			jobs = append(jobs, all[i])
		}
	}
	unchanged := len(all) - len(jobs)
	notes := slices.Concat(c.ownNotes(), c.readNotes(), twice)
	r.AddFold(foldOthers, diff.FoldObjects, onlyLive)
	if len(jobs) > 0 {
		jobs, err := c.pairRenamed(jobs)
		if err != nil {
			return nil, err
		}
		if err := c.learn(); err != nil {
			return nil, err
		}
		var more []string
		if c.schemas, more, err = c.readSchemas(jobs, c.before, c.live, c.after); err != nil {
			return nil, err
		}
		for _, n := range more {
			notes = append(notes, c.masker.Text(n))
		}
		if err := c.readDefinitions(jobs); err != nil {
			return nil, err
		}
		c.readers = c.labelReaders()
		outcomes, err := c.compareAll(jobs)
		if err := errors.Join(err, c.readers.err()); err != nil {
			return nil, err
		}
		if more, err = c.judgeReferences(outcomes); err != nil {
			return nil, err
		}
		notes = append(notes, more...)
		more, same := c.present(r, outcomes)
		notes, unchanged = append(append(notes, more...), parserNotes(jobs)...), unchanged+same
	}
	notes = append(notes, c.unplaced()...)
	r.AddFold(diff.FoldUnchanged, diff.FoldObjects, unchanged)
	r.Notes = bounded(notes)
	r.AddCutFindings()
	r.Sort()
	r.Totals = r.Count()
	return r, nil
}

// readNotes returns the notes of the reader about all sides, each once.
func (c *comparison) readNotes() []string {
	var out []string
	for _, side := range []*manifest.Set{c.after, c.before, c.live} {
		if side != nil {
			out = append(out, side.Notes...)
		}
	}
	return out
}

// parserNotes returns the notes from parsing the objects that change.
func parserNotes(jobs []job) []string {
	var out []string
	for i := range jobs {
		for _, o := range []*manifest.Object{jobs[i].after, jobs[i].before} {
			if o != nil && o.Note() != "" {
				out = append(out, o.Note())
			}
		}
	}
	return out
}

// Limits of the notes of a report; diff.Report.Validate has limits of its
// own, which these do not exceed.
const (
	maxNotes     = 50
	maxNoteBytes = 900
)

// bounded removes duplicate notes and limits their number; a last note counts those left out.
func bounded(notes []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, n := range notes {
		n = truncate.Text(n, maxNoteBytes)
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	if more := len(out) - maxNotes; more > 0 {
		out = append(out[:maxNotes], fmt.Sprintf("%s of this kind, not shown.", diff.Plural(more, "more note", "more notes")))
	}
	return out
}

// maxErrors is the largest number of errors that are reported together.
const maxErrors = 20

// each runs work for 0 … n-1 on all processors. Start creates the state of
// one goroutine. The errors are joined in order.
func each[W any](n int, start func() W, work func(w W, i int) error) error {
	failed := make([]error, n)
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			deepstack.Reserve()
			w := start()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				failed[i] = work(w, i)
			}
		})
	}
	wait.Wait()
	return firstErrors(failed)
}

// firstErrors joins the first errors of a list.
func firstErrors(failed []error) error {
	var all []error
	for _, err := range failed {
		if err != nil && len(all) < maxErrors {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// compareAll compares every object. The values of one are dropped before the next is read. The
// largest come first, so that no processor is left with one at the end.
func (c *comparison) compareAll(jobs []job) ([]outcome, error) {
	out := make([][]outcome, len(jobs))
	failed := make([]error, len(jobs))
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return jobs[b].size() - jobs[a].size() })
	_ = each(len(jobs), func() *comparer { return &comparer{comparison: c} }, func(w *comparer, i int) error {
		i = order[i]
		out[i], failed[i] = w.compare(&jobs[i])
		return nil
	})
	return slices.Concat(out...), firstErrors(failed)
}

// pairRenamed pairs objects in one namespace that have different names and are the same otherwise.
func (c *comparison) pairRenamed(jobs []job) ([]job, error) {
	type place struct{ kind, namespace string }
	gone, created := map[place][]int{}, map[place][]int{}
	for i := range jobs {
		j := &jobs[i]
		// In another namespace, the same content has other permissions, other
		// neighbors and other policies.
		key := c.matcher.key(j.id)
		kind := place{key.ResourceKind(), key.Namespace}
		switch {
		case !mayRename(j.id) || j.twin:
		case j.after == nil && !j.before.GenerateName && (!c.options.ThreeWay || j.live != nil):
			gone[kind] = append(gone[kind], i)
		case j.after != nil && j.before == nil && j.live == nil && !j.after.GenerateName:
			created[kind] = append(created[kind], i)
		}
	}
	taken := map[int]bool{}
	for kind, news := range created {
		olds := gone[kind]
		if len(olds) == 0 {
			continue
		}
		a, err := candidates(jobs, olds, c.options.Plain)
		if err != nil {
			return nil, err
		}
		b, err := candidates(jobs, news, c.options.Plain)
		if err != nil {
			return nil, err
		}
		for to, from := range renames(a, b) {
			jobs[to].before, jobs[to].from = jobs[from].before, jobs[from].id
			taken[from] = true
		}
	}
	kept := jobs[:0]
	for i := range jobs {
		if !taken[i] {
			kept = append(kept, jobs[i])
		}
	}
	return kept, nil
}

func candidates(jobs []job, places []int, plain bool) ([]candidate, error) {
	out := make([]candidate, len(places))
	err := each(len(places), func() struct{} { return struct{}{} }, func(_ struct{}, i int) (err error) {
		o := jobs[places[i]].after
		if o == nil {
			o = jobs[places[i]].before
		}
		out[i], err = candidateOf(places[i], o)
		if plain {
			out[i].role, out[i].kept = released, false
		}
		if err != nil || jobs[places[i]].after != nil || jobs[places[i]].live == nil {
			return err
		}
		live, err := jobs[places[i]].live.Value()
		out[i].kept = hasKeepPolicy(live) && !plain
		return err
	})
	return out, err
}

// learn passes the content of the Secrets of all sides to the masker, also
// that of unchanged ones, before anything is shown.
func (c *comparison) learn() error {
	var objects []*manifest.Object
	var public strings.Builder
	for _, side := range []*manifest.Set{c.before, c.after, c.live, c.again, c.beforeAgain, c.answers} {
		if side == nil {
			continue
		}
		for _, o := range side.Objects {
			if public.Len() < maxPublic {
				public.WriteString(o.ID.Namespace + "\n" + o.ID.Name + "\n")
			}
			if secretKind(o.ID) {
				objects = append(objects, o)
			}
		}
	}
	c.names = public.String()
	found := make([][]string, len(objects))
	err := each(len(objects), func() struct{} { return struct{}{} }, func(_ struct{}, i int) error {
		v, err := objects[i].Value()
		if err != nil {
			return err
		}
		secretsOf(v, func(key, value string) {
			tellingParts(key, value, func(part string) { found[i] = append(found[i], part) })
		})
		return nil
	})
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, list := range found {
		c.learnTexts(list, seen)
	}
	return nil
}

// maxPublic bounds the names of objects that are stored, in bytes.
const maxPublic = 64 << 10

// maxLearned is how much of one secret is searched for, in bytes: its start
// identifies it, and its spellings take many times its size.
const maxLearned = 16 << 10

func (c *comparison) learnTexts(texts []string, seen map[string]bool) {
	for _, s := range texts {
		c.learnText(s, seen)
		if password, ok := secret.BasicPassword(s); ok {
			c.learnText(password, seen)
		}
	}
}

func (c *comparison) learnText(s string, seen map[string]bool) {
	if len(s) > maxLearned {
		s = s[:maxLearned]
	}
	if seen[s] || plainWord[strings.ToLower(s)] || strings.Contains(c.names, strings.TrimSpace(s)) {
		return
	}
	seen[s] = true
	c.masker.Learn(raw.Of(s))
}
