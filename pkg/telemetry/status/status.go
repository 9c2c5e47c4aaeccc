// Package status collects what the long-lived goroutines of a program are doing, so that
// /debug/status shows which of them waits for what and since when. It owns the board and its page;
// it supervises nothing and decides nothing. The loops of the reconciler and of runnerd report to
// the board in their context; without a board their reports are discarded.
package status

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Board is the list of the tasks of one program. It is safe for concurrent use.
type Board struct {
	mu    sync.Mutex
	tasks map[*Task]struct{}
}

// NewBoard returns an empty board.
func NewBoard() *Board { return &Board{tasks: map[*Task]struct{}{}} }

type boardKey struct{}

// On returns a context whose goroutines report to the board.
func (b *Board) On(ctx context.Context) context.Context { return context.WithValue(ctx, boardKey{}, b) }

// Task is one goroutine on the board. All methods of a nil Task do nothing.
type Task struct {
	board *Board
	state State
}

// State is the last reported state of a task.
type State struct {
	Name string `json:"name"`
	// Waits is true if the task waits, and false if it works.
	Waits bool `json:"waits"`
	// What is what it waits for ("for the next sweep") or works on ("taking what is due").
	What  string    `json:"what"`
	Since time.Time `json:"since"`
	// Error is the last error, which occurred at ErrorAt. It is cleared by the next success.
	Error   string    `json:"error,omitempty"`
	ErrorAt time.Time `json:"error_at,omitzero"`
}

// Enter adds the calling goroutine to the board of ctx. It returns nil if there is none. The
// goroutine calls Leave when it ends.
func Enter(ctx context.Context, name string) *Task {
	b, _ := ctx.Value(boardKey{}).(*Board)
	if b == nil {
		return nil
	}
	t := &Task{board: b, state: State{Name: name, What: "starting", Since: time.Now()}}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tasks[t] = struct{}{}
	return t
}

// Leave removes the task from the board.
func (t *Task) Leave() {
	if t == nil {
		return
	}
	t.board.mu.Lock()
	defer t.board.mu.Unlock()
	delete(t.board.tasks, t)
}

// Waits reports what the goroutine waits for from now on: "for the next sweep".
func (t *Task) Waits(what string) { t.say(true, what) }

// Works reports what the goroutine works on from now on: "taking what is due".
func (t *Task) Works(what string) { t.say(false, what) }

func (t *Task) say(waits bool, what string) {
	if t == nil {
		return
	}
	t.board.mu.Lock()
	defer t.board.mu.Unlock()
	t.state.Waits, t.state.What, t.state.Since = waits, what, time.Now()
}

// Came reports the result of the goroutine's work. An error is shown until the next success.
func (t *Task) Came(err error) {
	if t == nil {
		return
	}
	t.board.mu.Lock()
	defer t.board.mu.Unlock()
	if err == nil {
		t.state.Error, t.state.ErrorAt = "", time.Time{}
		return
	}
	t.state.Error, t.state.ErrorAt = err.Error(), time.Now()
}

// Tasks returns all tasks on the board, by name.
func (b *Board) Tasks() []State {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]State, 0, len(b.tasks))
	for t := range b.tasks {
		all = append(all, t.state)
	}
	slices.SortFunc(all, func(x, y State) int { return cmp.Or(cmp.Compare(x.Name, y.Name), x.Since.Compare(y.Since)) })
	return all
}
