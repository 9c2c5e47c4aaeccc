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

// reading is the report that is shown for a plan or a group.
type reading struct {
	view   *scroller // nil until the report is loaded
	report *diff.Report
	planID string // the id of the plan that was requested
	shown  string // the content digest of the report in view
	flaw   error  // why the report is invalid
	failed error  // why it could not be fetched

	loading bool      // a request is in flight
	seen    time.Time // when it was last selected
	arrived time.Time // when view was first shown
}

// drop discards the loaded report.
func (r *reading) drop() { r.view, r.report, r.shown, r.flaw = nil, nil, "", nil }

// item is a plan in the queue. An ended plan stays for a while, so that it does not vanish
// while a person reads it.
type item struct {
	reading
	approval api.Approval // as last received, without its report
	totals   diff.Totals
	counted  bool      // totals are known
	since    time.Time // when this content first appeared

	queued  bool      // an answer waits to be sent
	sending bool      // an answer is in flight
	ended   bool      // it no longer waits
	settled bool      // how it ended is known
	over    time.Time // when it was first seen as ended

	mark        string    // the content digest with which the plan was marked; empty if it is not
	judging     bool      // its report is requested only to judge it
	judged      bool      // risk, destructive and flawed are known
	risk        diff.Risk // of the report
	destructive bool
	flawed      bool // the report cannot be shown correctly
}

// grave reports whether an approval needs a typed confirmation: by the approval's own
// flags or by its report.
func (i *item) grave() bool {
	return NeedsTypedConfirmation(i.approval) || i.report != nil && i.report.Destructive()
}

// answering reports whether an answer is queued or in flight.
func (i *item) answering() bool { return i.queued || i.sending }

// end marks a plan as no longer waiting. settled reports whether it is known how it ended.
func (i *item) end(now time.Time, settled bool) {
	if !i.ended {
		i.over = now
	}
	i.ended, i.settled = true, settled
}

// group is a set of alike plans that are shown as one. Once it has several plans it stays
// a group until all of them have left the queue.
type group struct {
	reading
	key   string
	items []*item // in the order of the queue, including ended ones
	open  bool    // its plans are shown as rows below it
}

// waiting returns the plans of the group that still wait, in the order of the queue.
func (g *group) waiting() []*item {
	return slices.DeleteFunc(slices.Clone(g.items), func(i *item) bool { return i.ended })
}

// row is a line of the queue: a plan (item), a group, or with both fields set
// a plan below its open group.
type row struct {
	group *group
	item  *item
}

// none reports whether the row is empty because the queue is.
func (r row) none() bool { return r.group == nil && r.item == nil }

// several reports whether the row is a group.
func (r row) several() bool { return r.item == nil && r.group != nil }

// reading returns the report that is shown for the row.
func (r row) reading() *reading {
	if r.several() {
		return &r.group.reading
	}
	return &r.item.reading
}

// items returns the plans of the row.
func (r row) items() []*item {
	switch {
	case r.none():
		return nil
	case r.several():
		return r.group.items
	}
	return []*item{r.item}
}

// covers returns the plans that an answer would be sent to.
func (r row) covers() []*item {
	if r.several() {
		return r.group.waiting()
	}
	return r.items()
}

// lead returns the plan that represents the row: the first waiting one, else the first.
func (r row) lead() *item {
	items := r.items()
	for _, i := range items {
		if !i.ended {
			return i
		}
	}
	return items[0]
}

// ended reports whether no plan of the row waits any more.
func (r row) ended() bool {
	return !slices.ContainsFunc(r.items(), func(i *item) bool { return !i.ended })
}

func (r row) answering() bool { return slices.ContainsFunc(r.items(), (*item).answering) }

// grave reports whether an approval of the row needs a typed confirmation.
func (r row) grave() bool {
	return slices.ContainsFunc(r.covers(), (*item).grave) ||
		r.several() && r.group.report != nil && r.group.report.Destructive()
}

// read reports whether nothing is left to fetch for the row: its report is loaded and, for
// a single ended plan, how it ended is known.
func (r row) read() bool {
	return r.reading().view != nil && (r.item == nil || !r.item.ended || r.item.settled)
}

// id identifies the row.
func (r row) id() string {
	switch {
	case r.none():
		return ""
	case r.several():
		return r.group.key
	}
	return r.item.approval.ID
}

// scope returns the scope that contains the row's plans.
func (r row) scope() scope {
	if r.several() {
		return scope{group: r.lead().approval.Group}
	}
	return scope{install: r.item.approval.InstallID}
}

// alike returns the plans that the row describes: the waiting ones, or all if none waits.
func (r row) alike() []*item {
	if r.ended() {
		return r.items()
	}
	return r.covers()
}

// name returns the display name of the row: "web on hello/acme", "web on 40 installs of hello".
func (r row) name() string {
	a := r.lead().approval
	if !r.several() {
		return name(a)
	}
	return console.Line(fmt.Sprintf("%s on %s of %s", Subject(a), r.places(), a.App))
}

// places counts the installs of a group: "40 installs".
func (r row) places() string { return diff.Plural(len(r.alike()), "install", "installs") }

// since returns when the newest of the row's waiting plans appeared.
func (r row) since() time.Time {
	var last time.Time
	for _, i := range r.covers() {
		if i.since.After(last) {
			last = i.since
		}
	}
	return last
}

// approvals returns the approvals of items.
func approvals(items []*item) []api.Approval {
	out := make([]api.Approval, 0, len(items))
	for _, i := range items {
		out = append(out, i.approval)
	}
	return out
}

// queue holds the plans in order of arrival, and the rows that show them.
type queue struct {
	items    []*item
	groups   map[string]*group
	rows     []row
	selected int // index of the selected row
	top      int // index of the first visible row
	filter   filter
}

// Limits on ended plans in the queue (their number and age) and on the number of loaded reports.
const (
	maxEnded  = 20
	keepEnded = time.Minute
	maxPages  = 8
)

func (q *queue) current() row {
	if q.selected >= 0 && q.selected < len(q.rows) {
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

// waiting counts the waiting plans, and how many of them are grave.
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

// next returns the index of the next waiting row after the selected one, wrapping around;
// -1 if there is none.
func (q *queue) next() int {
	for n := range q.rows {
		if i := (q.selected + 1 + n) % len(q.rows); !q.rows[i].ended() {
			return i
		}
	}
	return -1
}

// merge applies the result of a poll. It returns the plans that no longer wait
// and those whose content changed.
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
			i.judged = false
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

// tidy removes plans that ended a while ago, and the oldest ended ones above
// the limit. The plans of a group are removed together, when all have ended.
func (q *queue) tidy(now time.Time) {
	current, tooMany := q.current(), -maxEnded
	together := q.together(now)
	for _, i := range q.items {
		if i.ended && !together[i] {
			tooMany++
		}
	}
	q.items = slices.DeleteFunc(q.items, func(i *item) bool {
		if !i.ended || together[i] || i == current.item ||
			i.answering() || tooMany <= 0 && now.Sub(i.over) < keepEnded {
			return false
		}
		tooMany--
		return true
	})
}

// together returns the plans of the groups that stay: groups with a plan that
// waits, is being answered or ended recently, and the selected group.
func (q *queue) together(now time.Time) map[*item]bool {
	out := map[*item]bool{}
	current := q.current().group
	for _, g := range q.groups {
		if g != current && !slices.ContainsFunc(g.items, func(i *item) bool {
			return !i.ended || i.answering() || now.Sub(i.over) < keepEnded
		}) {
			continue
		}
		for _, i := range g.items {
			out[i] = true
		}
	}
	return out
}

// arrange rebuilds the rows and keeps the selection. If the selected plan becomes part of
// a group, that group is opened.
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
		g.items = items
		g.open = g.open || chosen.item != nil && slices.Contains(items, chosen.item)
		q.groups[g.key] = g
		q.rows = append(q.rows, row{group: g})
		if g.open {
			for _, i := range items {
				q.rows = append(q.rows, row{group: g, item: i})
			}
		}
	}
	q.rows = q.filter.rows(q.rows, chosen)
	q.choose(chosen)
}

// choose selects row r among the rebuilt rows, or r's group if r is a plan whose group was closed.
func (q *queue) choose(r row) {
	at := slices.IndexFunc(q.rows, func(n row) bool {
		return n.item == r.item && (r.item != nil || n.group == r.group)
	})
	if at < 0 && r.group != nil {
		at = slices.IndexFunc(q.rows, func(n row) bool { return n.several() && n.group == r.group })
	}
	q.selected = max(at, 0)
}

// toggle opens or closes the group of the selected row. It reports whether the row has a group.
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

// readings returns all loaded reports.
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

// forget discards the least recently viewed reports above maxPages.
func (q *queue) forget() {
	open := q.readings()
	if at := q.current(); !at.none() {
		open = slices.DeleteFunc(open, func(r *reading) bool { return r == at.reading() })
	}
	slices.SortFunc(open, func(a, b *reading) int {
		return cmp.Or(b.seen.Compare(a.seen), cmp.Compare(a.planID, b.planID))
	})
	for _, r := range open[min(maxPages, len(open)):] {
		r.drop()
	}
}

// scroll moves the window of the given height so that it contains the selected row.
func (q *queue) scroll(height int) {
	q.top = min(q.top, q.selected, max(len(q.rows)-height, 0))
	q.top = max(q.top, q.selected-height+1)
}
