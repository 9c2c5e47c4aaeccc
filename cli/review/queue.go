package review

import (
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// item is a plan in the queue. One that has ended stays for a while, so that nothing goes from under a person's eyes.
type item struct {
	approval api.Approval // as it was last heard of, without its report
	totals   diff.Totals
	counted  bool // totals are known

	view   *scroller // what is shown of it; nil until it has been read
	report *diff.Report
	shown  string // the content digest that view shows
	flaw   error  // the report does not hold
	failed error  // it could not be got

	loading bool      // its report is on the way
	sending bool      // an answer is on the way
	ended   bool      // it no longer waits
	settled bool      // how it ended is known
	over    time.Time // when it was found to have ended
	seen    time.Time // when it was chosen
	arrived time.Time // when view came up
}

// grave says that a yes to it must be said twice. The report's own word counts, too.
func (i *item) grave() bool { return Grave(i.approval) || i.report != nil && i.report.Destructive() }

// queue is the plans in the order in which they came.
type queue struct {
	items    []*item
	selected int
	top      int // the first that is seen
}

// end notes that a plan no longer waits, and whether it is known how.
func (i *item) end(now time.Time, settled bool) {
	if !i.ended {
		i.over = now
	}
	i.ended, i.settled = true, settled
}

// How much is kept of what is over: plans in the queue, how many and for how long; and reports that are laid out.
const (
	mostEnded = 20
	keepEnded = time.Minute
	mostPages = 8
)

func (q *queue) current() *item {
	if q.selected < len(q.items) {
		return q.items[q.selected]
	}
	return nil
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

// next is the number of the next plan that waits, round the end; -1 when there is none.
func (q *queue) next() int {
	for n := range q.items {
		if i := (q.selected + 1 + n) % len(q.items); !q.items[i].ended {
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
			i = &item{approval: a}
			q.items = append(q.items, i)
		case i.settled: // it was answered after this list was made
			continue
		case i.shown != "" && i.shown != a.ContentDigest:
			changed = append(changed, i)
			i.view, i.report, i.shown, i.flaw = nil, nil, "", nil
		}
		i.approval, i.ended = a, false
		if t, ok := l.totals[a.ID]; ok {
			i.totals, i.counted = t, true
		}
	}
	for _, i := range q.items {
		if !i.ended && !there[i.approval.ID] && (l.install == "" || i.approval.InstallID == l.install) {
			i.end(now, false)
			gone = append(gone, i)
		}
	}
	q.tidy(now)
	return gone, changed
}

// tidy drops what ended a while ago, and the oldest of what is too much.
func (q *queue) tidy(now time.Time) {
	current, tooMany := q.current(), -mostEnded
	for _, i := range q.items {
		if i.ended {
			tooMany++
		}
	}
	q.items = slices.DeleteFunc(q.items, func(i *item) bool {
		if !i.ended || i == current || i.sending || tooMany <= 0 && now.Sub(i.over) < keepEnded {
			return false
		}
		tooMany--
		return true
	})
	q.selected = max(slices.Index(q.items, current), 0)
}

// forget drops what is laid out of the plans that were looked at longest ago.
func (q *queue) forget() {
	var open []*item
	for _, i := range q.items {
		if i.view != nil && i != q.current() {
			open = append(open, i)
		}
	}
	slices.SortFunc(open, func(a, b *item) int { return b.seen.Compare(a.seen) })
	for _, i := range open[min(mostPages, len(open)):] {
		i.view, i.report, i.shown = nil, nil, ""
	}
}

// scroll keeps the chosen plan in a window of so many rows.
func (q *queue) scroll(height int) {
	q.top = min(q.top, q.selected, max(len(q.items)-height, 0))
	q.top = max(q.top, q.selected-height+1)
}
