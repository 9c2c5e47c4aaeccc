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
	release, err := x.Budget.Acquire(x.ctx, min(x.needed+x.Limits.Object, x.Limits.Held))
	if err != nil {
		return err
	}
	defer release()
	for at := range x.entries {
		e := &x.entries[at]
		if e.base >= 0 || !e.resolved {
			continue
		}
		if err := x.resolveFamily(int32(at)); err != nil { //nolint:gosec // bounded by Limits.Objects
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
	at       int32
	content  []byte
	children []int32
}

// resolveFamily builds all objects that descend from one object. If several deltas are based on an
// object, the delta with the most descendants is applied last, and the object's content is released
// before. So a long chain takes the memory of two objects, and the memory in use grows with the
// logarithm of the number of branches.
func (x *indexer) resolveFamily(root int32) error {
	children := x.childrenOf(root)
	if len(children) == 0 {
		return nil
	}
	e := &x.entries[root]
	if err := x.hold(e.size); err != nil {
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
		made, err := x.patch(child, base)
		if err != nil {
			return err
		}
		if len(base.children) == 1 {
			x.held -= int64(len(base.content))
		}
		if children := x.childrenOf(child); len(children) > 0 {
			stack = append(stack, parent{child, made, children})
		} else {
			x.held -= int64(len(made))
		}
	}
	return nil
}

// childrenOf returns the deltas that are based on an object, those with the most descendants last.
func (x *indexer) childrenOf(at int32) []int32 {
	e := &x.entries[at]
	found := x.waiting[e.hash]
	delete(x.waiting, e.hash)
	for child := e.child; child >= 0; child = x.entries[child].sibling {
		found = append(found, child)
	}
	largest := 0
	for i, child := range found {
		if x.entries[child].family > x.entries[found[largest]].family {
			largest = i
		}
	}
	if last := len(found) - 1; last > 0 {
		found[largest], found[last] = found[last], found[largest]
	}
	return found
}

// hold counts content that will be in memory.
func (x *indexer) hold(bytes int64) error {
	if x.held += bytes; x.held > x.Limits.Held {
		return &LimitError{What: "a pack whose deltas need memory", Limit: x.Limits.Held, Unit: "bytes"}
	}
	return nil
}

// patch builds one object from its base. Its content remains counted as held.
func (x *indexer) patch(at int32, base parent) ([]byte, error) {
	e, from := &x.entries[at], &x.entries[base.at]
	e.depth, e.chain = from.depth+1, from.chain+e.size+e.result
	switch {
	case int(e.depth) > x.Limits.Depth:
		return nil, &LimitError{What: "a chain", Limit: int64(x.Limits.Depth), Unit: "deltas"}
	case e.chain > x.Limits.Chain:
		return nil, &LimitError{What: "a chain of deltas", Limit: x.Limits.Chain, Unit: "bytes"}
	}
	if err := x.Limits.checkSize(from.kind, e.result); err != nil {
		return nil, err
	}
	// The library doubles its buffer while it applies a patch.
	working := e.size + 2*e.result
	if err := x.hold(working); err != nil {
		return nil, err
	}
	instructions, err := x.read(e)
	if err != nil {
		return nil, err
	}
	made, err := packfile.PatchDelta(base.content, instructions)
	if err != nil {
		return nil, malformed(err)
	}
	if int64(len(made)) != e.result {
		return nil, malformed(errors.New("a delta makes another size than it says"))
	}
	x.held -= working - e.result
	e.kind, e.hash, e.resolved = from.kind, plumbing.ComputeHash(from.kind, made), true
	x.done++
	object := Object{Kind: e.kind, Hash: e.hash, Size: e.result, Offset: e.offset, CRC: e.crc}
	if e.result <= x.Content {
		object.Content = made
	}
	return made, x.visit(object)
}
