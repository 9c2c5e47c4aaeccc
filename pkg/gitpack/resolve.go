package gitpack

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// resolve is the second pass. It starts from the whole objects and applies each delta once.
func (x *indexer) resolve() error {
	if x.done == len(x.entries) {
		return nil
	}
	release, err := x.Budget.Acquire(x.ctx, min(x.needed+x.Limits.Object, x.Limits.Memory))
	if err != nil {
		return err
	}
	defer release()
	for index := range x.entries {
		if e := &x.entries[index]; !e.resolved || e.depth > 0 {
			continue // a delta, which is resolved with the whole object that it descends from
		}
		if err := x.resolveDescendants(int32(index)); err != nil { //nolint:gosec // bounded by Limits.Objects
			return err
		}
	}
	if x.done < len(x.entries) {
		return fmt.Errorf("%w: %d objects are based on objects that it does not hold",
			ErrMalformed, len(x.entries)-x.done)
	}
	return nil
}

// parent is an object that several unresolved deltas are based on.
type parent struct {
	index    int32
	content  []byte
	children []int32
}

// resolveDescendants builds all objects that descend from one object. If several deltas are based on an
// object, the delta with the most descendants is applied last, and the object's content is released
// before. So a long chain takes the memory of two objects, and the memory in use grows with the
// logarithm of the number of branches.
func (x *indexer) resolveDescendants(root int32) error {
	children := x.childrenOf(root)
	if len(children) == 0 {
		return nil
	}
	e := &x.entries[root]
	if err := x.reserve(e.size); err != nil {
		return err
	}
	content, err := x.read(e)
	if err != nil {
		return err
	}
	stack := []parent{{root, content, children}}
	for len(stack) > 0 {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		top := &stack[len(stack)-1]
		base := *top
		child := base.children[0]
		if top.children = base.children[1:]; len(top.children) == 0 {
			stack = stack[:len(stack)-1]
		}
		object, err := x.patch(child, base)
		if err != nil {
			return err
		}
		if len(base.children) == 1 {
			x.reserved -= int64(len(base.content))
		}
		if children := x.childrenOf(child); len(children) > 0 {
			stack = append(stack, parent{child, object, children})
		} else {
			x.reserved -= int64(len(object))
		}
	}
	return nil
}

// childrenOf returns the deltas that are based on an object, those with the most descendants last.
func (x *indexer) childrenOf(index int32) []int32 {
	e := &x.entries[index]
	found := x.waiting[e.hash]
	delete(x.waiting, e.hash)
	for child := e.child; child >= 0; child = x.entries[child].sibling {
		found = append(found, child)
	}
	largest := 0
	for i, child := range found {
		if x.entries[child].descendants > x.entries[found[largest]].descendants {
			largest = i
		}
	}
	if last := len(found) - 1; last > 0 {
		found[largest], found[last] = found[last], found[largest]
	}
	return found
}

// reserve counts content that will be in memory.
func (x *indexer) reserve(bytes int64) error {
	if x.reserved += bytes; x.reserved > x.Limits.Memory {
		return &LimitError{What: "a pack whose deltas need memory", Limit: x.Limits.Memory, Unit: "bytes"}
	}
	return nil
}

// patch builds one object from its base. Its content remains counted as held.
func (x *indexer) patch(index int32, base parent) ([]byte, error) {
	e, from := &x.entries[index], &x.entries[base.index]
	e.depth, e.chain = from.depth+1, from.chain+e.size+e.resultSize
	switch {
	case int(e.depth) > x.Limits.Depth:
		return nil, &LimitError{What: "a chain", Limit: int64(x.Limits.Depth), Unit: "deltas"}
	case e.chain > x.Limits.Chain:
		return nil, &LimitError{What: "a chain of deltas", Limit: x.Limits.Chain, Unit: "bytes"}
	}
	if err := x.Limits.checkSize(from.kind, e.resultSize); err != nil {
		return nil, err
	}
	// The library doubles its buffer while it applies a patch.
	working := e.size + 2*e.resultSize
	if err := x.reserve(working); err != nil {
		return nil, err
	}
	instructions, err := x.read(e)
	if err != nil {
		return nil, err
	}
	patched, err := packfile.PatchDelta(base.content, instructions)
	if err != nil {
		return nil, malformed(err)
	}
	if int64(len(patched)) != e.resultSize {
		return nil, malformed(errors.New("a delta makes another size than it says"))
	}
	x.reserved -= working - e.resultSize
	e.kind, e.hash, e.resolved = from.kind, plumbing.ComputeHash(from.kind, patched), true
	x.done++
	object := Object{Kind: e.kind, Hash: e.hash, Size: e.resultSize, Offset: e.offset, CRC: e.crc}
	if e.resultSize <= x.Content {
		object.Content = patched
	}
	return patched, x.visit(object)
}
