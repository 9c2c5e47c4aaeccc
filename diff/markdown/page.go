package markdown

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// openUntil is the size of details up to which they are shown unfolded, in bytes.
const openUntil = 6_000

// minBody is the minimum room for useful details, in bytes.
const minBody = 200

// page is a rendering in pieces, of which only some may fit.
type page struct {
	// top is the summary, which is always written.
	top    string
	titles []title
	pieces []piece
	// budget is the number of bytes left.
	budget int
	// details is the number of bytes of details in the output; noDetails and noHeads count the
	// pieces whose details or headlines do not fit.
	details, noDetails, noHeads int
}

// title precedes its pieces, if any of them is shown.
type title struct {
	text  string
	shown bool
}

// piece is a change, a check, a policy, or the group of all changes in folded fields only.
type piece struct {
	// titles lists the indexes of the titles above the piece, the outer one first.
	titles []int
	// rank is the priority when there is not room for all pieces.
	rank int
	// head is the visible part, in HTML. body returns the folded part, in Markdown, and is called
	// only if there is room for it; nil means that there is none.
	head     string
	body     func(room int) string
	rendered string
	shown    bool
	// changes is the number of changes that the piece represents.
	changes int
}

// The ranks: security before any risk, and changes without effect last.
const (
	rankNoise       = -2
	rankPast        = -1
	rankDestructive = 100
)

// list builds the pieces of a report in reading order.
func (p *page) list(r *diff.Report) {
	for _, s := range r.Sections() {
		var under []int
		if s.Title != "" {
			under = p.title(fmt.Sprintf("\n### %s (%d)\n", prose(s.Title), s.Count()))
		}
		for i := range s.Parts {
			part, inside := &s.Parts[i], under
			if part.Title != "" {
				inside = slices.Concat(under, p.title("\n#### "+code(part.Title)+": "+prose(part.Counts())+"\n"))
			}
			for i := range part.Entries {
				p.pieces = append(p.pieces, change(&s, &part.Entries[i], inside))
			}
		}
		for _, c := range s.Checks {
			head := htmlCode(c.Symbol()) + " " + htmlCode(c.Title()) + " " + html(c.Headline())
			p.pieces = append(p.pieces, piece{titles: under, rank: rankDestructive, head: head, changes: 1})
		}
		for i := range s.Policies {
			p.pieces = append(p.pieces, policy(&s.Policies[i], under))
		}
	}
	noises := r.Noises()
	var under []int
	if len(noises) > 0 {
		under = p.title(fmt.Sprintf("\n### Only in folded fields (%d)\n", r.Totals.Noise))
	}
	for _, n := range noises {
		p.pieces = append(p.pieces, piece{titles: under, rank: rankNoise, head: html(n.Text), changes: len(n.Changes),
			body: func(room int) string { return addresses(n.Changes, room) }})
	}
}

func (p *page) title(text string) []int {
	p.titles = append(p.titles, title{text: text})
	return []int{len(p.titles) - 1}
}

// change returns the piece of one change, or of several equal ones.
func change(s *diff.Section, e *diff.Entry, under []int) piece {
	c := e.Changes[0]
	head := htmlCode(c.Symbol()) + " " + htmlCode(e.Title()) + " " + html(e.Headline(s))
	rank := int(c.Risk)
	var labels []string
	for _, r := range c.Remarks() {
		label := html(r.Label)
		if r.Security {
			label, rank = "<strong>"+label+"</strong>", rankDestructive
		}
		if (r.Security || r.Risk > c.Action.Risk()) && !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	if len(labels) > 0 {
		head += " — " + strings.Join(labels, ", ")
	}
	if s.Past {
		rank = rankPast
	}
	out := piece{titles: under, rank: rank, head: head, changes: len(e.Changes)}
	switch {
	case e.IsGroup():
		out.body = func(room int) string {
			names := addresses(e.Changes, room/2)
			return names + body(c, s.Past, room-len(names))
		}
	case hasBody(c):
		out.body = func(room int) string { return body(c, s.Past, room) }
	}
	return out
}

// policy returns the piece of a policy's result, with its messages.
func policy(p *diff.PolicyResult, under []int) piece {
	words := p.Headline()
	if details := p.Details(); len(details) > 0 {
		words += ": " + strings.Join(details, "; ")
	}
	head := htmlCode(p.Symbol()) + " " + htmlCode(p.Title()) + " " + html(words)
	rank := rankDestructive
	if p.Result == diff.PolicyPass {
		rank = rankPast
	}
	return piece{titles: under, rank: rank, head: head, changes: 1}
}

// fit selects what is written: as many headlines as possible, then details, both in the order of the
// ranks.
func (p *page) fit() {
	order := make([]int, len(p.pieces))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return p.pieces[order[i]].rank > p.pieces[order[j]].rank })
	for _, i := range order {
		p.fitHead(&p.pieces[i])
	}
	for _, i := range order {
		if c := &p.pieces[i]; c.shown && c.body != nil {
			p.fitBody(c)
		}
	}
}

// The markup around a piece; for the limit, the longer form counts.
const (
	around       = "\n<p></p>\n"
	aroundFolded = "\n<details open><summary></summary>\n\n</details>\n"
)

func (p *page) fitHead(c *piece) {
	need := len(c.head) + len(around)
	for _, t := range c.titles {
		if !p.titles[t].shown {
			need += len(p.titles[t].text)
		}
	}
	if need > p.budget {
		p.noHeads += c.changes
		return
	}
	c.shown = true
	p.budget -= need
	for _, t := range c.titles {
		p.titles[t].shown = true
	}
}

func (p *page) fitBody(c *piece) {
	room := p.budget - len(aroundFolded)
	if room < minBody {
		p.noDetails += c.changes
		return
	}
	if c.rendered = c.body(room); c.rendered == "" {
		p.noDetails += c.changes
		return
	}
	p.details += len(c.rendered)
	p.budget -= len(c.rendered) + len(aroundFolded)
}

// String returns what fits, in the order of the report.
func (p *page) String() string {
	var b strings.Builder
	b.WriteString(p.top)
	next := 0
	for i := range p.pieces {
		c := &p.pieces[i]
		for ; len(c.titles) > 0 && next <= c.titles[len(c.titles)-1]; next++ {
			if p.titles[next].shown {
				b.WriteString(p.titles[next].text)
			}
		}
		if c.shown {
			b.WriteString(p.written(c))
		}
	}
	if p.noDetails > 0 {
		fmt.Fprintf(&b, "\n_Details of %s left out to fit._\n", diff.Plural(p.noDetails, "change", "changes"))
	}
	if p.noHeads > 0 {
		fmt.Fprintf(&b, "\n_%s not listed to fit._\n", diff.Plural(p.noHeads, "more change", "more changes"))
	}
	return b.String()
}

// written returns a piece with its folded part.
func (p *page) written(c *piece) string {
	switch {
	case c.rendered == "":
		return "\n<p>" + c.head + "</p>\n"
	case p.details <= openUntil && c.rank != rankNoise:
		return "\n<details open><summary>" + c.head + "</summary>\n" + c.rendered + "\n</details>\n"
	}
	return "\n<details><summary>" + c.head + "</summary>\n" + c.rendered + "\n</details>\n"
}
