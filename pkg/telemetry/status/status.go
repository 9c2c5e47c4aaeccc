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

// WithBoard returns a context whose goroutines report to the board.
func (b *Board) WithBoard(ctx context.Context) context.Context {
	return context.WithValue(ctx, boardKey{}, b)
}

// Task is one goroutine on the board. All methods of a nil Task do nothing.
type Task struct {
	board *Board
	state State
}

// State is the last reported state of a task.
type State struct {
	Name string `json:"name"`
	// Waiting is true if the task waits, and false if it works.
	Waiting bool `json:"waits"`
	// What is what it waits for ("for the next sweep") or works on ("taking due objects").
	What  string    `json:"what"`
	Since time.Time `json:"since"`
	// Error is the last error, which occurred at ErrorAt. It is cleared by the next success.
	Error   string    `json:"error,omitempty"`
	ErrorAt time.Time `json:"error_at,omitzero"`
}

// Register adds the calling goroutine to the board of ctx. It returns nil if there is none. The
// goroutine calls Unregister when it ends.
func Register(ctx context.Context, name string) *Task {
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

// Unregister removes the task from the board.
func (t *Task) Unregister() {
	if t == nil {
		return
	}
	t.board.mu.Lock()
	defer t.board.mu.Unlock()
	delete(t.board.tasks, t)
}

// SetWaiting reports what the goroutine waits for from now on: "for the next sweep".
func (t *Task) SetWaiting(what string) { t.setState(true, what) }

// SetWorking reports what the goroutine works on from now on: "taking due objects".
func (t *Task) SetWorking(what string) { t.setState(false, what) }

func (t *Task) setState(waits bool, what string) {
	if t == nil {
		return
	}
	t.board.mu.Lock()
	defer t.board.mu.Unlock()
	t.state.Waiting, t.state.What, t.state.Since = waits, what, time.Now()
}

// ReportResult reports the result of the goroutine's work. An error is shown until the next success.
func (t *Task) ReportResult(err error) {
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
