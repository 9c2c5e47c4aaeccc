package manifest

import (
	"bytes"
	"slices"
	"sync"
)

// block is one entry of a mapping or one element of a list in block style,
// with its content. A large text has many blocks, so their size counts.
type block struct {
	// key is the offset of an entry's key, or of an element's dash, in the outlined text.
	key int32
	// next is the number of the next block outside of this one.
	next int32
	// column is that of the key or the dash.
	column int32
	// keySize is the length of the key, quotes included; 0 for an element.
	keySize uint16
	flags   flags
}

type flags uint8

const (
	element flags = 1 << iota
	// inline: the block follows a dash and does not start a line.
	inline
	// open: it has no value yet, so blocks below it may be its value.
	open
	// parent: its value consists of the blocks in it.
	parent
	// long: its value is a multi-line scalar.
	long
)

func (b *block) is(f flags) bool { return b.flags&f != 0 }

// start returns where the block starts: with its line, or with its key if it follows a dash.
func (b *block) start() int32 {
	if b.is(inline) {
		return b.key
	}
	return b.key - b.column
}

// colon returns the offset of the colon after an entry's key, or of an element's dash.
func (b *block) colon() int32 { return b.key + int32(b.keySize) }

// endOf returns where block i of a text ends: where the next one outside of it starts. Comments and
// blank lines after a block belong to it.
func endOf(data []byte, blocks []block, i int32) int32 {
	if next := blocks[i].next; int(next) < len(blocks) {
		return blocks[next].start()
	}
	return int32(len(data))
}

// maxOutline is the length of the longest text that is outlined, in bytes.
const maxOutline = 1 << 30

// maxKey is the largest length of a key; YAML allows 1024.
const maxKey = 512

// outline finds the blocks of a YAML text by its lines, in order. It supports only
// the common forms and rejects all others (anchors, aliases, tags, tabs, brackets
// over several lines, complex keys, odd indentation): the library parses those texts.
func outline(data []byte) ([]block, bool) {
	if len(data) > maxOutline || odd(data) {
		return nil, false
	}
	o := &outliner{data: data, blocks: newBlocks(data)}
	for o.pos < len(data) {
		if !o.line() {
			return nil, false
		}
	}
	o.close(0)
	return o.blocks, true
}

// spareBlocks holds the blocks of texts that have been read. The blocks of a text take about half
// as much memory as the text.
var spareBlocks sync.Pool

// newBlocks returns an empty list of blocks with space for those of a text: a line starts one, and
// another for each dash before it. The lines of long texts start none, but memory that is not used
// costs nothing.
func newBlocks(data []byte) []block {
	needed := bytes.Count(data, []byte{'\n'}) + bytes.Count(data, []byte("- ")) + 8
	if spare, ok := spareBlocks.Get().(*[]block); ok && cap(*spare) >= needed {
		return (*spare)[:0]
	}
	return make([]block, 0, needed+needed/4) // the next text may be somewhat longer
}

// odd reports directives, text next to the marker, and characters that YAML
// 1.1 treats as line ends or skips at the start of a line.
func odd(data []byte) bool {
	if bytes.HasPrefix(data, []byte("%")) || bytes.HasPrefix(data, []byte("---")) {
		return true
	}
	for rest := data; ; {
		i := bytes.IndexByte(rest, '\r')
		if i < 0 {
			break
		}
		if i+1 == len(rest) || rest[i+1] != '\n' {
			return true
		}
		rest = rest[i+2:]
	}
	// U+0085, U+2028 and U+2029, and U+FEFF, by their first bytes, which are rare.
	for _, first := range []byte{0xc2, 0xe2, 0xef} {
		if bytes.IndexByte(data, first) >= 0 {
			return slices.ContainsFunc([]string{"\u0085", "\u2028", "\u2029", "\ufeff"}, func(c string) bool {
				return bytes.Contains(data, []byte(c))
			})
		}
	}
	return false
}

type outliner struct {
	data   []byte
	pos    int // where the next line starts
	blocks []block
	stack  []int32 // the blocks around pos, outermost first
	root   bool    // a block has started at the root
}

// line reads one line, and the following lines that belong to its scalar. It
// returns false to reject the text.
func (o *outliner) line() bool {
	start := o.pos
	end, next := lineBounds(o.data, start)
	p := skipSpaces(o.data, start, end)
	o.pos = next
	if isMarker(o.data[p:end], "...") && p == start {
		o.pos = len(o.data)
		return !hasText(o.data[p+3:])
	}
	first := start // where the next block starts: the line, or a position after a dash
	for !o.restIsEmpty(p, end) {
		b := block{key: int32(p), column: int32(p - start), flags: open}
		if first == p && p > start {
			b.flags |= inline
		}
		if o.isDash(p, end) {
			b.flags |= element
			if !o.begin(b) {
				return false
			}
			p = skipSpaces(o.data, p+1, end)
			if !o.restIsEmpty(p, end) && !o.isDash(p, end) && o.keyEnd(p, end) < 0 {
				return o.value(p, end, next, int(b.column))
			}
			first = p
			continue
		}
		colon := o.keyEnd(p, end)
		if colon < 0 {
			return false
		}
		b.keySize = uint16(colon - p) // at most maxKey
		if !o.begin(b) {
			return false
		}
		p = skipSpaces(o.data, colon+1, end)
		return o.restIsEmpty(p, end) || o.value(p, end, next, int(b.column))
	}
	return true
}

// restIsEmpty reports whether a line has nothing from p on except a comment.
func (o *outliner) restIsEmpty(p, end int) bool { return p == end || o.data[p] == '#' }

func skipSpaces(data []byte, p, end int) int {
	for p < end && data[p] == ' ' {
		p++
	}
	return p
}

func (o *outliner) isDash(p, end int) bool {
	return o.data[p] == '-' && (p+1 == end || o.data[p+1] == ' ')
}

// begin inserts a block: after a sibling, or as the first block inside one that has no value yet.
func (o *outliner) begin(b block) bool {
	o.close(b.column + 1)
	top := o.top()
	if top != nil && top.column == b.column && top.is(element) && !b.is(element) {
		// The end of a list that is not indented below its key.
		o.pop()
		if top = o.top(); top == nil || top.column != b.column {
			return false
		}
	}
	switch {
	case top == nil:
		if o.root {
			return false
		}
		o.root = true
	case top.column < b.column || !top.is(element) && b.is(element):
		if !top.is(open) {
			return false
		}
		top.flags = top.flags&^open | parent
	default:
		o.pop()
	}
	if len(o.stack) == maxDepth {
		return false
	}
	o.stack = append(o.stack, int32(len(o.blocks)))
	o.blocks = append(o.blocks, b)
	return true
}

func (o *outliner) top() *block {
	if len(o.stack) == 0 {
		return nil
	}
	return &o.blocks[o.stack[len(o.stack)-1]]
}

// pop ends the innermost block.
func (o *outliner) pop() {
	o.top().next = int32(len(o.blocks))
	o.stack = o.stack[:len(o.stack)-1]
}

// close ends all blocks at or right of a column.
func (o *outliner) close(column int32) {
	for top := o.top(); top != nil && top.column >= column; top = o.top() {
		o.pop()
	}
}
