package review

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// reading is what is shown of a plan, or of plans that are alike.
type reading struct {
	view   *scroller // nil until it has been read
	report *diff.Report
	of     string // the id of the plan that was asked for
	shown  string // the content digest that view shows
	flaw   error  // the report does not hold
	failed error  // it could not be got

	loading bool      // the report is on the way
	seen    time.Time // when it was chosen
	arrived time.Time // when view came up
}

// drop forgets what was read.
func (r *reading) drop() { r.view, r.report, r.shown, r.flaw = nil, nil, "", nil }

// item is a plan in the queue. One that has ended stays for a while, so that nothing goes from under a person's eyes.
type item struct {
	reading
	approval api.Approval // as it was last heard of, without its report
	totals   diff.Totals
	counted  bool      // totals are known
	since    time.Time // when it came, with the content that it has

	queued  bool      // an answer is to be sent
	sending bool      // an answer is on the way
	ended   bool      // it no longer waits
	settled bool      // how it ended is known
	over    time.Time // when it was found to have ended
}

// grave says that a yes to it must be said twice. The report's own word counts, too.
func (i *item) grave() bool { return Grave(i.approval) || i.report != nil && i.report.Destructive() }

// answering says that it has an answer that the control plane has not taken yet.
func (i *item) answering() bool { return i.queued || i.sending }

// end notes that a plan no longer waits, and whether it is known how.
func (i *item) end(now time.Time, settled bool) {
	if !i.ended {
		i.over = now
	}
	i.ended, i.settled = true, settled
}

// group is plans of the queue that are alike, which are read as one. Once there are several it stays one until all of them are
// forgotten.
type group struct {
	reading
	key   string
	items []*item // in the order of the queue; those that have ended, too
	open  bool    // its plans are rows of their own below it
	most  int     // how many it has ever had, for its place in the queue
}

// waiting are the plans of the group that wait, in the order of the queue.
func (g *group) waiting() []*item {
	return slices.DeleteFunc(slices.Clone(g.items), func(i *item) bool { return i.ended })
}

// row is a line of the queue: one plan, or plans that are alike. With both it is one plan below its open group.
type row struct {
	group *group
	item  *item
}

// none says that there is nothing in the queue.
func (r row) none() bool { return r.group == nil && r.item == nil }

// several says that the row is about plans that are alike.
func (r row) several() bool { return r.item == nil && r.group != nil }

// reading is what is shown for the row.
func (r row) reading() *reading {
	if r.several() {
		return &r.group.reading
	}
	return &r.item.reading
}

// items are the plans that the row is about.
func (r row) items() []*item {
	switch {
	case r.none():
		return nil
	case r.several():
		return r.group.items
	}
	return []*item{r.item}
}

// covers are the plans that an answer would go to.
func (r row) covers() []*item {
	if r.several() {
		return r.group.waiting()
	}
	return r.items()
}

// lead is the plan that stands for the row: the first that waits, else the first.
func (r row) lead() *item {
	items := r.items()
	for _, i := range items {
		if !i.ended {
			return i
		}
	}
	return items[0]
}

// ended says that nothing of the row waits any more.
func (r row) ended() bool {
	return !slices.ContainsFunc(r.items(), func(i *item) bool { return !i.ended })
}

func (r row) answering() bool { return slices.ContainsFunc(r.items(), (*item).answering) }

// grave says that a yes to the row must be said twice.
func (r row) grave() bool {
	return slices.ContainsFunc(r.covers(), (*item).grave) || r.several() && r.group.report != nil && r.group.report.Destructive()
}

// read says that there is nothing to get for the row: its report is there, and, for one plan, how it ended.
func (r row) read() bool {
	return r.reading().view != nil && (r.item == nil || !r.item.ended || r.item.settled)
}

// id tells rows apart.
func (r row) id() string {
	switch {
	case r.none():
		return ""
	case r.several():
		return r.group.key
	}
	return r.item.approval.ID
}

// scope is the part of what waits that the row is of.
func (r row) scope() scope {
	if r.several() {
		return scope{group: r.lead().approval.Group}
	}
	return scope{install: r.item.approval.InstallID}
}

// alike are the plans that the row tells of: those that wait, or all when none does.
func (r row) alike() []*item {
	if r.ended() {
		return r.items()
	}
	return r.covers()
}

// name is what the row is called: "web on hello/acme", "web on 40 installs of hello".
func (r row) name() string {
	a := r.lead().approval
	if !r.several() {
		return name(a)
	}
	return console.Line(fmt.Sprintf("%s on %s of %s", Subject(a), r.places(), a.App))
}

// places counts the installs of a group: "40 installs".
func (r row) places() string { return diff.Plural(len(r.alike()), "install", "installs") }

// since is when the last of the row's waiting plans came.
func (r row) since() time.Time {
	var last time.Time
	for _, i := range r.covers() {
		if i.since.After(last) {
			last = i.since
		}
	}
	return last
}

// approvals are those of plans.
func approvals(items []*item) []api.Approval {
	out := make([]api.Approval, 0, len(items))
	for _, i := range items {
		out = append(out, i.approval)
	}
	return out
}

// queue is the plans in the order in which they came, and the rows in which they are shown.
type queue struct {
	items    []*item
	groups   map[string]*group
	rows     []row
	selected int // the row
	top      int // the first row that is seen
}

// How much is kept of what is over: plans in the queue, how many and for how long; and reports that are laid out.
const (
	mostEnded = 20
	keepEnded = time.Minute
	mostPages = 8
)

func (q *queue) current() row {
	if q.selected < len(q.rows) {
		return q.rows[q.selected]
	}
	return row{}
}

func (q *queue) find(id string) *item {
	for _, i := range q.items {
		if i.approval.ID == id {
			return i
		}
	}
	return nil
}

// waiting counts the plans that wait, and those of them that are grave.
func (q *queue) waiting() (all, grave int) {
	for _, i := range q.items {
		if !i.ended {
			all++
			if i.grave() {
				grave++
			}
		}
	}
	return all, grave
}

// next is the number of the next row that waits, round the end; -1 when there is none.
func (q *queue) next() int {
	for n := range q.rows {
		if i := (q.selected + 1 + n) % len(q.rows); !q.rows[i].ended() {
			return i
		}
	}
	return -1
}

// merge takes in what was heard, and gives the plans that no longer wait and those that have another content now.
func (q *queue) merge(now time.Time, l listed) (gone, changed []*item) {
	known := make(map[string]*item, len(q.items))
	for _, i := range q.items {
		known[i.approval.ID] = i
	}
	there := make(map[string]bool, len(l.waiting))
	for _, a := range l.waiting {
		there[a.ID] = true
		i := known[a.ID]
		switch {
		case i == nil:
			i = &item{since: now}
			q.items = append(q.items, i)
		case i.settled: // it was answered after this list was made
			continue
		case i.approval.ContentDigest != a.ContentDigest:
			changed = append(changed, i)
			i.since = now
			i.drop()
		}
		i.approval, i.ended = a, false
		if t, ok := l.totals[a.ID]; ok {
			i.totals, i.counted = t, true
		}
	}
	for _, i := range q.items {
		if !i.ended && !there[i.approval.ID] && l.where.has(i.approval) {
			i.end(now, false)
			gone = append(gone, i)
		}
	}
	q.tidy(now)
	q.arrange()
	return gone, changed
}

// tidy drops what ended a while ago, and the oldest of what is too much. The plans of a group go together, when all have ended.
func (q *queue) tidy(now time.Time) {
	current, tooMany := q.current(), -mostEnded
	together := q.together(now)
	for _, i := range q.items {
		if i.ended && !together[i] {
			tooMany++
		}
	}
	q.items = slices.DeleteFunc(q.items, func(i *item) bool {
		if !i.ended || together[i] || i == current.item || i.answering() || tooMany <= 0 && now.Sub(i.over) < keepEnded {
			return false
		}
		tooMany--
		return true
	})
}

// together are the plans of the groups that stay: those of which one waits, or is chosen, or has not ended for long.
func (q *queue) together(now time.Time) map[*item]bool {
	out := map[*item]bool{}
	current := q.current().group
	for _, g := range q.groups {
		if g != current && !slices.ContainsFunc(g.items, func(i *item) bool { return !i.ended || i.answering() || now.Sub(i.over) < keepEnded }) {
			continue
		}
		for _, i := range g.items {
			out[i] = true
		}
	}
	return out
}

// arrange makes the rows. What was chosen stays chosen: a plan that was a row of its own, and is alike to another now, opens the group
// that it comes to.
func (q *queue) arrange() {
	chosen := q.current()
	old := q.groups
	q.groups, q.rows = map[string]*group{}, q.rows[:0:0]
	for _, items := range gather(q.items, func(i *item) api.Approval { return i.approval }) {
		g := old[groupOf(items[0].approval)]
		if len(items) == 1 && (g == nil || items[0].approval.Group == "") {
			q.rows = append(q.rows, row{item: items[0]})
			continue
		}
		if g == nil {
			g = &group{key: groupOf(items[0].approval)}
		}
		g.items, g.most = items, max(g.most, len(items))
		g.open = g.open || chosen.item != nil && slices.Contains(items, chosen.item)
		q.groups[g.key] = g
		q.rows = append(q.rows, row{group: g})
		if g.open {
			for _, i := range items {
				q.rows = append(q.rows, row{group: g, item: i})
			}
		}
	}
	q.choose(chosen)
}

// choose selects a row again among new ones; its group's, if it is a plan whose group was closed.
func (q *queue) choose(r row) {
	at := slices.IndexFunc(q.rows, func(n row) bool { return n.item == r.item && (r.item != nil || n.group == r.group) })
	if at < 0 && r.group != nil {
		at = slices.IndexFunc(q.rows, func(n row) bool { return n.several() && n.group == r.group })
	}
	q.selected = max(at, 0)
}

// toggle opens the group of the chosen row, or closes it. It says whether there is one.
func (q *queue) toggle() bool {
	at := q.current()
	if at.group == nil {
		return false
	}
	if at.group.open = !at.group.open; !at.group.open {
		q.choose(row{group: at.group})
	}
	q.arrange()
	return true
}

// readings are all that may have something laid out.
func (q *queue) readings() []*reading {
	var out []*reading
	for _, g := range q.groups {
		out = append(out, &g.reading)
	}
	for _, i := range q.items {
		out = append(out, &i.reading)
	}
	return slices.DeleteFunc(out, func(r *reading) bool { return r.view == nil })
}

// forget drops what is laid out of the plans that were looked at longest ago.
func (q *queue) forget() {
	open := q.readings()
	if at := q.current(); !at.none() {
		open = slices.DeleteFunc(open, func(r *reading) bool { return r == at.reading() })
	}
	slices.SortFunc(open, func(a, b *reading) int { return cmp.Or(b.seen.Compare(a.seen), cmp.Compare(a.of, b.of)) })
	for _, r := range open[min(mostPages, len(open)):] {
		r.drop()
	}
}

// scroll keeps the chosen row in a window of so many.
func (q *queue) scroll(height int) {
	q.top = min(q.top, q.selected, max(len(q.rows)-height, 0))
	q.top = max(q.top, q.selected-height+1)
}
