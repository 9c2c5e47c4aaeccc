package manifest

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// fill restores what was left out in two values, which must not be shared
// yet. It returns false if the left-out text cannot be parsed.
func (p *pairing) fill(values ...raw.Value) bool {
	blocks, ok := p.marks.parse()
	if !ok {
		return false
	}
	f := filler{blocks: map[string]map[string]any{}}
	for n, block := range blocks {
		f.blocks[leftOutMark+markName(n)] = block
	}
	for _, v := range values {
		f.value(raw.Reveal(v))
	}
	return !f.failed
}

// parse parses the text of each mark, a mapping.
func (m *marks) parse() (values []map[string]any, ok bool) {
	for _, e := range m.examples {
		uncut := *e.side
		uncut.cuts = nil
		v, ok := uncut.value(children{e.first, e.side.blocks[e.last].next}, 1)
		mapping, isMapping := v.(map[string]any)
		if !ok || !isMapping {
			return nil, false
		}
		values = append(values, mapping)
	}
	return values, true
}

// filler replaces marks with the blocks that were left out.
type filler struct {
	blocks map[string]map[string]any
	failed bool
}

func (f *filler) value(v any) {
	switch v := v.(type) {
	case map[string]any:
		var back []map[string]any
		for key, e := range v {
			if block, found := f.blocks[key]; found {
				delete(v, key)
				back = append(back, block)
				continue
			}
			if mark, ok := e.(string); ok && strings.HasPrefix(mark, leftOutMark) {
				e, found := f.blocks[mark][key]
				v[key], f.failed = e, f.failed || !found
				continue
			}
			f.value(e)
		}
		for _, block := range back {
			f.add(v, block)
		}
	case []any:
		for _, e := range v {
			f.value(e)
		}
	}
}

// add adds the entries of a run of blocks to their mapping.
func (f *filler) add(into, block map[string]any) {
	for key, e := range block {
		_, twice := into[key]
		into[key], f.failed = e, f.failed || twice
	}
}
