package manifest

import (
	"bytes"
	"strings"
)

// leftOutTag replaces a mark in the output of tests.
const leftOutTag = "!e"

func tagged(mark string) string { return leftOutTag + " x" + strings.TrimPrefix(mark, leftOutMark) }

// restText returns the text without what was cut, with the least possible indentation.
func (s *side) restText() []byte {
	var out bytes.Buffer
	s.write(&out, s.root(), 0, false)
	return out.Bytes()
}

// write writes blocks at a column; with inline, the first one is after a dash.
func (s *side) write(out *bytes.Buffer, c children, column int32, inline bool) {
	for i := c.first; i < c.end; {
		if !inline {
			indent(out, column)
		}
		inline = false
		if cut, found := s.cuts[i]; found {
			s.writeCut(out, i, cut)
			i = s.blocks[cut.last].next
			continue
		}
		s.writeBlock(out, i, column)
		i = s.blocks[i].next
	}
}

// writeCut writes the mark of a run of blocks. A single block keeps its key.
func (s *side) writeCut(out *bytes.Buffer, first int32, c cut) {
	if first == c.last {
		out.Write(s.key(first))
		out.WriteByte(' ')
	} else {
		out.WriteString(tagged(s.marks.name(c)) + ": ")
	}
	out.WriteString(tagged(s.marks.name(c)) + "\n")
}

// key returns a key with its colon, or the dash of an element.
func (s *side) key(i int32) []byte {
	b := &s.blocks[i]
	return s.data[b.key : b.colon()+1]
}

func (s *side) writeBlock(out *bytes.Buffer, i, column int32) {
	b := &s.blocks[i]
	c, parent := s.in(i)
	if !parent {
		s.writeLeaf(out, s.data[b.key:s.end(i)], b.column-column)
		return
	}
	out.Write(s.key(i))
	child := &s.blocks[c.first]
	switch {
	case child.is(inline):
		out.WriteByte(' ')
		s.write(out, c, column+2, true)
		return
	case !child.is(element) || b.is(element):
		column++
	}
	out.WriteByte('\n')
	s.write(out, c, column, false)
}

// writeLeaf writes a scalar with its key and the lines after it, moved shift columns to the left.
func (s *side) writeLeaf(out *bytes.Buffer, text []byte, shift int32) {
	for first := true; len(text) > 0; first = false {
		line := text[:lineEnd(text, 0)]
		text = text[len(line):]
		if !first {
			line = line[skipSpaces(line, 0, min(int(shift), len(line))):]
		}
		out.Write(line)
	}
}

const spaces = "                                                                "

func indent(out *bytes.Buffer, column int32) {
	for column > 0 {
		n := min(column, int32(len(spaces)))
		out.WriteString(spaces[:n])
		column -= n
	}
}
